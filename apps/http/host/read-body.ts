import { visit } from 'jsonc-parser';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import { escapePointerToken, type Json } from '../../../core/json.js';
import { MAX_BODY_DEPTH, MAX_BODY_NODES, MAX_BODY_PIECES, MAX_EMPTY_BODY_BYTES } from './http-context.js';

/** How much is read, and how long it may take to arrive. */
export interface ReadingBounds {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** In how many pieces it may arrive; `MAX_BODY_PIECES` when absent. */
  readonly maxPieces?: number;
}

const EMPTY = Buffer.alloc(0);

/**
 * The bytes of a request's body; none when it has no body. Throws BODY_TOO_LARGE as soon as it is known, from the
 * declared length or while reading, REQUEST_TIMEOUT, and BODY_INVALID for one that arrives in too many pieces or is
 * incomplete.
 */
export function readBytes(
  req: IncomingMessage,
  { maxBytes, timeoutMs, maxPieces = MAX_BODY_PIECES }: ReadingBounds,
): Promise<Buffer> {
  const declared = declaredBytes(req);
  if (declared === 0) return Promise.resolve(EMPTY);
  if (declared !== undefined && declared > maxBytes) return Promise.reject(tooLarge(maxBytes));
  // The client may have left while its credential was looked up: nothing would tell us any more.
  if (req.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteSize = 0;
    const settle = (error: ServiceError | undefined): void => {
      clearTimeout(timer);
      req.off('data', take).off('end', finish).off('error', breakOff).off('close', breakOff);
      if (error === undefined)
        return resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, byteSize));
      req.on('error', ignore).pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      byteSize += chunk.byteLength;
      if (byteSize > maxBytes) settle(tooLarge(maxBytes));
      else if (chunks.push(chunk) > maxPieces)
        settle(
          new ServiceError(
            'BODY_INVALID',
            `The request body must arrive in at most ${maxPieces} pieces; send it in larger chunks, or with Content-Length.`,
          ),
        );
    };
    const finish = (): void => settle(undefined);
    const breakOff = (): void => settle(brokenOff());
    const timer = setTimeout(
      () => settle(new ServiceError('REQUEST_TIMEOUT', `The request body must arrive within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    req.on('data', take).on('end', finish).on('error', breakOff).on('close', breakOff);
  });
}

/** How long the body is by its headers; undefined when it comes in chunks, and its length is known at its end. */
export function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('BODY_TOO_LARGE', `The request body must have at most ${maxBytes} bytes.`);
}

function brokenOff(): ServiceError {
  return new ServiceError('BODY_INVALID', 'The request body ended before it was complete.');
}

function ignore(): void {
  // The client is gone, and the answer with it.
}

/** A byte order mark is kept, and then is not JSON. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?[ \t]*$/i;

export interface BodyRules extends ReadingBounds {
  readonly required: boolean;
  /** Told how many bytes have arrived, before anything is made of them. What it throws refuses the request. */
  readonly arrived?: (byteSize: number) => Promise<void>;
}

/**
 * The JSON body of a request; an empty object when there is none and none is needed. Throws BODY_TOO_LARGE,
 * REQUEST_TIMEOUT, MEDIA_TYPE_UNSUPPORTED and BODY_INVALID, in that order. One value has one reading: what parsers
 * disagree on (duplicate names, other encodings, numbers without a finite value) is refused.
 */
export async function readBody(req: IncomingMessage, { required, arrived, ...bounds }: BodyRules): Promise<Json> {
  const bytes = await readBytes(req, bounds);
  await arrived?.(bytes.byteLength);
  if (bytes.byteLength === 0) {
    if (required) throw invalid('Send a JSON object as the request body.');
    return {};
  }
  refuseOtherMedia(req);
  const text = decode(bytes);
  refuseAmbiguity(text);
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid('The request body must be valid JSON.');
  }
}

function refuseOtherMedia({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send the body without Content-Encoding.');
  }
  if (!JSON_MEDIA_TYPE.test(headers['content-type'] ?? '')) throw new ServiceError('MEDIA_TYPE_UNSUPPORTED');
}

function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw invalid('The request body must be UTF-8.');
  }
}

/** Walks the text as it is written, since the parsed value no longer shows what was written twice. */
function refuseAmbiguity(text: string): void {
  const namesByDepth: (Set<string> | undefined)[] = [];
  const enter = (names: Set<string> | undefined): void => {
    count();
    if (namesByDepth.length >= MAX_BODY_DEPTH)
      throw invalid(`The request body must be nested at most ${MAX_BODY_DEPTH} deep.`);
    namesByDepth.push(names);
  };
  const leave = (): void => {
    namesByDepth.pop();
  };
  let nodes = 0;
  const count = (): void => {
    nodes += 1;
    if (nodes > MAX_BODY_NODES) throw invalid(`The request body must hold at most ${MAX_BODY_NODES} names and values.`);
  };
  visit(
    text,
    {
      onObjectBegin: () => enter(new Set()),
      onArrayBegin: () => enter(undefined),
      onObjectEnd: leave,
      onArrayEnd: leave,
      onObjectProperty: (name) => {
        count();
        const names = namesByDepth.at(-1);
        if (names?.has(name)) throw invalid('The request body must not name a field twice.');
        names?.add(name);
      },
      onLiteralValue: (value: unknown) => {
        count();
        if (typeof value === 'number' && !Number.isFinite(value))
          throw invalid('The request body must hold no number beyond the range of a double.');
      },
      onError: () => {
        throw invalid('The request body must be valid JSON.');
      },
    },
    { disallowComments: true },
  );
}

function invalid(message: string): ServiceError {
  return new ServiceError('BODY_INVALID', message);
}

/**
 * For operations that take no body: there is none, or it is an object without fields, which many clients send. Throws
 * as `readBody` does, and FIELD_INVALID for a body with something in it, as for any unknown field.
 */
export async function readNoBody(req: IncomingMessage, rules: Omit<BodyRules, 'required' | 'maxBytes'>): Promise<Json> {
  if (declaredBytes(req) === 0) return {};
  const body = await readBody(req, { ...rules, maxBytes: MAX_EMPTY_BODY_BYTES, required: false });
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw fieldInvalid('', 'This operation takes no body; send none, or an object without fields.');
  const [name] = Object.keys(body);
  if (name !== undefined)
    throw fieldInvalid(`/${escapePointerToken(name)}`, `This operation takes no body: unknown field "${name}".`);
  return body;
}
