import { changeFiles } from '../changed-files.js';
import { Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { configOf, type StoreOptions } from '../operator/with-operator.js';
import { say, show } from '../terminal.js';
import { isFlow, withEntries } from '../yaml-edits.js';
import { checkNext, confirm, indexOfModel, modelsIn, readCatalog, requireOwn } from './catalog-text.js';

/** The effect on open generations. */
const WARNING =
  'Open generations of this model wait for its entry to come back, and fail without charge at their deadlines.';

/** Takes a model out of the catalog, with its comments. Throws one sentence, and then the file has not changed. */
export async function removeModel(
  io: CliIo,
  key: string,
  { yes, ...options }: StoreOptions & { readonly yes: boolean },
): Promise<void> {
  const config = await configOf(io, options);
  const catalog = readCatalog(config, io);
  const { name, path, text = '' } = catalog;
  requireOwn(catalog);
  const index = indexOfModel(catalog, key);
  const models = modelsIn(text);
  if (models.length === 1)
    throw new Failure(`${key} is the only model of ${name}, and a catalog has at least one: add another first.`);
  if (isFlow(text, ['models']))
    throw new Failure(`The models of ${name} are written in one pair of brackets; remove ${key} by hand.`);
  const after = withEntries(text, ['models'], (entry) => entry !== index);
  checkNext(catalog, after, models.toSpliced(index, 1), config);
  if (!yes) say(io, WARNING);
  await confirm(io, `Remove ${key} from ${name}?`, yes);
  changeFiles([{ path, name, before: catalog.text, after }]);
  const notes = [WARNING, 'A running service reads the catalog on SIGHUP, or after a restart.'];
  show(
    io,
    { json: { model_key: key, files: [name], notes }, text: [`${key} is no longer in ${name}.`, ...notes].join('\n') },
    options,
  );
}
