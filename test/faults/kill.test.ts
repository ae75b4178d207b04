/**
 * Goal: no result a client has received is lost, duplicated or stuck when the process dies at any moment. Method: the
 * real program under a mixed load is killed with SIGKILL at a moment drawn from the round's seed and started again over
 * the same folder, round after round. At the end every create of unknown outcome is sent again with its key, and then
 * every 202 names one generation for good, each one ends, the ledger has exactly one hold for each and no open one, and
 * `verify` finds nothing.
 */
import { expect } from 'chai';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { Config } from '../../apps/config/config.js';
import { loadConfig } from '../../apps/config/load-config.js';
import { openProgram } from '../../apps/wiring/open-program.js';
import { createKey } from '../../core/access/manage.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { sizeOf } from '../harness/run-sizes.js';
import { freePort } from '../servers/free-port.js';
import { ClientHistory } from './client-history.js';
import { drawsFrom } from './draws.js';
import { Load } from './load.js';
import { ServedProcess } from './served-process.js';
import { fullCatalog } from '../harness/full-catalog.js';

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? sizeOf('killRounds'));
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
const CLIENTS = 12;
const GRANTED = 1_000_000;

describe(`a process killed ${ROUNDS} times under load (seed ${SEED})`, function suite() {
  this.timeout(1_200_000);
  let folder: string;
  let config: Config;
  let server: ServedProcess;
  let load: Load;
  let accountId: string;
  /** Ends whatever is still running when the test ends, also by timeout: it would keep the whole run alive. */
  const over = new AbortController();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-kill-'));
    const port = await freePort();
    const file = join(folder, 'darkroom.yaml');
    // Many at once, so that a kill finds generations in every state.
    const shipped = fullCatalog(await readFile((await loadConfig({ folder, environment: {} })).catalog, 'utf8'));
    await writeFile(file, CONFIG(port));
    await writeFile(join(folder, 'catalog.yaml'), shipped.replaceAll(/(concurrency(?:_per_account)?): \d+/g, '$1: 64'));
    config = await loadConfig({ file, folder, environment: {} });
    const prepared = await prepareAccount(config);
    accountId = prepared.accountId;
    server = new ServedProcess(file, folder, `http://127.0.0.1:${port}`);
    load = new Load(new ClientHistory(), server.url, prepared.secret, over.signal);
  });

  after(async () => {
    over.abort();
    await (server as ServedProcess | undefined)?.end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps every promise it made', async () => {
    const { history } = load;
    const draw = drawsFrom(SEED);
    for (let round = 0; round < ROUNDS; round += 1) {
      await server.start();
      over.signal.throwIfAborted();
      const running = load.run(CLIENTS, SEED + round);
      await sleep(100 + draw(1_200), undefined, { signal: over.signal });
      await server.end('SIGKILL');
      load.stop();
      await running;
    }
    await server.start();
    await until(over.signal, history.unknown, (create) => load.settle(create));
    await until(over.signal, history.accepted, async ({ generationId }) => isOver(await load.look(generationId ?? '')));
    expect(await server.end('SIGTERM'), server.log).to.equal(0);

    expect(history.contradictions).to.deep.equal([]);
    const ids = new Set(history.accepted.map(({ generationId }) => generationId));
    expect(ids.size, 'one generation a key').to.equal(history.creates.length);
    console.log(`      ${history.creates.length} creates, ${ids.size} generations, ${ROUNDS} kills`);
    await checkBooks(config, accountId, ids.size);
  });
});

async function checkBooks(config: Config, accountId: string, generations: number): Promise<void> {
  const program = await openProgram(config, 'tool');
  try {
    const verification = await verifyCredits(program.context);
    expect(verification.findings).to.deep.equal([]);
    expect(verification.generations, 'no generation that no client knows of').to.equal(generations);
    const account = await program.context.accounts.read(accountId);
    expect(account?.holds.size, 'no open hold at rest').to.equal(0);
    expect((account?.available ?? 0) + (account?.spent ?? 0)).to.equal(GRANTED);
  } finally {
    await program.close();
  }
}

async function prepareAccount(config: Config): Promise<{ accountId: string; secret: string }> {
  const program = await openProgram(config, 'tool');
  try {
    const { accountId, appId } = await newOwner(program.context, 'load', GRANTED);
    return { accountId, secret: (await createKey(program.context, { appId, name: 'load' })).secret };
  } finally {
    await program.close();
  }
}

function isOver(task: { readonly [name: string]: unknown } | undefined): boolean {
  return ['succeeded', 'failed', 'cancelled'].includes(String(task?.['status']));
}

/**
 * Polls each until it is true; the suite's timeout is the only bound, and means "stuck". Concurrency equals the number
 * of clients, because one address may open only so many connections, and there may be more to poll.
 */
async function until<T>(signal: AbortSignal, all: readonly T[], check: (one: T) => Promise<boolean>): Promise<void> {
  const queue = new PQueue({ concurrency: CLIENTS });
  const done = all.map((one) =>
    queue.add(async () => {
      while (!(await check(one))) await sleep(200, undefined, { signal });
    }),
  );
  await Promise.all(done);
}

const CONFIG = (port: number) => `
data_folder: data
catalog: catalog.yaml
rest:
  port: ${port}
  rate_limits: { reads_per_minute: 0, creates_per_minute: 0 }
worker: { recovery_interval_seconds: 1 }
log: { level: warn, format: json }
settings:
  claim_lease_seconds: 5
  lease_seconds: 3
  recovery_grace_seconds: 2
  max_open_generations_per_account: 100000
`;
