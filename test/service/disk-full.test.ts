// Goal: a disk that fills up loses nothing: creates are refused with 503 in the envelope, reads continue, and once
// there is space again the same keys are answered, every generation ends, and the books agree.
// Method: the compiled program over a data folder on a small file system in memory, which a file beside the data fills.
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyCredits } from '../../core/credits/verify.js';
import type { JsonObject } from '../../core/json.js';
import { type Answer, type Client, LiveService, type Tenant } from './live-service.js';

const GRANTED = 10_000;
/** The most creates sent to a full disk: some fit where the log has space left from before. */
const MOST_CREATES = 600;
const REFUSED = 25;

function mounted(path: string): boolean {
  mkdirSync(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Writes until nothing more fits. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let size = 1024 * 1024; size >= 512;) {
      try {
        writeSync(file, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
}

describe('a disk that is full', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-disk-'));
  const disk = join(folder, 'disk');
  let isMounted = false;
  let service: LiveService | undefined;
  let tenant: Tenant;
  let client: Client;

  before(async function prepare() {
    isMounted = mounted(disk);
    if (!isMounted) {
      console.log(
        '      skipped: no file system can be mounted here; the SQLite tests fill a database by its page count',
      );
      this.skip();
    }
    const settings = { claim_lease_seconds: 5, lease_seconds: 3, recovery_grace_seconds: 1, retry_base_ms: 50 };
    service = await LiveService.start({
      dataFolder: join(disk, 'data'),
      config: { settings, worker: { recovery_interval_seconds: 1 } },
    });
    tenant = await service.tenant(GRANTED);
    client = service.client(tenant.secret);
  });

  after(async () => {
    await service?.remove();
    if (isMounted) execFileSync('umount', ['-l', disk]);
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (index: number): Promise<Answer> => client.create(`k${index}`, 'sandbox-test', { size: '128x128' });

  /** Sends creates until enough were refused for lack of space; returns the ids by key of those that were not. */
  async function createOnFullDisk(): Promise<{ readonly sent: number; readonly ids: Map<number, string> }> {
    const ids = new Map<number, string>();
    let sent = 0;
    for (let refused = 0; refused < REFUSED && sent < MOST_CREATES; sent += 1) {
      const { status, code, data, headers } = await ask(sent);
      if (status === 202) ids.set(sent, data['generation_id'] as string);
      else {
        expect([status, code, headers.has('retry-after')]).to.deep.equal([503, 'SERVICE_UNAVAILABLE', true]);
        refused += 1;
      }
    }
    expect(sent, 'the disk was never full').to.be.below(MOST_CREATES);
    return { sent, ids };
  }

  async function answered(index: number): Promise<string> {
    for (;;) {
      const { status, code, data } = await ask(index);
      if (status === 202) return data['generation_id'] as string;
      expect(code).to.be.oneOf(['SERVICE_UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS']);
      await sleep(200);
    }
  }

  it('refuses creates, still serves reads, and loses nothing', async () => {
    const first = await client.create('before', 'sandbox-test', { size: '128x128' });
    const done = await client.until(first.data['generation_id'] as string);
    fill(join(disk, 'filler'));
    expect(statfsSync(disk).bavail).to.equal(0);

    const { sent, ids } = await createOnFullDisk();
    expect((await client.look(done['generation_id'] as string)).data['status']).to.equal('succeeded');
    expect((await client.request('GET', '/credits')).status).to.equal(200);
    const [output] = done['outputs'] as unknown as { readonly url: string }[];
    expect((await fetch(output?.url as string)).status).to.equal(200);
    expect((await fetch(`${service?.url}/healthz`)).status).to.equal(200);

    rmSync(join(disk, 'filler'));
    for (let index = 0; index < sent; index += 1) {
      const id = await answered(index);
      expect(ids.get(index) ?? id, `what k${index} was told before`).to.equal(id);
      ids.set(index, id);
    }
    expect(new Set(ids.values()).size).to.equal(sent);
    const tasks: JsonObject[] = [];
    for (const id of ids.values()) tasks.push(await client.until(id));
    const charged = tasks.reduce((sum, task) => sum + Number(task['charged_credits']), 1);
    for (const task of tasks)
      expect(task['status'], JSON.stringify(task['error'])).to.be.oneOf(['succeeded', 'failed']);
    await service?.tool(async ({ context }) => {
      while (((await context.accounts.read(tenant.accountId))?.holds.size ?? 0) > 0) await sleep(50);
      expect((await verifyCredits(context)).findings).to.deep.equal([]);
      expect((await context.accounts.read(tenant.accountId))?.available).to.equal(GRANTED - charged);
    });
  });
});
