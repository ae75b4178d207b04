/** A violated invariant: its number in `docs/correctness.md`, and one sentence. */
export interface Finding {
  readonly invariant: number;
  readonly sentence: string;
}

/** Values that a sentence may contain. */
export type Told = string | number | bigint | boolean | null | undefined;

/** A finding from a text that begins with the number of its invariant, as in `16: the bytes of upload 1 are gone`. */
export function finding(parts: TemplateStringsArray, ...values: readonly Told[]): Finding {
  const text = String.raw({ raw: parts }, ...values);
  const [, invariant, sentence] = /^(\d+): ([^]+)$/u.exec(text) ?? [];
  if (invariant === undefined || sentence === undefined) throw new Error(`This names no invariant: ${text}`);
  return { invariant: Number(invariant), sentence };
}

export function invariantsOf(findings: Iterable<Finding>): number[] {
  return [...findings].map(({ invariant }) => invariant);
}
