/** The offsets of a message's length, its id, the id of the message that it answers, and its kind. */
const LENGTH_AT = 0;
const NUMBER_AT = 4;
const ANSWERED_AT = 8;
const KIND_AT = 12;
const HEADER_BYTES = 16;
/** The kind of every command of today's drivers, but for the first of a connection. */
const OP_MSG = 2_013;
/** After the header: flags, the kind of the first section, the length of its document and the type of its first field. */
const NAME_AT = HEADER_BYTES + 4 + 1 + 4 + 1;
/** The type of a field that is text; before the text comes its length. */
const TEXT = 2;
const LENGTH_BYTES = 4;

/** A message of MongoDB's protocol, whole. */
export interface MongoMessage {
  readonly bytes: Buffer;
  readonly number: number;
  readonly answered: number;
}

/** Puts messages together from the pieces in which a connection brings them. */
export class MongoMessages {
  private pieces: Buffer[] = [];
  private byteSize = 0;

  /** The messages that are complete with this piece. */
  take(piece: Buffer): MongoMessage[] {
    this.pieces.push(piece);
    this.byteSize += piece.byteLength;
    const messages: MongoMessage[] = [];
    for (let bytes = this.next(); bytes !== undefined; bytes = this.next()) {
      messages.push({ bytes, number: bytes.readInt32LE(NUMBER_AT), answered: bytes.readInt32LE(ANSWERED_AT) });
    }
    return messages;
  }

  private next(): Buffer | undefined {
    if (this.byteSize < HEADER_BYTES) return undefined;
    if ((this.pieces[0]?.byteLength ?? 0) < HEADER_BYTES) this.pieces = [Buffer.concat(this.pieces)];
    const length = (this.pieces[0] as Buffer).readInt32LE(LENGTH_AT);
    if (length < HEADER_BYTES) throw new Error('This is no message of MongoDB.');
    if (this.byteSize < length) return undefined;
    const all = this.pieces.length === 1 ? (this.pieces[0] as Buffer) : Buffer.concat(this.pieces);
    this.pieces = all.byteLength === length ? [] : [all.subarray(length)];
    this.byteSize -= length;
    return all.subarray(0, length);
  }
}

export interface Command {
  readonly name: string;
  /** Undefined for a command on several collections, or on none. */
  readonly collection?: string;
}

/** The command that a message carries: its first field has its name, and mostly a collection for its value. */
export function commandOf({ bytes }: MongoMessage): Command | undefined {
  if (bytes.readInt32LE(KIND_AT) !== OP_MSG) return undefined;
  const end = bytes.indexOf(0, NAME_AT);
  if (end < 0) return undefined;
  const name = bytes.toString('latin1', NAME_AT, end);
  if (bytes[NAME_AT - 1] !== TEXT) return { name };
  const textAt = end + 1 + LENGTH_BYTES;
  return { name, collection: bytes.toString('latin1', textAt, bytes.indexOf(0, textAt)) };
}
