/** Of the call that work is done for. The caller may cancel, or set a deadline. */
export interface Cancellation {
  /** Milliseconds since the epoch, by this machine's clock; `Infinity` without a deadline. */
  readonly deadline: number;
  /** Whether the caller has cancelled or the deadline has passed. */
  readonly isOver: boolean;
  /** Calls back once, when the call is over, unless the returned function is called first. */
  onOver(tell: () => void): () => void;
}

/** Thrown when a call is over before its work has written anything. There is no effect, and no answer is needed. */
export class CallOver extends Error {
  constructor() {
    super('The caller no longer waits for the answer.');
    this.name = 'CallOver';
  }
}

/** Throws `CallOver` when the call is over. */
export function requireWanted(call: Cancellation | undefined): void {
  if (call?.isOver === true) throw new CallOver();
}
