import type { ReadFailure } from './read-failure.js';

export interface EncodedText {
  /** As a data URL declares it, in lower case and without parameters. */
  readonly mediaType?: string;
  /** The base64. */
  readonly text: AsyncIterable<Uint8Array>;
}

const SCHEME = 'data:';
const BLANKS: readonly number[] = [0x20, 0x09, 0x0a, 0x0c, 0x0d];
const MAX_HEADER_BYTES = 256;

/** The base64 in a text that is base64, or a data URL with it. Reads no more of the text than is needed to tell. */
export async function encodedText(text: AsyncIterable<Uint8Array>, fail: ReadFailure): Promise<EncodedText> {
  const pieces = text[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let next = await pieces.next();
  while (next.done !== true) {
    head = withoutBlanks(Buffer.concat([head, next.value]));
    if (hasWholeHeader(head)) break;
    next = await pieces.next();
  }
  if (!isDataUrl(head)) return { text: following(head, pieces) };
  const comma = head.indexOf(',');
  const [, type] = /^data:([^;,]*)(?:;[^;,]*)*;base64$/i.exec(head.toString('latin1', 0, Math.max(comma, 0))) ?? [];
  if (type === undefined || comma > MAX_HEADER_BYTES)
    throw fail('bad-answer', 'The answer has a data URL that is not base64.');
  return {
    ...(type === '' ? {} : { mediaType: type.trim().toLowerCase() }),
    text: following(head.subarray(comma + 1), pieces),
  };
}

function isDataUrl(head: Buffer): boolean {
  return beginning(head) === SCHEME;
}

/** Whether it is known that this begins no data URL, or where the base64 in it begins. */
function hasWholeHeader(head: Buffer): boolean {
  return !SCHEME.startsWith(beginning(head)) || head.byteLength > MAX_HEADER_BYTES || head.includes(',');
}

function beginning(head: Buffer): string {
  return head.toString('latin1', 0, SCHEME.length).toLowerCase();
}

/** Without white space before it. */
function withoutBlanks(text: Buffer): Buffer {
  const from = text.findIndex((byte) => !BLANKS.includes(byte));
  return from === -1 ? Buffer.alloc(0) : text.subarray(from);
}

async function* following(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.byteLength > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
