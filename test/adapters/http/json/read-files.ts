/*
 * A program that reads a JSON document with files in it from the given URL in the given way, and prints the data read
 * and the memory used.
 */
import { createHash } from 'node:crypto';
import type { HttpAnswer } from '../../../../adapters/http/http-answer.js';
import { jsonWithFiles, spooledJson } from '../../../../adapters/http/json/json-with-files.js';
import {
  collectGarbage,
  peakResidentBytes,
  resetPeakResidentBytes,
  residentBytes,
} from '../../../fixtures/resident-memory.js';
import { get, localClient } from '../client.js';

export interface ReadFiles {
  readonly digests: readonly string[];
  readonly rest: unknown;
  /** The peak memory of the process minus its memory before the read. Garbage is collected meanwhile. */
  readonly addedBytes: number;
}

const OPTIONS = { at: ['/data/*/b64_json'], maxJsonBytes: 64 * 1024, maxCount: 8, maxFileBytes: 2 ** 30 };
/** Otherwise most of the measured memory is garbage, whose amount depends on how fast the machine collects it. */
const COLLECTED_EVERY_BYTES = 4 * 1024 * 1024;
const LIMITS = { maxBodyBytes: 2 ** 30, totalTimeoutMs: 600_000 };

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of bytes) hash.update(piece);
  return hash.digest('hex');
}

async function readAsItComes(answer: HttpAnswer): Promise<Omit<ReadFiles, 'addedBytes'>> {
  const digests: string[] = [];
  const rest = await jsonWithFiles(answer, OPTIONS, async ({ bytes }) => void digests.push(await digestOf(bytes)));
  return { digests, rest };
}

async function readFromDisk(answer: HttpAnswer): Promise<Omit<ReadFiles, 'addedBytes'>> {
  const spooled = await spooledJson(answer, OPTIONS);
  const digests: string[] = [];
  for (const file of spooled.files.values()) digests.push(await digestOf(file.bytes));
  await spooled.close();
  return { digests, rest: spooled.json };
}

/** The answer, during whose reading garbage is collected. */
function collected(answer: HttpAnswer): HttpAnswer {
  const pieces = answer.jsonBody();
  return Object.assign(answer, { jsonBody: () => collecting(pieces) });
}

async function* collecting(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let uncollectedBytes = 0;
  for await (const piece of pieces) {
    yield piece;
    uncollectedBytes += piece.byteLength;
    if (uncollectedBytes < COLLECTED_EVERY_BYTES) continue;
    collectGarbage();
    uncollectedBytes = 0;
  }
}

const [url = '', way = ''] = process.argv.slice(2);
const client = localClient({ limits: LIMITS });
const read = way === 'spooled' ? readFromDisk : readAsItComes;
await read(collected(await get(client, `${url}/small`)));
collectGarbage();
const before = residentBytes(process.pid);
resetPeakResidentBytes(process.pid);
const found = await read(collected(await get(client, `${url}/large`)));
const addedBytes = peakResidentBytes(process.pid) - before;
await client.close();
process.stdout.write(JSON.stringify({ ...found, addedBytes }));
