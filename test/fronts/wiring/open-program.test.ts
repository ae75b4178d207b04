import { expect } from 'chai';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { DatabaseDriver, ObjectsDriver, ProviderDriver, SignerDriver } from '../../../adapters/driver.js';
import { filesDriver } from '../../../adapters/files/files-driver.js';
import { sandboxDriver } from '../../../adapters/providers/sandbox/sandbox-driver.js';
import { sqliteDriver } from '../../../adapters/sqlite/sqlite-driver.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { timersDriver } from '../../../adapters/timers/timers-driver.js';
import type { Config } from '../../../apps/config/config.js';
import { loadConfig } from '../../../apps/config/load-config.js';
import { Metrics } from '../../../apps/metrics/metrics.js';
import { startService } from '../../../apps/service/serve.js';
import { bindServer } from '../../../apps/wiring/modules.js';
import { openProgram } from '../../../apps/wiring/open-program.js';
import { resolveParts, ROOTS } from '../../../apps/wiring/parts.js';
import { openSecrets, readOrCreateToken, readSecrets, readToken } from '../../../apps/wiring/secrets.js';
import { catalogInUse, checkCatalog } from '../../../core/catalog/operate-catalog.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { countIn, HALF_HOUR_MS } from '../../../core/statistics/half-hour.js';
import { MemoryObjectStore } from '../../adapters/memory/object-store.js';

const SILENT_LOGGER = pino({ enabled: false });

// Goal: whatever a start has opened is closed again, when the start fails and when closing one thing fails.
// Method: the built-in stores in a fresh folder, with wake-ups and providers that record how they are closed; a second
// server can open the folder only if the first one released it.

describe('the program', () => {
  let folder: string;
  let closed: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-program-'));
    closed = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Closing, and opening, fail where they are given an error. */
  const provider = (
    name: string,
    failures: { readonly open?: Error; readonly close?: Error } = {},
  ): ProviderDriver => ({
    ...sandboxDriver,
    async open(opening) {
      if (failures.open) throw failures.open;
      const opened = await sandboxDriver.open(opening);
      return Object.assign(opened, {
        close: async () => {
          closed.push(name);
          if (failures.close) throw failures.close;
        },
      });
    },
  });

  async function configured(providers: Readonly<Record<string, ProviderDriver>>): Promise<Config> {
    const config = await loadConfig({ folder, environment: {} });
    const recorded = {
      ...timersDriver,
      open: async (opening: Parameters<typeof timersDriver.open>[0]) =>
        Object.assign(await timersDriver.open(opening), {
          close: async () => {
            closed.push('wake-ups');
          },
        }),
    };
    const { options } = config.providers.get('sandbox') ?? { options: {} };
    return {
      ...config,
      stores: { ...config.stores, wakeUps: { ...config.stores.wakeUps, driver: recorded } },
      providers: new Map(Object.entries(providers).map(([name, driver]) => [name, { driver, options, limits: {} }])),
    };
  }

  /** Objects outside of the data folder; the server that has them answers only while there is no outage. */
  function bucket() {
    const { isInDataFolder: _, backup: __, ...others } = filesDriver;
    const seen = { tries: 0, isAway: false };
    const driver: ObjectsDriver = {
      ...others,
      async open() {
        seen.tries += 1;
        if (seen.isAway) throw new StoreUnavailable('It does not answer.');
        return {
          store: new MemoryObjectStore({ clock: new SystemClock() }),
          identity: () => Promise.resolve('an id'),
          close: async () => void closed.push('objects'),
        };
      },
    };
    const within = (config: Config): Config => ({
      ...config,
      stores: { ...config.stores, objects: { driver, options: {} } },
    });
    return { seen, within };
  }

  const brokenStart = () =>
    configured({ sandbox: sandboxDriver, second: provider('second', { open: new Error('It is broken.') }) });

  /** A database that is not in the data folder. */
  function databaseElsewhere(): DatabaseDriver {
    const { isInDataFolder: _, ...others } = sqliteDriver;
    return { ...others, open: (opening) => sqliteDriver.open({ ...opening, dataFolder: join(folder, 'elsewhere') }) };
  }

  /** A folder that is still locked refuses this. */
  async function expectReleased(): Promise<void> {
    const again = await openProgram(await configured({ sandbox: sandboxDriver }), 'server');
    await again.close();
  }

  it('closes everything that it has opened, the last first', async () => {
    const config = await configured({ sandbox: provider('sandbox'), second: provider('second') });
    const program = await openProgram(config, 'server');
    expect(closed).to.deep.equal([]);
    await program.close();
    expect(closed).to.deep.equal(['second', 'sandbox', 'wake-ups']);
    await expectReleased();
  });

  it('shows operators the file of its catalog, whose text has no secret', async () => {
    const config = await configured({ sandbox: sandboxDriver });
    for (const metrics of [undefined, new Metrics()]) {
      const program = await openProgram(config, 'server', { metrics });
      const { fileName, text, models } = catalogInUse(program.context);
      expect([fileName, text]).to.deep.equal(['catalog.yaml', readFileSync(config.catalog, 'utf8')]);
      expect(models).to.equal(program.context.catalog.models());
      expect((await checkCatalog(program.context)).faults).to.deep.equal([]);
      await program.close();
    }
  });

  it('stores what it has counted when it is closed', async () => {
    const config = await configured({ sandbox: sandboxDriver });
    const program = await openProgram(config, 'server');
    program.context.outcomeCounts.accepted(5);
    await program.close();
    const next = await openProgram(config, 'server');
    const now = next.context.clock.now();
    const counts = [...(await next.context.outcomeCounts.between(now - HALF_HOUR_MS, now + 1)).values()];
    expect(counts.map(({ acceptMs }) => countIn(acceptMs))).to.deep.equal([1]);
    await next.close();
  });

  it('makes every part of a server before anything listens', async () => {
    const config = await configured({ sandbox: sandboxDriver });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const rest = { ...config.rest, port };
    const grpc = { ...config.grpc, port: 0, callersFile: join(folder, 'missing') };
    const failure: unknown = await startService({ ...config, rest, grpc }, SILENT_LOGGER).catch((error) => error);
    taken.close();
    expect(String(failure)).to.include('grpc.callers_file');
    await expectReleased();
  });

  it('binds the parts of a server that its configuration turns on', async () => {
    const base = await configured({ sandbox: sandboxDriver });
    const rootsOf = async (changes: Partial<Config>, metrics?: Metrics): Promise<readonly string[]> => {
      const config = { ...base, ...changes };
      const program = await openProgram(config, 'server');
      const options = { logger: SILENT_LOGGER, publicUrl: () => 'http://host', metrics };
      const roots = resolveParts(await bindServer(program, config, options), ROOTS);
      await Promise.all([roots.http?.close(0), roots.grpc?.close(0)]);
      await program.close();
      return Object.keys(roots);
    };
    const internal = { ...base.internal, port: 0 };
    const grpc = { ...base.grpc, port: 0 };
    expect(await rootsOf({})).to.deep.equal(['http', 'worker']);
    expect(await rootsOf({ grpc, internal }, new Metrics())).to.deep.equal([...ROOTS]);
    expect(await rootsOf({ role: 'worker', grpc, internal }, new Metrics())).to.deep.equal(['internal', 'worker']);
    expect(await rootsOf({ worker: { ...base.worker, enabled: false } })).to.deep.equal(['http']);
  });

  it('opens a signer of outputs where generations run, and nowhere else', async () => {
    const missing = new Error('The key file is missing.');
    let failure: Error | undefined;
    const driver: SignerDriver = {
      kind: 'signer',
      name: 'seal',
      options: {},
      open: async () => {
        if (failure) throw failure;
        return { sign: async () => null, close: async () => void closed.push('seal') };
      },
    };
    const config = { ...(await configured({ sandbox: sandboxDriver })), signer: { driver, options: {} } };
    const program = await openProgram(config, 'server');
    expect(program.context.outputSigner).to.have.property('sign');
    await program.close();
    expect(closed).to.deep.equal(['seal', 'wake-ups']);
    failure = missing;
    expect(await openProgram(config, 'server').catch((error: unknown) => error)).to.equal(missing);
    const others: readonly (readonly [Partial<Config>, 'server' | 'tool'])[] = [
      [{}, 'tool'],
      [{ role: 'rest' }, 'server'],
      [{ worker: { ...config.worker, enabled: false } }, 'server'],
    ];
    for (const [changes, as] of others) {
      const other = await openProgram({ ...config, ...changes }, as);
      expect(other.context.outputSigner).to.equal(undefined);
      await other.close();
    }
    await expectReleased();
  });

  it('closes the others when closing one fails, and reports the first failure', async () => {
    const [first, second] = [new Error('The first.'), new Error('The second.')];
    const config = await configured({
      sandbox: provider('sandbox', { close: second }),
      second: provider('second', { close: first }),
    });
    const program = await openProgram(config, 'server');
    expect(await program.close().catch((error: unknown) => error)).to.equal(first);
    expect(closed).to.deep.equal(['second', 'sandbox', 'wake-ups']);
    await expectReleased();
  });

  it('locks a folder of objects beside a database elsewhere, and closes it to other users', async () => {
    const config = await configured({ sandbox: sandboxDriver });
    const beside = { ...config, stores: { ...config.stores, database: { driver: databaseElsewhere(), options: {} } } };
    mkdirSync(beside.dataFolder, { recursive: true, mode: 0o755 });
    const program = await openProgram(beside, 'server');
    expect(statSync(beside.dataFolder).mode & 0o777).to.equal(0o700);
    expect(String(await openProgram(config, 'server').catch((error: unknown) => error))).to.match(
      /Another server \(process [0-9]+\) is using/,
    );
    await program.close();
    await expectReleased();
  });

  it('closes what it has opened when the start fails, and reports why it failed', async () => {
    const reason = new Error('It cannot be opened.');
    const config = await configured({
      sandbox: provider('sandbox', { close: new Error('It cannot be closed.') }),
      second: provider('second', { open: reason }),
    });
    expect(await openProgram(config, 'server').catch((error: unknown) => error)).to.equal(reason);
    expect(closed).to.deep.equal(['sandbox', 'wake-ups']);
    await expectReleased();
  });

  it('closes objects that are kept elsewhere, also when the start fails', async () => {
    const { within } = bucket();
    const program = await openProgram(within(await configured({ sandbox: sandboxDriver })), 'server');
    await program.close();
    expect(closed).to.deep.equal(['wake-ups', 'objects']);
    const failing = within(await brokenStart());
    await openProgram(failing, 'server').catch(() => undefined);
    expect(closed).to.deep.equal(['wake-ups', 'objects', 'wake-ups', 'objects']);
  });

  it('tries objects that were unavailable no more when the start fails', async () => {
    const { seen, within } = bucket();
    const program = await openProgram(within(await configured({ sandbox: sandboxDriver })), 'server');
    await program.close();
    seen.isAway = true;
    const failing = within(await brokenStart());
    expect(String(await openProgram(failing, 'server').catch((error: unknown) => error))).to.include('It is broken.');
    const { tries } = seen;
    expect(tries).to.equal(2);
    // The first pause before another try is one second.
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(seen.tries).to.equal(tries);
  });

  it('releases a folder of objects that cannot be opened', async () => {
    const config = await configured({ sandbox: sandboxDriver });
    const objects: ObjectsDriver = { ...filesDriver, open: () => Promise.reject(new Error('It is broken.')) };
    const stores = {
      ...config.stores,
      database: { driver: databaseElsewhere(), options: {} },
      objects: { driver: objects, options: {} },
    };
    const failure = await openProgram({ ...config, stores }, 'server').catch((error: unknown) => error);
    expect(String(failure)).to.include('It is broken.');
    await expectReleased();
  });
});

// Goal: the remains of an interrupted start do not prevent a later start from creating the secret, and a reader creates
// none.
// Method: a folder with such remains; and one that is only read.

describe('the secret of an installation', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-secrets-'));
    path = join(folder, 'secret');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is created beside the remains of a start with the same process id, and leaves none itself', () => {
    writeFileSync(`${path}.${process.pid}`, 'cut');
    const { fingerprint } = openSecrets(path, { inUse: false, isShared: false });
    expect(readdirSync(folder).sort()).to.deep.equal(['secret', `secret.${process.pid}`]);
    expect(openSecrets(path, { inUse: true, isShared: true }).fingerprint).to.equal(fingerprint);
  });

  it('is not created by a reader', () => {
    for (const needs of [
      { inUse: false, isShared: false },
      { inUse: true, isShared: false },
      { inUse: false, isShared: true },
    ]) {
      expect(() => readSecrets(path, needs)).to.throw(/^\S+ (?:is missing|does not exist yet).*\.$/);
    }
    expect(readToken(path)).to.equal(undefined);
    expect(readdirSync(folder)).to.deep.equal([]);
    const token = readOrCreateToken(path);
    expect([readToken(path), readFileSync(path, 'utf8').trim()]).to.deep.equal([token, token]);
    expect(readSecrets(path, { inUse: false, isShared: true }).fingerprint).to.match(/^[0-9a-f]{64}$/);
  });
});
