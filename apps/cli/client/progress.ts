import { SingleBar } from 'cli-progress';
import { say } from '../terminal.js';

/** Tells somebody who waits how far it is. Steps are what has really happened, not a guess at the time left. */
export interface Progress {
  /** One step is done; `what` is what happens now. */
  step(what: string): void;
  /** The step goes on, but there is something to say. */
  note(what: string): void;
  end(): void;
}

/** A bar on a terminal, lines when piped, nothing when the output is for a machine. All on stderr. */
export function openProgress(steps: number, options: { readonly json?: boolean }): Progress {
  if (options.json) return { step: () => undefined, note: () => undefined, end: () => undefined };
  return process.stderr.isTTY ? barProgress(steps) : lineProgress();
}

function lineProgress(): Progress {
  let last = '';
  const line = (what: string) => {
    if (what !== last) say(what);
    last = what;
  };
  return { step: line, note: line, end: () => undefined };
}

function barProgress(steps: number): Progress {
  const bar = new SingleBar({
    format: '{bar} {what}, {duration_formatted}', barsize: 20, hideCursor: true, clearOnComplete: true, fps: 5, gracefulExit: false,
  });
  let done = 0;
  bar.start(steps, 0, { what: 'starting' });
  return {
    step: (what) => {
      done = Math.min(steps, done + 1);
      bar.update(done, { what });
    },
    note: (what) => { bar.update(done, { what }); },
    end: () => { bar.stop(); },
  };
}
