/**
 * The process that the memory tests measure: the OpenAI-compatible API over files on disk, with one generation of four
 * pictures of 10 MB each, and with credits for many more. It sends a head as soon as a request waits, and its worker has stopped.
 * It sends its parent its address and its key, and for each number that it gets, once as many requests wait, the bytes that
 * it holds without garbage.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { grantCredits } from '../../core/credits/operate.js';
import { until } from '../fixtures/clocks.js';
import { streamOf } from '../fixtures/byte-streams.js';
import { collectGarbage } from '../fixtures/resident-memory.js';
import { OpenAiHarness, PICTURE } from '../fronts/openai/openai-harness.js';

const PICTURE_BYTES = 10 * 1024 * 1024;
/** Less is not worth another collection. */
const COUNTED_BYTES = 100_000;

const folder = mkdtempSync(join(tmpdir(), 'darkroom-openai-'));
process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});
const secret = new Uint8Array(32).fill(3);
const clock = new SystemClock();
const objects = await FileObjectStore.open({ folder, clock, secret, publicBaseUrl: () => 'http://127.0.0.1' });
const many = 10_000;
const api = await OpenAiHarness.open(
  { openAiWaits: { silentMs: 0 }, limits: { maxConnections: many, maxConnectionsPerAddress: many } },
  { ports: { objects }, settings: { maxOpenGenerationsPerAccount: many } },
);
await api.service.startWorker();
await api.create({ ...PICTURE, n: 4 });
await api.expectPaid(40);
await enlarge();
await api.service.close();
await grantCredits(api.context, { accountId: api.owner.accountId, operationId: 'many', credits: 100_000, reason: '' });
process.on('message', (waits) => void held(Number(waits)).then((bytes) => process.send?.(bytes)));
process.send?.({ origin: api.running.origin, secret: api.secret() });

/** Puts large files in the place of those that the provider delivered. */
async function enlarge(): Promise<void> {
  const [generation] = await api.generations();
  if (generation === undefined) throw new Error('There is no generation.');
  const bytes = randomBytes(PICTURE_BYTES);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  for (const { objectKey } of generation.outputs)
    await objects.write(objectKey, streamOf(bytes), { mediaType: 'image/png', maxBytes: PICTURE_BYTES });
  const outputs = generation.outputs.map((output) => ({ ...output, byteSize: PICTURE_BYTES, sha256 }));
  const { version } = generation;
  await api.context.generations.replace({ ...generation, version: version + 1, outputs }, version);
}

/** The bytes of all objects and buffers, once garbage collections find nothing more. */
async function held(waits: number): Promise<number> {
  await until(async () => api.context.generationWatch.followed === waits);
  for (let least = Infinity; ;) {
    collectGarbage();
    // A collection may end other work, whose garbage the next one collects.
    await setImmediate();
    const { heapUsed, external } = process.memoryUsage();
    if (heapUsed + external > least - COUNTED_BYTES) return Math.min(heapUsed + external, least);
    least = heapUsed + external;
  }
}
