/** The field `dueAt` of a record has another name in the stored text. */
interface StoredText {
  readonly attentionAt?: number;
  readonly dueAt?: number;
}

/** A record as every release can read it: the text has `attentionAt` for `dueAt`, as in releases before this one. */
export function recordText({ dueAt, ...record }: { readonly dueAt: number }): string {
  return JSON.stringify({ ...record, attentionAt: dueAt });
}

/** What `recordText` wrote, in this release or another one. */
export function recordFrom<R extends { readonly dueAt: number }>(text: string): R {
  const { attentionAt, ...record } = JSON.parse(text) as StoredText;
  return { dueAt: attentionAt, ...record } as unknown as R;
}
