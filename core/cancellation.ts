/** The call that something is done for. Whoever made it may give it up, or has said until when an answer is of use to them. */
export interface Cancellation {
  /** When an answer is of no use any more, in milliseconds since the epoch by the clock of this machine; `Infinity` without a deadline. */
  readonly deadline: number;
  /** Whether nobody waits any more. */
  readonly isOver: boolean;
  /** Calls back once, when nobody waits any more, unless the returned function is called before. */
  onOver(tell: () => void): () => void;
}

/** Thrown where a call is over before its work has begun to write: nothing happened, and nobody is there to be told. */
export class CallOver extends Error {
  constructor() {
    super('Nobody waits for the answer any more.');
    this.name = 'CallOver';
  }
}

/** Throws `CallOver` when nobody waits any more. */
export function requireWanted(call: Cancellation | undefined): void {
  if (call?.isOver === true) throw new CallOver();
}
