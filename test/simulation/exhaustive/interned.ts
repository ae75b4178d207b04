/** Distinct numbers for texts: the observations of a process so far are one number instead of a growing list. */
export class Interned {
  private readonly numbers = new Map<string, number>();

  numberOf(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size + 1);
    return this.numbers.size;
  }
}
