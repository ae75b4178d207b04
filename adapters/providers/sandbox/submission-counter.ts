const REMEMBERED = 1000;

/** How often each token was submitted to this process; the tokens submitted longest ago are forgotten. */
export class SubmissionCounter {
  readonly #counts = new Map<string, number>();

  next(token: string): number {
    const count = (this.#counts.get(token) ?? 0) + 1;
    this.#counts.delete(token);
    this.#counts.set(token, count);
    if (this.#counts.size > REMEMBERED) this.#counts.delete(this.#counts.keys().next().value!);
    return count;
  }
}
