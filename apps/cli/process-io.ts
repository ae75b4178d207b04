import { homedir } from 'node:os';
import { calledAs } from './called-as.js';
import { EXIT } from './exit.js';
import type { CliIo } from './io.js';

/** The input and output of this process for the run that it was started for. */
export function processIo(): CliIo {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    // Opened only by commands that read it.
    get stdin() {
      return process.stdin;
    },
    environment: process.env,
    folder: process.cwd(),
    command: calledAs(process.env, process.argv[1] ?? '', process.cwd()),
    homeFolder: homedir(),
    signals: process,
    leaveBehind: (afterMs) => {
      setTimeout(leave, afterMs).unref();
    },
  };
}

/** A reader that has read enough closes the pipe, which is not a failure. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT.ok);
      throw error;
    });
  }
}

/** Exits with `process.exitCode` once both outputs are written. */
function leave(): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}
