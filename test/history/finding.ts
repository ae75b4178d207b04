/** An invariant that does not hold: its number in `docs/correctness.md`, and one sentence. */
export interface Finding {
  readonly invariant: number;
  readonly sentence: string;
}
