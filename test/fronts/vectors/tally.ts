import type { FrontName } from './fronts.js';
import type { Reason } from './left-out.js';

/** One vector that was played to its end on one lane, over one front, or left out with a reason. */
export interface Noted {
  readonly lane: string;
  readonly front: FrontName;
  readonly topic: string;
  readonly reason: Reason | undefined;
}

const noted: Noted[] = [];

export function noteDown(vector: Noted): void {
  noted.push(vector);
}

/** All that was noted down in this process. */
export function tally(): readonly Noted[] {
  return noted;
}
