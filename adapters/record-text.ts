/** The field `dueAt` of a record has another name in the stored text. */
interface StoredText {
  readonly attentionAt?: number;
  readonly dueAt?: number;
}

const LAST_FIELD = ',"attentionAt":';

/**
 * A record as every release can read it: the text has `attentionAt` for `dueAt`, as in releases before this one. It is
 * the last field, which makes it cheap to read. Every request reads or writes records: both functions work on the text,
 * since a copy of the record with a renamed field costs half as much as its JSON.
 */
export function recordText(record: { readonly dueAt: number }): string {
  const text = JSON.stringify({ ...record, dueAt: undefined });
  return `${text.slice(0, -1)}${LAST_FIELD}${record.dueAt}}`;
}

/** Reads text written by `recordText` of this or another release. */
export function recordFrom<R extends { readonly dueAt: number }>(text: string): R {
  const at = text.lastIndexOf(LAST_FIELD);
  const ending = text.slice(at + LAST_FIELD.length);
  // Only the value of a field of the record itself can be followed by the text's last brace alone.
  if (at > 0 && /^\d+\}$/u.test(ending)) return JSON.parse(`${text.slice(0, at)},"dueAt":${ending}`) as R;
  const { attentionAt, ...record } = JSON.parse(text) as StoredText;
  return { dueAt: attentionAt, ...record } as unknown as R;
}
