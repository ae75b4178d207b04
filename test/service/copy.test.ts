/**
 * Goal: a stopped installation that is copied to PostgreSQL continues there. Ended generations are returned and replayed as
 * before, open ones finish, sessions and keys are valid, and the ledgers agree. A copy during the operation of a server, or into
 * a database in use, is refused. A copy that is interrupted, or whose source changes meanwhile, cannot be used.
 * Method: the compiled program works for a client on SQLite and on MongoDB until generations are in every state, and is killed.
 * The copy command runs several times, and one run is killed. A server on PostgreSQL receives the same requests as the first one.
 */
import { expect } from 'chai';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';
import { createPerson } from '../../core/people/manage-people.js';
import { beginSession, findSession } from '../../core/people/sessions.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { copyInstallation } from '../../apps/copy/copy-installation.js';
import { loadConfig } from '../../apps/config/load-config.js';
import { openProgram } from '../../apps/wiring/open-program.js';
import { PROGRAM, ServedProcess } from '../faults/served-process.js';
import { CliProcess } from '../harness/cli-run.js';
import { sizeOf } from '../harness/run-sizes.js';
import { STORE_PAIRS } from '../harness/store-pairs.js';
import {
  bucketSettings,
  freshBucket,
  type FreshBucket,
  freshPostgresDatabase,
  type FreshPostgresDatabase,
} from '../servers/fresh-places.js';
import { orSkip, postgresServer, s3Server } from '../servers/servers.js';
import {
  addressesOf,
  catalogBefore,
  digestAt,
  ends,
  GRANTED,
  ledgerOf,
  replay,
  withoutAddresses,
  workBefore,
  type WorkBefore,
} from '../upgrade/work-before.js';
import { EMBEDDED, type Lane, ON_MONGO } from './lanes.js';
import { LiveService } from './live-service.js';

const CONFIG = {
  settings: { lease_seconds: 5, cancel_grace_seconds: 5, poll_after_ms: 100, recovery_grace_seconds: 5 },
  worker: { recovery_interval_seconds: 2 },
};

const LANES = [EMBEDDED, ...ON_MONGO].slice(0, sizeOf('copiedLanes'));

for (const lane of LANES) describe(`a copy from ${lane.name} to PostgreSQL`, () => copiedFrom(lane, lane !== EMBEDDED));

function copiedFrom(lane: Lane, isShared: boolean): void {
  let service: LiveService;
  let database: FreshPostgresDatabase;
  let work: WorkBefore;
  let session: string;
  let target: ServedProcess;
  let bucket: FreshBucket | undefined;
  const targetFile = () => join(service.folder, 'postgres.yaml');

  before(async function workAndKill() {
    database = await freshPostgresDatabase(await orSkip(this, postgresServer('18')));
    const open = await lane.open(this);
    service = await LiveService.prepare({
      config: CONFIG,
      catalog: catalogBefore,
      ...(isShared ? { lane: open } : {}),
    });
    const sections = JSON.parse(readFileSync(service.configFile, 'utf8')) as JsonObject;
    const stores = { database: 'postgres', objects: 'minio', wake_ups: 'agenda' };
    if (!isShared) bucket = freshBucket(await orSkip(this, s3Server(STORE_PAIRS[0]!.s3)));
    const minio = bucket === undefined ? {} : { minio: bucketSettings(bucket) };
    writeFileSync(targetFile(), JSON.stringify({ ...sections, stores, ...minio, postgres: { url: database.url } }));
    target = new ServedProcess(targetFile(), service.folder, service.url);
    await service.server.start();
    work = await workBefore(service);
    session = await service.tool(async ({ context }) => {
      const person = await createPerson(context, { accountId: work.accountId, email: 'someone@example.com' });
      return (await beginSession(context, person, { method: 'password', userAgent: 'a browser' })).secret;
    });
  });

  after(async () => {
    await target?.end('SIGKILL');
    await service?.remove();
    await database?.drop();
    await bucket?.remove();
  });

  const copy = (...more: readonly string[]) => service.run('copy', '--to', targetFile(), ...more);

  /** Opens the program on the copy for one call. */
  async function onTarget<T>(use: (program: Awaited<ReturnType<typeof openProgram>>) => Promise<T>): Promise<T> {
    const config = await loadConfig({ file: targetFile(), folder: service.folder, environment: {} });
    const program = await openProgram(config, 'tool', { publicUrl: () => service.url });
    try {
      return await use(program);
    } finally {
      await program.close();
    }
  }

  it('is refused while a server uses the source', async () => {
    const { code, stderr } = await copy();
    expect(code).to.equal(1);
    expect(stderr).to.match(
      isShared
        ? /^darkroom: A process has used \S+ in the last minute; stop all processes, wait for a minute, and run darkroom copy again\.\n$/
        : /^darkroom: Another server \(process \d+\) is using .*; stop it first, or choose another data folder\.\n$/,
    );
    await service.server.end('SIGKILL');
    if (isShared) await forgetProcesses();
  });

  /** Changes the records of the stopped processes to their state after a minute. */
  async function forgetProcesses(): Promise<void> {
    await service.tool(async ({ context }) => {
      const progress = await context.generationSearch.readProgress();
      if (progress !== null)
        await context.generationSearch.replaceProgress(
          { ...progress, heldUntil: 0, version: progress.version + 1 },
          progress.version,
        );
      const { idle: _, ...use } = (await context.providerUses.read('sandbox')) ?? { version: 0 };
      if (use.version > 0)
        await context.providerUses.replace({ ...use, shares: [], version: use.version + 1 } as never, use.version);
    });
  }

  it('is refused with another secret', async () => {
    const other = join(service.folder, 'other.yaml');
    const secret = join(service.folder, 'other.secret');
    writeFileSync(secret, 'cd'.repeat(32), { mode: 0o600 });
    const sections = JSON.parse(readFileSync(targetFile(), 'utf8')) as JsonObject;
    writeFileSync(other, JSON.stringify({ ...sections, secret_file: secret }));
    const { code, stderr } = await service.run('copy', '--to', other);
    expect(code).to.equal(1);
    expect(stderr).to.match(
      /other\.secret has another secret than .*, and no API key would be valid; copy the file\.\n$/,
    );
    for (const path of [other, secret]) rmSync(path);
  });

  it('is refused before the bucket is set up, if it is another bucket', async () => {
    if (!isShared) expect((await copy()).stderr).to.match(/^darkroom: There is no bucket .*\n$/);
    expect((await service.run('migrate', '--config', targetFile())).code).to.equal(0);
  });

  if (!isShared)
    it('does not finish if the source changes meanwhile', async () => {
      const to = await loadConfig({ file: targetFile(), folder: service.folder, environment: {} });
      const write = (line: string) => {
        if (!line.includes(' of accounts')) return;
        const source = openDatabase(join(service.config.dataFolder, 'darkroom.db'));
        source.exec(`UPDATE accounts SET name = name || ' anew'`);
        source.close();
      };
      const refused = await copyInstallation(service.config, to, write).catch((error: Error) => error.message);
      expect(refused).to.match(/ was written to during the copy \(accounts\); stop all of its processes, /);
    });

  it('that was interrupted cannot be opened by any process', async () => {
    const command = new CliProcess(service.folder, ['copy', '--to', targetFile()], {
      environment: { DARKROOM_CONFIG: service.configFile },
      program: PROGRAM,
    });
    await command.until('stderr', 'rows of');
    command.child.kill('SIGKILL');
    await command.ended;
    expect(command.child.signalCode).to.equal('SIGKILL');
    for (const args of [['migrate'], ['migrate', '--check'], ['verify'], ['accounts', 'list']]) {
      const { code, stderr } = await service.run(...args, '--config', targetFile());
      expect(code, args.join(' ')).to.equal(1);
      expect(stderr, args.join(' ')).to.match(
        /^darkroom: The copy of an installation into database \S+ has not finished; run darkroom copy again\.\n$/,
      );
    }
  });

  it('is complete, and reports the number of rows', async () => {
    const ran = await copy('--json');
    expect(ran.code, ran.stderr).to.equal(0);
    const { rows, accounts, findings, objects } = JSON.parse(ran.stdout) as JsonObject & {
      readonly rows: Readonly<Record<string, number>>;
    };
    expect([accounts, findings]).to.deep.equal([2, []]);
    if (isShared) expect(objects).to.equal(undefined);
    else expect((objects as JsonObject)['objects']).to.be.at.least(work.ended.flatMap(({ outputs }) => outputs).length);
    const made = work.ended.length + work.open.length + 2;
    expect(rows).to.include({ accounts: 2, generations: made });
    expect([rows['claims'], rows['artefacts']]).to.satisfy(
      ([claims = 0, artefacts = 0]: number[]) => claims >= made && artefacts > 0,
    );
  });

  it('is refused the second time, as the database is in use', async () => {
    const { code, stderr } = await copy();
    expect([code, stderr]).to.deep.equal([
      1,
      `darkroom: Database ${database.database} is in use (it has rows in ${stderr.match(/rows in (\w+)/)?.[1]}); name an empty one in postgres.url.\n`,
    ]);
  });

  it('is served: ended generations are returned, replayed and delivered as before, and sessions are valid', async () => {
    await target.start();
    const client = service.client(work.secret);
    for (const { task, outputs, replay: replayed, ...made } of work.ended) {
      const shown = (await client.look(made.id)).data;
      expect(withoutAddresses(shown), made.key).to.deep.equal(task);
      expect(await replay(client, made), made.key).to.deep.equal(replayed);
      expect(await Promise.all(addressesOf(shown).map(digestAt))).to.deep.equal(outputs.map(({ sha256 }) => sha256));
    }
    const found = await onTarget(({ context }) => findSession(context, session));
    expect(found?.person.email).to.equal('someone@example.com');
  });

  it('finishes each open generation once, and has ledgers that agree', async () => {
    const client = service.client(work.secret);
    const expected = [
      ...work.open.map((made) => [made, 'succeeded'] as const),
      [work.cancelling, 'cancelled'] as const,
      [work.hanging, 'failed'] as const,
    ];
    let charged = work.ended.reduce((sum, { task }) => sum + (task['charged_credits'] as number), 0);
    for (const [made, status] of expected) {
      const { task } = await ends(client, made);
      expect(task, made.key).to.include({ status });
      charged += task['charged_credits'] as number;
    }
    await onTarget(async ({ context }) => {
      while (((await context.accounts.read(work.accountId))?.holds.size ?? 0) > 0) await sleep(20);
    });
    expect(await client.balance()).to.equal(GRANTED - charged);
    const { code, stdout, stderr } = await service.run('verify', '--config', targetFile());
    expect(code, stdout + stderr).to.equal(0);
  });

  it('continues the ledger', async () => {
    writeFileSync(service.configFile, readFileSync(targetFile()));
    const lines = await ledgerOf(service, PROGRAM, work.accountId);
    expect(lines.slice(0, work.ledger.length)).to.deep.equal(work.ledger);
  });
}
