/** A violated invariant: its number in `docs/correctness.md`, and one sentence. */
export interface Finding {
  readonly invariant: number;
  readonly sentence: string;
}

export function invariantsOf(findings: Iterable<Finding>): number[] {
  return [...findings].map(({ invariant }) => invariant);
}
