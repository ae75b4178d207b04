// Goal: the stream of a server is read as the protocol defines it, and other bytes are refused, never misread.
// Method: messages that are built from the protocol's description: complete, truncated at every byte, and changed.
import { expect } from 'chai';
import { PgoutputReader, standbyStatus } from '../../../adapters/postgres/pgoutput.js';
import { Snapshot } from '../../../adapters/postgres/postgres-generation-changes.js';

type Part = number | bigint | string | Buffer;

/** Encodes a text of one character as a byte, another text with a final zero byte, and a bigint as 8 bytes. */
function bytes(...parts: readonly Part[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'number') return Buffer.from([part]);
      if (typeof part === 'string') return part.length === 1 ? Buffer.from(part) : Buffer.from(`${part}\0`);
      if (Buffer.isBuffer(part)) return part;
      const wide = Buffer.alloc(8);
      wide.writeBigUInt64BE(part);
      return wide;
    }),
  );
}

function uint16(value: number): Buffer {
  const two = Buffer.alloc(2);
  two.writeUInt16BE(value);
  return two;
}

function uint32(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32BE(value);
  return four;
}

/** The letter w, the start of the data, the end of the log, the server's clock, and a message of the plugin. */
const data = (...parts: readonly Part[]): Buffer => bytes('w', 7n, 7n, 0n, ...parts);

const column = (name: string): Buffer => bytes(1, name, uint32(25), uint32(0xffff_ffff));
const TABLE = data('R', uint32(77), 'darkroom', 'generations', 'd', uint16(2), column('id'), column('doc'));
const text = (value: string): Buffer => bytes('t', uint32(Buffer.byteLength(value)), Buffer.from(value));

function reader(): PgoutputReader {
  const ready = new PgoutputReader(['id', 'doc']);
  ready.read(TABLE);
  return ready;
}

const MESSAGES: Readonly<Record<string, { readonly message: Buffer; readonly read: unknown }>> = {
  'a keepalive': {
    message: bytes('k', 0x1234_5678_9an, 5n, 1),
    read: { kind: 'keepalive', position: 0x1234_5678_9an, mustReply: true },
  },
  'a begin': {
    message: data('B', 5n, 6n, uint32(4_000_000_000)),
    read: { kind: 'begin', transaction: 4_000_000_000 },
  },
  'a commit': { message: data('C', 0, 5n, 9n, 6n), read: { kind: 'commit', position: 9n } },
  'an insert': {
    message: data('I', uint32(77), 'N', uint16(2), text('one'), text('§ 𝄞')),
    read: { kind: 'row', row: { id: 'one', doc: '§ 𝄞' } },
  },
  'an update': {
    message: data('U', uint32(77), 'N', uint16(2), text('one'), text('')),
    read: { kind: 'row', row: { id: 'one', doc: '' } },
  },
  'an update of the key': {
    message: data('U', uint32(77), 'K', uint16(2), text('old'), 'n', 'N', uint16(2), text('new'), 'n'),
    read: { kind: 'row', row: { id: 'new', doc: null } },
  },
  'an update that leaves a large value as it was': {
    message: data('U', uint32(77), 'N', uint16(2), text('one'), 'u'),
    read: { kind: 'row', row: { id: 'one' } },
  },
};

describe('The replication protocol of PostgreSQL', () => {
  for (const [name, { message, read }] of Object.entries(MESSAGES)) {
    it(`reads ${name}`, () => {
      expect(reader().read(message)).to.deep.equal(read);
    });

    it(`refuses ${name} that ends early`, () => {
      // The last fields of a commit and of a begin are not read, so these messages are truncated in the fields that are.
      const needed = name === 'a commit' ? message.length - 8 : message.length;
      for (let length = 0; length < needed; length += 1)
        expect(() => reader().read(message.subarray(0, length)), `${length} bytes`).to.throw();
    });
  }

  it('reads rows by the columns that were described last', () => {
    const stream = reader();
    stream.read(data('R', uint32(78), 'darkroom', 'generations', 'd', uint16(2), column('doc'), column('id')));
    expect(stream.read(data('I', uint32(78), 'N', uint16(2), text('a'), text('b')))).to.deep.equal({
      kind: 'row',
      row: { doc: 'a', id: 'b' },
    });
    expect(() => stream.read(data('I', uint32(77), 'N', uint16(2), text('a'), text('b')))).to.throw('not described');
  });

  it('refuses a table without the columns, and rows of another width', () => {
    const lacking = data('R', uint32(77), 'darkroom', 'generations', 'd', uint16(1), column('id'));
    expect(() => reader().read(lacking)).to.throw('lacks the columns doc');
    expect(() => reader().read(data('I', uint32(77), 'N', uint16(1), text('a')))).to.throw('1 columns');
  });

  it('refuses messages, rows and columns of unknown kinds', () => {
    expect(() => reader().read(bytes('x', 0n, 0n, 0n))).to.throw('Unknown replication message');
    expect(() => reader().read(data('S', uint32(1), 1))).to.throw('Unknown pgoutput message');
    expect(() => reader().read(data('I', uint32(77), 'X', uint16(2), 'n', 'n'))).to.throw('kind of row');
    expect(() => reader().read(data('I', uint32(77), 'N', uint16(2), 'b', 'n'))).to.throw('kind of column');
  });

  it('reports a position in the form that the server expects', () => {
    const status = standbyStatus(0x1_0000_0002n, Date.UTC(2000, 0, 1) + 3);
    const position = bytes(0x1_0000_0002n);
    expect(status).to.deep.equal(bytes('d', uint32(38), 'r', position, position, position, 3_000n, 1));
  });
});

describe('A snapshot of PostgreSQL', () => {
  it('knows the transactions that had ended', () => {
    const snapshot = new Snapshot('100:105:100,103');
    const ended = [99, 100, 101, 102, 103, 104, 105, 106].filter((id) => snapshot.hasEnded(id));
    expect(ended).to.deep.equal([99, 101, 102, 104]);
    expect([9, 10, 11].filter((id) => new Snapshot('10:10:').hasEnded(id))).to.deep.equal([9]);
  });

  it('knows them after the transaction ids wrap around', () => {
    // 3 × 2³² lies between the two bounds.
    const snapshot = new Snapshot(`${3 * 2 ** 32 - 2}:${3 * 2 ** 32 + 2}:${3 * 2 ** 32 - 2},${3 * 2 ** 32 + 1}`);
    const ids = [2 ** 32 - 3, 2 ** 32 - 2, 2 ** 32 - 1, 0, 1, 2, 3];
    expect(ids.filter((id) => snapshot.hasEnded(id))).to.deep.equal([2 ** 32 - 3, 2 ** 32 - 1, 0]);
  });
});
