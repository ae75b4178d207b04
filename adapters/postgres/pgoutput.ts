/** A row that was inserted or updated: its columns as text. A large value that an update left as it was is absent. */
export type ReplicatedRow = Readonly<Partial<Record<string, string | null>>>;

export type ReplicationMessage =
  /** The server has sent everything up to here; `mustReply` asks for a status at once. */
  | { readonly kind: 'keepalive'; readonly position: bigint; readonly mustReply: boolean }
  /** A committed transaction begins, by the low 32 bits of its id. */
  | { readonly kind: 'begin'; readonly transaction: number }
  | { readonly kind: 'row'; readonly row: ReplicatedRow }
  | { readonly kind: 'commit'; readonly position: bigint }
  | { readonly kind: 'other' };

/** Microseconds from 1970 to 2000, where the clock of this protocol begins. */
const EPOCH_MS = Date.UTC(2000, 0, 1);

/**
 * Reads a logical replication stream of one table: the messages of the streaming replication protocol, and in them those
 * of the output plugin pgoutput, version 1.
 */
export class PgoutputReader {
  private table: { readonly id: number; readonly columns: readonly string[] } | undefined;

  /** Rows have at least these columns, or the stream is refused. */
  constructor(private readonly columns: readonly string[]) {}

  /** Throws if the message is malformed, or its row comes from another table than the one that was described last. */
  read(message: Buffer): ReplicationMessage {
    const bytes = new Bytes(message);
    const kind = bytes.letter();
    if (kind === 'k') {
      const position = bytes.uint64();
      bytes.skip(8);
      return { kind: 'keepalive', position, mustReply: bytes.uint8() === 1 };
    }
    if (kind !== 'w') throw new Error(`Unknown replication message ${JSON.stringify(kind)}.`);
    bytes.skip(24);
    return this.readChange(bytes);
  }

  private readChange(bytes: Bytes): ReplicationMessage {
    const kind = bytes.letter();
    switch (kind) {
      case 'B':
        bytes.skip(16);
        return { kind: 'begin', transaction: bytes.uint32() };
      case 'C':
        bytes.skip(9);
        return { kind: 'commit', position: bytes.uint64() };
      case 'R':
        this.table = this.readTable(bytes);
        return { kind: 'other' };
      case 'I':
      case 'U':
        return { kind: 'row', row: this.readRow(bytes) };
      // Origins and types say nothing of a row; removals and emptied tables are not published.
      case 'O':
      case 'Y':
      case 'D':
      case 'T':
        return { kind: 'other' };
      default:
        throw new Error(`Unknown pgoutput message ${JSON.stringify(kind)}.`);
    }
  }

  private readTable(bytes: Bytes): { readonly id: number; readonly columns: readonly string[] } {
    const id = bytes.uint32();
    bytes.text();
    const name = bytes.text();
    bytes.skip(1);
    const columns = Array.from({ length: bytes.uint16() }, () => {
      bytes.skip(1);
      const column = bytes.text();
      bytes.skip(8);
      return column;
    });
    const missing = this.columns.filter((column) => !columns.includes(column));
    if (missing.length > 0) throw new Error(`The publication of ${name} lacks the columns ${missing.join(', ')}.`);
    return { id, columns };
  }

  private readRow(bytes: Bytes): ReplicatedRow {
    const { table } = this;
    if (bytes.uint32() !== table?.id) throw new Error('A row of a table that was not described.');
    // An update may begin with the row's former key, or with the former row.
    for (;;) {
      const kind = bytes.letter();
      const row = readColumns(bytes, table.columns);
      if (kind === 'N') return row;
      if (kind !== 'K' && kind !== 'O') throw new Error(`Unknown kind of row ${JSON.stringify(kind)}.`);
    }
  }
}

function readColumns(bytes: Bytes, columns: readonly string[]): ReplicatedRow {
  const count = bytes.uint16();
  if (count !== columns.length) throw new Error(`A row of ${count} columns in a table of ${columns.length}.`);
  const row: Record<string, string | null> = {};
  for (const column of columns) {
    const kind = bytes.letter();
    if (kind === 't') row[column] = bytes.take(bytes.uint32()).toString('utf8');
    else if (kind === 'n') row[column] = null;
    else if (kind !== 'u') throw new Error(`Unknown kind of column ${JSON.stringify(kind)}.`);
  }
  return row;
}

/** Reads from a buffer, never past its end. */
class Bytes {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  /** The next bytes, in the same memory. */
  take(length: number): Buffer {
    const end = this.at + length;
    if (end > this.buffer.length) throw new RangeError('A replication message ends early.');
    const taken = this.buffer.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  skip(length: number): void {
    this.take(length);
  }

  letter(): string {
    return String.fromCharCode(this.uint8());
  }

  uint8(): number {
    return this.take(1).readUInt8();
  }

  uint16(): number {
    return this.take(2).readUInt16BE();
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  uint64(): bigint {
    return this.take(8).readBigUInt64BE();
  }

  /** Up to the next zero byte. */
  text(): string {
    const end = this.buffer.indexOf(0, this.at);
    if (end < 0) throw new RangeError('A replication message ends early.');
    const text = this.take(end - this.at).toString('utf8');
    this.skip(1);
    return text;
  }
}

/**
 * The bytes by which a client says that it has everything up to the position, so that the server may drop its log up to
 * there. The server answers at once.
 */
export function standbyStatus(position: bigint, nowMs: number): Buffer {
  const status = Buffer.alloc(39);
  status.write('d');
  status.writeUInt32BE(38, 1);
  status.write('r', 5);
  // Written, flushed and applied.
  for (const at of [6, 14, 22]) status.writeBigUInt64BE(position, at);
  status.writeBigInt64BE(BigInt(nowMs - EPOCH_MS) * 1_000n, 30);
  status.writeUInt8(1, 38);
  return status;
}
