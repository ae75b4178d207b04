import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FaultInPlay } from './faults.js';
import type { FakeAnswer } from './fake-answer.js';

type FaultOf<Type extends Fault['type']> = Extract<Fault, { readonly type: Type }>;

const PAGE = '<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>Bad gateway</body></html>\n';
const FILLING = Buffer.alloc(64 * 1024, ' ');

/** Sends the answer unchanged, until the client disconnects. */
export async function deliver(response: ServerResponse, answer: FakeAnswer): Promise<void> {
  const { body } = answer;
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array || answer.json !== undefined) {
    const bytes = await bytesOf(answer);
    writeHead(response, answer, { 'content-length': String(bytes.byteLength) });
    response.end(bytes);
    return;
  }
  writeHead(response, answer);
  for await (const piece of body) {
    if (!(await written(response, piece))) return;
  }
  response.end();
}

/** The headers and white space at once, and the rest later. */
export async function deliverEarly(response: ServerResponse, answer: FakeAnswer, later: Promise<void>): Promise<void> {
  writeHead(response, answer);
  response.write(' \n ');
  await later;
  response.end(await bytesOf(answer));
}

/** The page a gateway answers with. */
export function htmlAnswer({ status = 502 }: FaultOf<'html'>): FakeAnswer {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body: PAGE };
}

/** Half of the answer, which declares all of it. */
export async function deliverHalf(response: ServerResponse, answer: FakeAnswer): Promise<void> {
  const bytes = await bytesOf(answer);
  writeHead(response, answer, { 'content-length': String(Math.max(bytes.byteLength, 2)) });
  response.write(bytes.subarray(0, bytes.byteLength >> 1), () => response.destroy());
}

/** The answer without its last byte, and then spaces until the client leaves. */
export async function deliverWithoutEnd(
  response: ServerResponse,
  answer: FakeAnswer,
  planned: FaultInPlay,
): Promise<void> {
  const bytes = await bytesOf(answer);
  writeHead(response, answer);
  for (let piece = Buffer.from(bytes.subarray(0, -1)); ; piece = FILLING) {
    planned.sentBytes += piece.byteLength;
    if (!(await written(response, piece))) return;
  }
}

/** The answer byte by byte. */
export async function deliverTrickling(
  response: ServerResponse,
  answer: FakeAnswer,
  planned: FaultInPlay,
  { everyMs = 20, isEndless = false }: FaultOf<'trickle'>,
): Promise<void> {
  const bytes = await bytesOf(answer);
  writeHead(response, answer);
  const endAt = isEndless ? Infinity : bytes.byteLength;
  for (let at = 0; at < endAt; at += 1) {
    planned.sentBytes += 1;
    if (!(await written(response, Buffer.from([bytes[at % bytes.byteLength] ?? 0])))) return;
    // A timer takes a millisecond at least, which adds up over an answer with pictures.
    await (everyMs === 0 ? setImmediate() : sleep(everyMs));
  }
  response.end();
}

function writeHead(response: ServerResponse, { status = 200, headers = {}, json }: FakeAnswer, more = {}): void {
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers, ...more });
}

async function bytesOf({ json, body = '' }: FakeAnswer): Promise<Buffer> {
  if (json !== undefined) return Buffer.from(JSON.stringify(json));
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** False once the client has left. Waits until the connection takes more. */
async function written(response: ServerResponse, piece: Uint8Array): Promise<boolean> {
  if (response.closed || response.destroyed) return false;
  if (response.write(piece)) return true;
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  over.abort();
  return !response.closed;
}
