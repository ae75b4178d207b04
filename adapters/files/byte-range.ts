/** The range that a Range header requests: the whole object, a part (`to` exclusive), or a part that does not exist. */
export type Ranged =
  | { readonly kind: 'all' | 'unsatisfiable' }
  | { readonly kind: 'part'; readonly from: number; readonly to: number };

/** Reads one range of bytes (RFC 9110). Several ranges, other units and nonsense are ignored, as a server may. */
export function readRange(header: string | undefined, byteSize: number): Ranged {
  const match = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '');
  const [first, last] = [match?.[1] ?? '', match?.[2] ?? ''];
  if (first === '' && last === '') return { kind: 'all' };
  if (first === '') {
    const from = Math.max(0, byteSize - Number(last));
    return from < byteSize ? { kind: 'part', from, to: byteSize } : { kind: 'unsatisfiable' };
  }
  if (last !== '' && Number(last) < Number(first)) return { kind: 'all' };
  if (Number(first) >= byteSize) return { kind: 'unsatisfiable' };
  return { kind: 'part', from: Number(first), to: last === '' ? byteSize : Math.min(Number(last) + 1, byteSize) };
}
