import type { DescField, DescMessage } from '@bufbuild/protobuf';

/** The messages that a message may hold, by the number of their field. */
type Shape = ReadonlyMap<number, () => Shape>;

const NONE: Shape = new Map();
const SHAPES = new WeakMap<DescMessage, Shape>();

/**
 * Whether a message in bytes holds more fields than `most`, those of messages in it included. To decode a field takes many times
 * as long as to count it: nothing is decoded, and the count ends at `most`. What is malformed is left for the decoder to refuse.
 */
export function holdsMoreFields(message: DescMessage, bytes: Uint8Array, most: number): boolean {
  return new FieldCount(bytes, most).add(shapeOf(message), 0, bytes.byteLength) < 0;
}

class FieldCount {
  private at = 0;

  constructor(private readonly bytes: Uint8Array, private left: number) {}

  /** Counts the message from `start` to `end`; answers how many fields there may still be, below zero when there are too many. */
  add(shape: Shape, start: number, end: number): number {
    this.at = start;
    while (this.at < end && this.left >= 0) {
      const tag = this.varint();
      this.left -= 1;
      const [field, wireType] = [tag >>> 3, tag & 7];
      if (wireType === 0) this.varint();
      else if (wireType === 1) this.at += 8;
      else if (wireType === 5) this.at += 4;
      else if (wireType === 2) this.addDelimited(shape.get(field)?.(), end);
      // A group has its fields between two tags, and they count as the message's own.
      else if (wireType > 4) break;
    }
    return this.left;
  }

  private addDelimited(inner: Shape | undefined, end: number): void {
    const length = this.varint();
    const next = this.at + length;
    if (inner !== undefined) this.add(inner, this.at, Math.min(next, end));
    this.at = next;
  }

  /** The low 32 bits. */
  private varint(): number {
    let value = 0;
    for (let shift = 0; this.at < this.bytes.byteLength; shift += 7) {
      const byte = this.bytes[this.at] as number;
      this.at += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value >>> 0;
  }
}

function shapeOf(message: DescMessage): Shape {
  let shape = SHAPES.get(message);
  if (shape === undefined) {
    shape = new Map(message.fields.flatMap((field) => {
      const inner = innerShape(field);
      return inner === undefined ? [] : [[field.number, inner] as const];
    }));
    SHAPES.set(message, shape);
  }
  return shape;
}

/** An entry of a map is a message on the wire, with its value in the second field. */
function innerShape(field: DescField): (() => Shape) | undefined {
  const { message } = field;
  if (field.fieldKind === 'map') return message === undefined ? () => NONE : () => new Map([[2, () => shapeOf(message)]]);
  return message === undefined ? undefined : () => shapeOf(message);
}

const BYTE_SIZES = new WeakMap<object, number>();

/** Remembers how long a request was on the wire. */
export function withByteSize<Request extends object>(request: Request, byteSize: number): Request {
  BYTE_SIZES.set(request, byteSize);
  return request;
}

/** How long a request was on the wire; 0 when nothing of it was read. */
export function byteSizeOf(request: object): number {
  return BYTE_SIZES.get(request) ?? 0;
}
