const REMEMBERED = 1000;

/** How often each generation was submitted to this process; the generations tried longest ago are forgotten. */
export class AttemptCounter {
  readonly #counts = new Map<string, number>();

  next(generationId: string): number {
    const count = (this.#counts.get(generationId) ?? 0) + 1;
    this.#counts.delete(generationId);
    this.#counts.set(generationId, count);
    if (this.#counts.size > REMEMBERED) this.#counts.delete(this.#counts.keys().next().value!);
    return count;
  }
}
