import type { Clock } from '../../ports/clock.js';

/** The longest a clock can be asked to wait at once. */
const MAX_WAIT_MS = 2 ** 31 - 1;

export class TimedOut extends Error {
  constructor(limitMs: number) {
    super(`No answer within ${limitMs} ms.`);
    this.name = 'TimedOut';
  }
}

/** The promise's outcome, or `TimedOut` after `limitMs`. The work itself goes on; its late outcome is dropped. */
export function withTimeout<T>(clock: Clock, limitMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(Math.min(limitMs, MAX_WAIT_MS), () => reject(new TimedOut(limitMs)));
    work.then(
      (value) => { cancel(); resolve(value); },
      (error: unknown) => { cancel(); reject(error instanceof Error ? error : new Error(String(error))); },
    );
  });
}

/** A sleep that somebody can end early. A nudge while nobody sleeps ends the next sleep at once. */
export class NudgeableSleep {
  private nudged = false;
  private finish: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  nudge(): void {
    this.nudged = true;
    this.finish?.();
  }

  async sleep(durationMs: number): Promise<void> {
    if (!this.nudged) {
      await new Promise<void>((resolve) => {
        const cancel = this.clock.after(Math.min(durationMs, MAX_WAIT_MS), resolve);
        this.finish = () => { cancel(); resolve(); };
      });
    }
    this.finish = undefined;
    this.nudged = false;
  }
}
