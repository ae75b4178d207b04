import type { ServerResponse } from 'node:http';
import { Repetition } from '../../../core/repetition.js';
import type { Exchange } from './exchange.js';

const LOOK_EVERY_MS = 1_000;

/**
 * Ends a stream that a client listens to when its credential is no longer valid, and when this process is to stop. There
 * is nothing to be told on it, but clients may listen, and the library would hold it open.
 */
export class StreamWatch {
  private readonly repetition: Repetition;

  constructor({ context, waits, requireAllowed }: Exchange, res: ServerResponse) {
    this.repetition = new Repetition(context.clock, LOOK_EVERY_MS, async () => {
      if (!waits.isOver && (await isAllowed(requireAllowed))) return;
      res.end();
    });
  }

  stop(): Promise<void> {
    return this.repetition.stop();
  }
}

function isAllowed(requireAllowed: () => Promise<void>): Promise<boolean> {
  return requireAllowed().then(
    () => true,
    () => false,
  );
}
