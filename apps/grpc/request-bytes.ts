import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Why a message in bytes is not decoded. */
export type BytesFault = 'too many fields' | 'malformed' | 'a member named __proto__';

/** A field of a message, by its number. */
interface FieldShape {
  readonly wireType: WireType;
  /** Whether many values may be written as one field. */
  readonly isPackable?: boolean;
  /** The message in it. */
  readonly inner?: (() => Shape) | undefined;
  readonly isMapKey?: true;
}

interface Shape {
  readonly fields: ReadonlyMap<number, FieldShape>;
  /** Whether it is an entry of a map, in which the decoder takes what it does not know for something else. */
  readonly isEntry?: true;
}

const SHAPES = new WeakMap<DescMessage, Shape>();
/** The library would drop a member of this name without a word. */
const DROPPED = Buffer.from('__proto__');

/**
 * Looks for what makes a message in bytes not worth decoding: more fields than `most`, those of messages in it and each
 * of many values written as one included. To decode a field takes many times as long as to count it: nothing is
 * decoded, and the count ends at `most`. The decoder believes its schema, not the wire type in the bytes. So what is of
 * another type than in the schema, or goes beyond the message it is in, is malformed: otherwise the count and the
 * decoder would go different ways.
 */
export function bytesFault(message: DescMessage, bytes: Uint8Array, most: number): BytesFault | undefined {
  try {
    new FieldCount(bytes, most).add(shapeOf(message), bytes.byteLength);
    return undefined;
  } catch (error) {
    // The reader throws errors of its own for bytes that it cannot read.
    return error instanceof FaultFound ? error.fault : 'malformed';
  }
}

class FaultFound extends Error {
  constructor(readonly fault: BytesFault) {
    super(fault);
  }
}

class FieldCount {
  private readonly reader: BinaryReader;

  constructor(
    private readonly bytes: Uint8Array,
    private left: number,
  ) {
    this.reader = new BinaryReader(bytes);
  }

  /** Counts the message from here to `end`, which is where it stops. Throws for a fault. */
  add({ fields, isEntry }: Shape, end: number): void {
    let groups = 0;
    while (this.reader.pos < end) {
      const [number, wireType] = this.reader.tag();
      this.count();
      // In a group that the message does not know its fields mean nothing.
      const known = groups === 0 ? fields.get(number) : undefined;
      if (known !== undefined) this.addKnown(known, wireType, end);
      else if (isEntry) throw new FaultFound('malformed');
      else if (wireType === WireType.StartGroup) groups += 1;
      else if (wireType === WireType.EndGroup) groups -= 1;
      else this.skip(wireType);
      if (groups < 0 || this.reader.pos > end) throw new FaultFound('malformed');
    }
    if (groups > 0) throw new FaultFound('malformed');
  }

  private addKnown({ wireType: expected, isPackable, inner, isMapKey }: FieldShape, wireType: WireType, end: number) {
    const isPacked = isPackable === true && wireType === WireType.LengthDelimited;
    if (wireType !== expected && !isPacked) throw new FaultFound('malformed');
    if (wireType !== WireType.LengthDelimited) return this.skip(wireType);
    const next = this.reader.uint32() + this.reader.pos;
    if (next > end) throw new FaultFound('malformed');
    if (inner !== undefined) return this.add(inner(), next);
    if (isMapKey && DROPPED.equals(this.bytes.subarray(this.reader.pos, next)))
      throw new FaultFound('a member named __proto__');
    if (!isPacked) this.reader.pos = next;
    for (; this.reader.pos < next; this.count()) this.skip(expected);
    if (this.reader.pos > next) throw new FaultFound('malformed');
  }

  /** The reader itself skips a varint of any length; the decoder takes ten bytes at most. */
  private skip(wireType: WireType): void {
    if (wireType === WireType.Varint) this.reader.uint32();
    else this.reader.skip(wireType);
  }

  private count(): void {
    this.left -= 1;
    if (this.left < 0) throw new FaultFound('too many fields');
  }
}

function shapeOf(message: DescMessage): Shape {
  let shape = SHAPES.get(message);
  if (shape === undefined)
    SHAPES.set(
      message,
      (shape = { fields: new Map(message.fields.map((field) => [field.number, fieldShape(field)])) }),
    );
  return shape;
}

function fieldShape(field: DescField): FieldShape {
  const { message } = field;
  const wireType = wireTypeOf(field);
  const inner = message && (() => shapeOf(message));
  if (field.fieldKind !== 'map')
    return { wireType, inner, isPackable: field.fieldKind === 'list' && wireType !== WireType.LengthDelimited };
  const entry: Shape = {
    isEntry: true,
    fields: new Map<number, FieldShape>([
      [1, { wireType: wireTypeOfScalar(field.mapKey), isMapKey: true }],
      [2, { wireType, inner }],
    ]),
  };
  return { wireType: WireType.LengthDelimited, inner: () => entry };
}

/** The wire type of each value of a repeated field. */
function wireTypeOf({ message, scalar }: DescField): WireType {
  if (message !== undefined) return WireType.LengthDelimited;
  return scalar === undefined ? WireType.Varint : wireTypeOfScalar(scalar);
}

/** All others are varints. */
const WIRE_TYPES: Readonly<Partial<Record<ScalarType, WireType>>> = {
  [ScalarType.STRING]: WireType.LengthDelimited,
  [ScalarType.BYTES]: WireType.LengthDelimited,
  [ScalarType.DOUBLE]: WireType.Bit64,
  [ScalarType.FIXED64]: WireType.Bit64,
  [ScalarType.SFIXED64]: WireType.Bit64,
  [ScalarType.FLOAT]: WireType.Bit32,
  [ScalarType.FIXED32]: WireType.Bit32,
  [ScalarType.SFIXED32]: WireType.Bit32,
};

function wireTypeOfScalar(scalar: ScalarType): WireType {
  return WIRE_TYPES[scalar] ?? WireType.Varint;
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
