import { change, type OperatorOperation, read } from './operator-operation.js';

/** The file of the catalog, as the process that serves the page reads it. */
export const CATALOG_OPERATIONS: readonly OperatorOperation[] = [
  read('/catalog', 'read the catalog', ({ operator }) => operator.operations.getCatalogFile({})),
  // Changes nothing, and reads a file each time.
  change('/catalog/check', 'check the catalog', async ({ operator, act }) => {
    const checked = await operator.operations.checkCatalogFile({});
    act.note({ faults: checked.faults.length });
    return checked;
  }),
  // Other processes keep the catalog that they have.
  change('/catalog/reload', 'reload the catalog', async ({ operator, act }) => {
    const reloaded = await operator.operations.reloadCatalogFile({});
    act.note({ faults: reloaded.faults.length, isReloaded: reloaded.reloaded });
    return reloaded;
  }),
];
