import { EXIT } from '../exit.js';

/**
 * Ctrl-C while something runs on the server: the first one asks for an orderly end, through `signal`; a second one leaves
 * at once.
 */
export class Interruption {
  /** Puts the terminal in order, and says what is left behind, right before a second Ctrl-C ends the program. */
  onLeave: () => void = () => undefined;
  private readonly controller = new AbortController();
  private readonly onSignal = () => {
    if (this.controller.signal.aborted) {
      this.onLeave();
      process.exit(EXIT.cancelled);
    }
    this.controller.abort(new Interrupted());
  };

  constructor() {
    process.on('SIGINT', this.onSignal);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Gives Ctrl-C its usual meaning back. */
  release(): void {
    process.off('SIGINT', this.onSignal);
  }
}

/** Ctrl-C was pressed before there was anything to cancel. */
export class Interrupted extends Error {}
