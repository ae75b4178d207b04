/**
 * Goal: a server with a full disk loses no acknowledged write, calls fail as unavailable, and work continues without
 * intervention when there is space again. Method: a server on its own small file system, which another file fills. First the
 * tables cannot grow; then the write-ahead log cannot grow, and the server exits.
 */
import { expect } from 'chai';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { migrated, openPostgres, type PostgresStores } from '../../../adapters/postgres/open-postgres.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { orSkip } from '../../servers/servers.js';
import { ServerProcess } from '../../servers/server-process.js';

const DISK_MEBIBYTES = 200;
const TIMEOUT_MS = 2_000;
/** The smallest write-ahead log that the server allows: two files of 16 MiB. */
const LITTLE_LOG = 'wal_keep_size = 0\nmin_wal_size = 32MB\nmax_wal_size = 32MB';
const CALLERS = 4;
const LOOK_EVERY_MS = 50;
/** A long account name, so that the table grows quickly. */
const NAME = 'x'.repeat(1_000);

describe('a full disk of PostgreSQL', () => {
  let disk: string | undefined;
  let server: ServerProcess;
  let stores: PostgresStores | undefined;
  let made = 0;
  const acknowledged: number[] = [];

  before(async function mount() {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-full-disk-'));
    try {
      await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEBIBYTES}m`, 'tmpfs', folder]);
    } catch {
      rmSync(folder, { recursive: true });
      console.log('      skipped: this user cannot mount a small file system');
      this.skip();
    }
    disk = folder;
    process.once('exit', unmount);
    server = await orSkip(this, ServerProcess.start('postgres-18', { folder, lines: LITTLE_LOG }));
    await migrated({ url: server.url });
    stores = await openPostgres({ url: server.url, timeoutMs: TIMEOUT_MS });
  });
  after(async () => {
    await stores?.close();
    await (server as ServerProcess | undefined)?.stop();
    unmount();
    process.off('exit', unmount);
  });

  function unmount(): void {
    if (disk === undefined) return;
    execFileSync('umount', ['--lazy', disk]);
    rmSync(disk, { recursive: true });
    disk = undefined;
  }

  const filler = () => join(disk ?? '', 'filler');
  const fill = () => {
    const { bavail, bsize } = statfsSync(disk ?? '');
    writeFileSync(filler(), Buffer.alloc(bavail * bsize, 'x'));
  };
  const empty = () => rmSync(filler());

  async function write(): Promise<void> {
    made += 1;
    const number = made;
    await stores?.accounts.create(anAccount(number, { name: NAME }));
    acknowledged.push(number);
  }

  /** Writes concurrently until every caller receives StoreUnavailable; returns the messages. */
  async function untilRefused(): Promise<readonly string[]> {
    const caller = async () => {
      for (;;) {
        try {
          await write();
        } catch (error) {
          expect(error).to.be.instanceOf(StoreUnavailable);
          return (error as Error).message;
        }
      }
    };
    return Promise.all(Array.from({ length: CALLERS }, caller));
  }

  async function untilWritten(): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        expect(error).to.be.instanceOf(StoreUnavailable);
      }
    }
  }

  async function expectAll(): Promise<void> {
    for (const number of acknowledged)
      expect(await stores?.accounts.read(uuidAt(number)), String(number)).not.to.equal(null);
  }

  it('refuses writes while its tables cannot grow', async () => {
    await write();
    fill();
    expect(await untilRefused()).to.satisfy((reasons: readonly string[]) =>
      reasons.some((reason) => reason.includes('53100')),
    );
    empty();
    await untilWritten();
    await expectAll();
  });

  it('exits while its log cannot grow, and after a restart with free space has every acknowledged write', async () => {
    fill();
    const own = new pg.Client({ connectionString: server.url });
    own.on('error', () => undefined);
    await own.connect();
    // Each statement starts a new log file.
    while (server.pid !== undefined) {
      await own
        .query(`SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000)), pg_switch_wal()`)
        .catch(() => undefined);
      await write().catch((error: unknown) => expect(error).to.be.instanceOf(StoreUnavailable));
      await sleep(LOOK_EVERY_MS);
    }
    await untilRefused();
    empty();
    await server.restart();
    await untilWritten();
    await expectAll();
    expect(acknowledged.length).to.be.greaterThan(1);
  });
});
