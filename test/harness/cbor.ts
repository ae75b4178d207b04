/** The part of CBOR (RFC 8949) that authenticators write. */
export type CborValue = number | string | Uint8Array | readonly CborValue[] | ReadonlyMap<string | number, CborValue>;

const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, list: 4, map: 5 } as const;

export function cbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(MAJOR.negative, -1 - value) : head(MAJOR.unsigned, value);
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([head(MAJOR.text, bytes.byteLength), bytes]);
  }
  if (value instanceof Uint8Array) return Buffer.concat([head(MAJOR.bytes, value.byteLength), value]);
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string | number, CborValue>)];
    return Buffer.concat([head(MAJOR.map, members.length), ...members.flatMap((member) => member.map(cbor))]);
  }
  const items = value as readonly CborValue[];
  return Buffer.concat([head(MAJOR.list, items.length), ...items.map(cbor)]);
}

/** The kind of an item and its value or length, which must be below 65,536. */
function head(major: number, size: number): Buffer {
  if (size < 24) return Buffer.of((major << 5) | size);
  if (size < 256) return Buffer.of((major << 5) | 24, size);
  return Buffer.of((major << 5) | 25, size >> 8, size & 0xff);
}
