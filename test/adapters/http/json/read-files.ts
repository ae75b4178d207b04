/*
 * A program that reads a JSON document with files in it from the address it is given, in the way it is given, and prints what it
 * read and how much memory that took.
 */
import { createHash } from 'node:crypto';
import { jsonWithFiles } from '../../../../adapters/http/json/json-with-files.js';
import { spooledJson } from '../../../../adapters/http/json/spooled-json.js';
import type { HttpAnswer } from '../../../../adapters/http/http-answer.js';
import { get, localClient } from '../client.js';

export interface ReadFiles {
  readonly digests: readonly string[];
  readonly rest: unknown;
  /** The most memory of the process, less what it had before it read. */
  readonly addedBytes: number;
}

const OPTIONS = { at: ['/data/*/b64_json'], maxJsonBytes: 64 * 1024, maxCount: 8, maxFileBytes: 2 ** 30 };
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

const [url = '', way = ''] = process.argv.slice(2);
const client = localClient({ limits: LIMITS });
const read = way === 'spooled' ? readFromDisk : readAsItComes;
await read(await get(client, `${url}/small`));
const before = process.memoryUsage.rss();
const found = await read(await get(client, `${url}/large`));
const addedBytes = process.resourceUsage().maxRSS * 1024 - before;
await client.close();
process.stdout.write(JSON.stringify({ ...found, addedBytes }));
