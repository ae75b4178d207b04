import { SingleBar } from 'cli-progress';
import { printable } from '../../logging/logged-fields.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';

/** Shows the user how far the command is. Steps are what has really happened, not a guess at the time left. */
export interface Progress {
  /** One step is done; `what` is what happens now. */
  step(what: string): void;
  /** Prints a message while the step continues. */
  note(what: string): void;
  /** One step is done, and what is said about it stays to be read. */
  keep(what: string): void;
  end(): void;
}

const CLEAR_LINE = '\u001b[2K';
const SAVE_CURSOR = '\u001b7';

/** A bar on a terminal, lines when piped, nothing when the output is for a machine. All on stderr. */
export function openProgress(io: CliIo, steps: number, options: { readonly json?: boolean }): Progress {
  if (options.json)
    return { step: () => undefined, note: () => undefined, keep: () => undefined, end: () => undefined };
  const progress = io.stderr.isTTY ? barProgress(io, steps) : lineProgress(io);
  return {
    step: (what) => progress.step(printable(what)),
    note: (what) => progress.note(printable(what)),
    keep: (what) => progress.keep(printable(what)),
    end: () => progress.end(),
  };
}

function lineProgress(io: CliIo): Progress {
  let last = '';
  const line = (what: string) => {
    if (what !== last) say(io, what);
    last = what;
  };
  return { step: line, note: line, keep: line, end: () => undefined };
}

function barProgress({ stderr }: CliIo, steps: number): Progress {
  const bar = new SingleBar({
    stream: stderr,
    format: '{bar} {what}, {duration_formatted}',
    barsize: 20,
    hideCursor: true,
    clearOnComplete: true,
    fps: 5,
    gracefulExit: false,
  });
  let done = 0;
  bar.start(steps, 0, { what: 'starting' });
  const step = (what: string) => {
    done = Math.min(steps, done + 1);
    bar.update(done, { what });
  };
  return {
    step,
    keep: (what) => {
      // Replaces the line of the bar, which is drawn again on the next one, and clears no other line at its end.
      stderr.write(`\r${CLEAR_LINE}${what}\n${SAVE_CURSOR}`);
      step(what);
    },
    note: (what) => bar.update(done, { what }),
    end: () => bar.stop(),
  };
}
