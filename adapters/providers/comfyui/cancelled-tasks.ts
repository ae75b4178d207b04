/**
 * The tasks that this process has asked a server to stop, the newest few thousand. One that waited is forgotten by the
 * server at once, and then reads like one that was never there.
 */
export class CancelledTasks {
  readonly #references = new Set<string>();

  add(reference: string): void {
    this.#references.delete(reference);
    this.#references.add(reference);
    if (this.#references.size > MOST)
      for (const oldest of this.#references) return void this.#references.delete(oldest);
  }

  has(reference: string): boolean {
    return this.#references.has(reference);
  }
}

const MOST = 5_000;
