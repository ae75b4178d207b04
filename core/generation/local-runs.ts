import type { Generation } from './generation.js';

/** Takes a generation, or answers undefined. Rejects when somebody should be woken for it after all. */
export type TakeHere = (generation: Generation) => Promise<void> | undefined;

/**
 * The worker of this process, where there is one: a generation that it takes at once needs no stored wake-up, as recovery
 * finds those of a process that has died.
 */
export class LocalRuns {
  private takeHere: TakeHere = () => undefined;

  /** From now on, until the function is called that it answers. */
  serve(takeHere: TakeHere): () => void {
    this.takeHere = takeHere;
    return () => {
      this.takeHere = () => undefined;
    };
  }

  take(generation: Generation): Promise<void> | undefined {
    return this.takeHere(generation);
  }
}
