import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';

/** Why a message in bytes is not decoded. */
export type BytesFault = 'too many fields' | 'malformed' | 'a member named __proto__';

/** A field of a message, by its number. */
interface FieldShape {
  readonly wireType: WireType;
  /** Whether many values may be written as one field. */
  readonly isPackable: boolean;
  /** The message in it. */
  readonly inner?: () => Shape;
  readonly isMapKey: boolean;
}

interface Shape {
  readonly fields: ReadonlyMap<number, FieldShape>;
  /** Whether it is an entry of a map, in which the decoder takes what it does not know for something else. */
  readonly isEntry: boolean;
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
  return new FieldCount(bytes, most).look(shapeOf(message));
}

class FieldCount {
  private at = 0;
  private fault: BytesFault | undefined;

  constructor(
    private readonly bytes: Uint8Array,
    private left: number,
  ) {}

  look(shape: Shape): BytesFault | undefined {
    this.add(shape, this.bytes.byteLength);
    return this.fault;
  }

  /** Counts the message from here to `end`, which is where it stops unless there is a fault. */
  private add({ fields, isEntry }: Shape, end: number): void {
    let groups = 0;
    while (this.at < end && this.fault === undefined) {
      const tag = this.varint();
      this.count(1);
      const wireType = (tag & 7) as WireType;
      // In a group that the message does not know its fields mean nothing.
      const known = groups === 0 ? fields.get(tag >>> 3) : undefined;
      if (known !== undefined) this.addKnown(known, wireType, end);
      else if (isEntry || wireType > WireType.Bit32) this.fail('malformed');
      else if (wireType === WireType.StartGroup) groups += 1;
      else if (wireType === WireType.EndGroup) groups -= 1;
      else this.skip(wireType);
      if (groups < 0 || this.at > end) this.fail('malformed');
    }
    if (groups > 0) this.fail('malformed');
  }

  private addKnown(
    { wireType: expected, isPackable, inner, isMapKey }: FieldShape,
    wireType: WireType,
    end: number,
  ): void {
    const isPacked = isPackable && wireType === WireType.LengthDelimited;
    if (wireType !== expected && !isPacked) return this.fail('malformed');
    if (wireType !== WireType.LengthDelimited) return this.skip(wireType);
    const next = this.varint() + this.at;
    if (next > end) return this.fail('malformed');
    if (inner !== undefined) return this.add(inner(), next);
    if (isMapKey && DROPPED.equals(this.bytes.subarray(this.at, next))) this.fail('a member named __proto__');
    if (isPacked) this.addPacked(expected, next);
    this.at = next;
  }

  private addPacked(wireType: WireType, end: number): void {
    while (this.at < end && this.fault === undefined) {
      this.count(1);
      this.skip(wireType);
    }
    if (this.at > end) this.fail('malformed');
  }

  private skip(wireType: WireType): void {
    if (wireType === WireType.Varint) this.varint();
    else if (wireType === WireType.Bit64) this.at += 8;
    else if (wireType === WireType.Bit32) this.at += 4;
    // Read first: it moves `at`.
    else this.at = this.varint() + this.at;
  }

  private count(fields: number): void {
    this.left -= fields;
    if (this.left < 0) this.fail('too many fields');
  }

  private fail(fault: BytesFault): void {
    this.fault ??= fault;
  }

  /** The low 32 bits. */
  private varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.at];
      if (byte === undefined) break;
      this.at += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    this.fail('malformed');
    return 0;
  }
}

function shapeOf(message: DescMessage): Shape {
  let shape = SHAPES.get(message);
  if (shape === undefined)
    SHAPES.set(
      message,
      (shape = { isEntry: false, fields: new Map(message.fields.map((field) => [field.number, fieldShape(field)])) }),
    );
  return shape;
}

function fieldShape(field: DescField): FieldShape {
  const { message } = field;
  const isPackable =
    field.fieldKind === 'list' && message === undefined && wireTypeOf(field) !== WireType.LengthDelimited;
  if (field.fieldKind === 'map') {
    const key: FieldShape = { wireType: wireTypeOfScalar(field.mapKey), isPackable: false, isMapKey: true };
    const value: FieldShape = {
      wireType: wireTypeOf(field),
      isPackable: false,
      isMapKey: false,
      ...(message === undefined ? {} : { inner: () => shapeOf(message) }),
    };
    const entry: Shape = {
      isEntry: true,
      fields: new Map([
        [1, key],
        [2, value],
      ]),
    };
    return { wireType: WireType.LengthDelimited, isPackable: false, isMapKey: false, inner: () => entry };
  }
  return {
    wireType: wireTypeOf(field),
    isPackable,
    isMapKey: false,
    ...(message === undefined ? {} : { inner: () => shapeOf(message) }),
  };
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
