/*
 * Goal: a try of the connection tells a key that is not set from a wrong one, for every driver.
 * Method: each built-in provider driver, with the models of its example, against a server that answers 401 to everything.
 */
import { expect } from 'chai';
import { join } from 'node:path';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { ProviderDriver } from '../../../adapters/driver.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { loadConfig } from '../../../apps/config/load-config.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import { catalogTools } from '../../../apps/wiring/catalog-tools.js';
import type { JsonObject } from '../../../core/json.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import { ROOT } from '../../docs/pages.js';
import { SILENT } from '../../fixtures/silent-log.js';
import { FakeServer } from '../../providers/fakes/fake-server.js';
import { defaultsOf } from './option-defaults.js';

const EXAMPLES = join(ROOT, 'config/providers');

const drivers = BUILT_IN_DRIVERS.filter(
  (driver): driver is ProviderDriver => driver.kind === 'provider' && driver.name !== 'sandbox',
);

describe('a try of a connection that asks for a key', () => {
  let server: FakeServer;
  before(async () => {
    server = await FakeServer.open([], { otherwise: () => ({ status: 401, json: {} }) });
  });
  after(() => server.close());

  async function faultsOf(driver: ProviderDriver, key: JsonObject): Promise<readonly string[]> {
    const config = await loadConfig({ file: `${driver.name}.yaml`, folder: EXAMPLES, environment: {} });
    const catalog = await loadCatalog(config.catalog, catalogTools(config));
    const place =
      'servers' in (driver.options['properties'] as object) ? { servers: [server.url] } : { base_url: server.url };
    const provider = await driver.open({
      options: { ...defaultsOf(driver.options), ...place, ...key },
      instance: 'studio',
      dataFolder: '/nowhere',
      catalogFolder: EXAMPLES,
      clock: new SystemClock(),
      log: SILENT,
      memory: new MemoryBudget(1_000_000),
    });
    const [model] = catalog.models();
    const checked = await provider.check?.([model?.route[0]?.settings ?? {}], { signal: new AbortController().signal });
    await provider.close?.();
    return checked?.faults ?? [];
  }

  for (const driver of drivers)
    it(`says of ${driver.name} whether there is one at all`, async () => {
      expect(await faultsOf(driver, {})).to.deep.equal([
        `${server.url} asks for a key, and none is set; set the variable of api_key, or name a file in api_key_file.`,
      ]);
      const [refused = ''] = await faultsOf(driver, { api_key: 'user:wrong' });
      expect(refused).to.match(/(?:is refused at|refuses the key).+check api_key/);
    });
});
