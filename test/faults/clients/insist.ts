import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../history/history.js';

export interface Insistence {
  readonly mostTries: number;
  readonly betweenMs: number;
  /** Whether to try once more; always when absent. */
  readonly shouldContinue?: () => boolean;
  readonly pause?: (ms: number) => Promise<void>;
}

/** Asks again until it is answered with success; undefined when it was not. `tries` counts those before. */
export async function insist(
  ask: (tries: number) => Promise<Answer | undefined>,
  { mostTries, betweenMs, shouldContinue = () => true, pause = sleep }: Insistence,
): Promise<Answer | undefined> {
  for (let tries = 0; tries < mostTries && shouldContinue(); tries += 1) {
    const answer = await ask(tries);
    if (answer !== undefined && answer.status < 300) return answer;
    await pause(betweenMs);
  }
  return undefined;
}
