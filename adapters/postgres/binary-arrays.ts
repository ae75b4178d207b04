import { isUuid } from '../rows/row-mapping.js';

type Value = string | number | boolean | null;

/** How PostgreSQL takes the elements of an array of a type: the number of the type, their size, and their bytes. */
interface Elements {
  readonly oid: number;
  readonly sizeOf: (value: never) => number;
  readonly write: (into: Buffer, at: number, value: never, size: number) => void;
}

const ELEMENTS = {
  text: {
    oid: 25,
    sizeOf: (value: string) => Buffer.byteLength(value),
    write: (into: Buffer, at: number, value: string) => into.write(value, at),
  },
  uuid: {
    oid: 2950,
    sizeOf(value: string) {
      if (!isUuid(value)) throw new RangeError('an id is a UUID');
      return 16;
    },
    write(into: Buffer, at: number, value: string) {
      for (let place = 0, byte = at; place < value.length; place += 2, byte += 1) {
        if (value[place] === '-') place += 1;
        into[byte] = 16 * digitAt(value, place) + digitAt(value, place + 1);
      }
    },
  },
  int8: {
    oid: 20,
    sizeOf(value: number) {
      if (!Number.isSafeInteger(value)) throw new RangeError('an amount, a version or a time is a safe integer');
      return 8;
    },
    write(into: Buffer, at: number, value: number) {
      const upper = Math.floor(value / 2 ** 32);
      into.writeInt32BE(upper, at);
      into.writeUInt32BE(value - upper * 2 ** 32, at + 4);
    },
  },
  /** Given in hexadecimal. */
  bytea: {
    oid: 17,
    sizeOf: (value: string) => value.length / 2,
    write: (into: Buffer, at: number, value: string) => into.write(value, at, 'hex'),
  },
  bool: {
    oid: 16,
    sizeOf: () => 1,
    write: (into: Buffer, at: number, value: boolean) => into.writeUInt8(value ? 1 : 0, at),
  },
} as const satisfies Record<string, Elements>;

/** The value of a hexadecimal digit in lower case. */
function digitAt(text: string, place: number): number {
  const code = text.charCodeAt(place);
  return code < 0x3a ? code - 0x30 : code - 0x57;
}

export type ElementType = keyof typeof ELEMENTS;

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;

/**
 * An array in PostgreSQL's binary format. In the text format, both sides would spend most of the time of a large statement on
 * escaping and unescaping the quotes of its records. Throws a RangeError for an id that is not a UUID, and for a number that is
 * not a safe integer.
 */
export function binaryArray(type: ElementType, values: readonly Value[]): Buffer {
  const { oid, sizeOf, write } = ELEMENTS[type] as Elements;
  const sizes = values.map((value) => (value === null ? NULL_LENGTH : sizeOf(value as never)));
  const bytes = sizes.reduce((sum, size) => sum + LENGTH_BYTES + Math.max(0, size), HEADER_BYTES);
  const array = Buffer.allocUnsafe(bytes);
  // Its dimensions, whether it has nulls, the type, the number of its elements and the number of the first one.
  for (const [index, number] of [1, sizes.includes(NULL_LENGTH) ? 1 : 0, oid, values.length, 1].entries())
    array.writeInt32BE(number, index * LENGTH_BYTES);
  let at = HEADER_BYTES;
  for (const [index, size] of sizes.entries()) {
    array.writeInt32BE(size, at);
    at += LENGTH_BYTES;
    if (size === NULL_LENGTH) continue;
    write(array, at, values[index] as never, size);
    at += size;
  }
  return array;
}
