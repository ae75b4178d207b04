import { EXIT, Failure } from '../exit.js';
import type { Signals } from '../../service/stop-request.js';

/**
 * Ctrl-C while something runs on the server: the first one asks for an orderly end, through `signal`; the second one
 * ends the waiting immediately, through `leaving`.
 */
export class Interruption {
  /** The last sentence of a command that a second Ctrl-C ends, made when it comes. None when absent. */
  lastSentence: (() => string) | undefined;
  private readonly asked = new AbortController();
  private readonly left = new AbortController();
  private readonly onSignal = () => {
    if (this.asked.signal.aborted) this.left.abort(this.departure());
    else this.asked.abort(new Interrupted());
  };

  constructor(private readonly signals: Signals) {
    signals.on('SIGINT', this.onSignal);
  }

  get signal(): AbortSignal {
    return this.asked.signal;
  }

  /** Its reason is the failure that the command ends with. */
  get leaving(): AbortSignal {
    return this.left.signal;
  }

  /** Gives Ctrl-C its usual meaning back. */
  release(): void {
    this.signals.off('SIGINT', this.onSignal);
  }

  private departure(): Failure {
    const sentence = this.lastSentence?.();
    return new Failure(`Interrupted. ${sentence ?? ''}`, EXIT.cancelled, 'shown', undefined, sentence === undefined);
  }
}

/** Ctrl-C was pressed before there was anything to cancel. */
export class Interrupted extends Error {}
