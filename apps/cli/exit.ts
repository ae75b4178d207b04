/** What the program's exit code says. */
export const EXIT = {
  ok: 0,
  /** Something on this side or in between failed, or the server did. */
  failure: 1,
  /** The command line, or a file it names, is not right. */
  usage: 2,
  /** The server refused the request. */
  refused: 3,
  /** The generation ended as failed. */
  generationFailed: 4,
  /** The generation was cancelled, or Ctrl-C was pressed. */
  cancelled: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the program with one sentence for the person and a code for the machine. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.failure,
    /** What `--json` shows of it, beside the sentence; `shown` when the command has printed its document already. */
    readonly details: Readonly<Record<string, unknown>> | 'shown' = {},
  ) {
    super(message);
    this.name = 'Failure';
  }
}

export function usageFailure(message: string): Failure {
  return new Failure(message, EXIT.usage);
}
