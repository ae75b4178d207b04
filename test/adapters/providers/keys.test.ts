import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
import { SILENT } from '../../fixtures/memory-stores.js';
import { FakeServer } from '../../providers/fakes/fake-server.js';
import { defaultsOf } from './vendor-subject.js';

/*
 * Goal: a connection check distinguishes a key that is not set from a wrong one, for every driver.
 * Method: each built-in provider driver, with the models of its example, against a server that answers 401 to everything.
 */

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
        `${server.url} asks for a key, and none is set; set DARKROOM_PROVIDERS_<NAME>_API_KEY with the provider's name, or name a file in api_key_file.`,
      ]);
      const [refused = ''] = await faultsOf(driver, { api_key: 'user:wrong' });
      expect(refused).to.match(/(?:is refused at|refuses the key).+check api_key/);
    });
});

/*
 * Goal: no driver sends a key over the public internet without TLS.
 * Method: every built-in provider driver that has a key is opened with addresses of each sort, with a key, with a file that
 * has it and without one; opening sends nothing.
 */

/** Also a user name and a password, which one of the keyedDrivers asks for. */
const KEY = 'user:secret-0451';

const keyedDrivers = BUILT_IN_DRIVERS.filter(
  (driver): driver is ProviderDriver => driver.kind === 'provider' && hasOption(driver.options, 'api_key'),
);

const PUBLIC = ['http://api.studio.example/v1', 'http://8.8.8.8:8000', 'http://[2606:4700::1111]', 'http://134744072'];
const FINE = [
  'https://api.studio.example/v1',
  'http://127.0.0.1:8188',
  'http://[::1]:8188',
  'http://localhost:8188',
  'http://10.1.2.3',
  'http://192.168.1.4:7860',
  'http://[fd00::1]:7860',
  'http://comfyui:8188',
  'http://sd.studio.svc.cluster.local',
  'http://sd.internal',
];

describe('a key of a provider', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-keys-'));
    writeFileSync(join(folder, 'key'), KEY);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** The sentence that opening throws, or undefined. */
  async function faultOf(driver: ProviderDriver, address: string, options: JsonObject): Promise<string | undefined> {
    const place: JsonObject = hasOption(driver.options, 'servers')
      ? { servers: ['http://127.0.0.1:1', address] }
      : { base_url: address };
    try {
      const provider = await driver.open({
        options: { ...defaultsOf(driver.options), ...place, ...options },
        instance: 'studio',
        dataFolder: folder,
        catalogFolder: folder,
        clock: new SystemClock(),
        log: SILENT,
        memory: new MemoryBudget(1_000_000),
      });
      await provider.close?.();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  it('is an option of every remote driver', () => {
    const names = keyedDrivers.map(({ name }) => name);
    const remote = BUILT_IN_DRIVERS.filter(({ kind, name }) => kind === 'provider' && name !== 'sandbox');
    expect(names).to.deep.equal(remote.map(({ name }) => name));
  });

  for (const driver of keyedDrivers) {
    it(`of ${driver.name} is refused for an address of the public internet without TLS, and not repeated`, async () => {
      for (const address of PUBLIC)
        for (const key of [{ api_key: KEY }, { api_key_file: join(folder, 'key') }])
          expect(await faultOf(driver, address, key), address)
            .to.match(/^providers\.studio: its key would go to http:\/\/\S+ without TLS; [^\n]+\.$/)
            .and.not.include('0451');
    });

    it(`of ${driver.name} is taken with TLS and within a private network, and none is taken anywhere`, async () => {
      for (const address of FINE) expect(await faultOf(driver, address, { api_key: KEY }), address).to.equal(undefined);
      for (const address of PUBLIC) expect(await faultOf(driver, address, {}), address).to.equal(undefined);
    });
  }
});

function hasOption(schema: JsonObject, name: string): boolean {
  return Object.hasOwn(schema['properties'] as JsonObject, name);
}
