import type { IncomingMessage } from 'node:http';
import { visit } from 'jsonc-parser';
import { ServiceError } from '../../../core/errors.js';
import type { Json } from '../../../core/json.js';
import { MAX_BODY_DEPTH, MAX_BODY_NODES } from './limits.js';
import { readBytes, type ReadingBounds } from './read-bytes.js';

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
