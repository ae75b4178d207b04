/** Throws `CallOver` if the call is over, and the reason of a signal that is aborted. */
export function throwIfAborted(call: Cancellation | AbortSignalLike | undefined): void {
  if (call === undefined) return;
  if ('isOver' in call) {
    if (call.isOver) throw new CallOver();
  } else if (call.aborted) throw call.reason instanceof Error ? call.reason : new Error('The call was aborted.');
}

/** Whether the caller still waits for the work that is done for it. The caller may cancel, or set a deadline. */
export interface Cancellation {
  /** Milliseconds since the epoch, by this machine's clock; `Infinity` without a deadline. */
  readonly deadline: number;
  /** Whether the caller has cancelled or the deadline has passed. */
  readonly isOver: boolean;
  /** Calls back once, when the call is over, unless the returned function is called first. */
  onOver(tell: () => void): () => void;
}

/** The waiting caller, reduced to whether its call is over. */
export type Waits = Pick<Cancellation, 'isOver' | 'onOver'>;

/** Thrown when a call is over before its work has written anything. There is no effect, and no answer is needed. */
export class CallOver extends Error {
  constructor() {
    super('The caller no longer waits for the answer.');
    this.name = 'CallOver';
  }
}

/** The part of the platform's `AbortSignal` that core uses. A real `AbortSignal` is one. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  /** Why it was aborted; undefined while it is not. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Creates a signal and aborts it, as `AbortController` does where the platform has one. */
export class AbortSource implements AbortSignalLike {
  private readonly listeners = new Set<() => void>();
  private why: Error | undefined;

  /** For those who may not abort it. */
  get signal(): AbortSignalLike {
    return this;
  }

  get aborted(): boolean {
    return this.why !== undefined;
  }

  get reason(): unknown {
    return this.why;
  }

  /** Each listener is called once at most, so `once` changes nothing. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener);
  }

  /** Aborting again does nothing. */
  abort(reason: Error): void {
    if (this.aborted) return;
    this.why = reason;
    const listeners = [...this.listeners];
    this.listeners.clear();
    for (const listener of listeners) callSafely(listener);
  }
}

/** A listener that throws must not keep the others from being called. */
function callSafely(listener: () => void): void {
  try {
    listener();
  } catch {
    // A bug of the listener: the caller of `abort` cannot handle it.
  }
}
