/** The exit codes of the program. */
export const EXIT = {
  ok: 0,
  /** Something on this side or in between failed, or the server did; or a configuration or catalog file is faulty. */
  failure: 1,
  /** The command line is wrong: an invalid value, or an id or a reference file that does not exist. */
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
    /** Fields for `--json`, in addition to the sentence; `shown` if the command has already printed its document. */
    readonly details: Readonly<Record<string, unknown>> | 'shown' = {},
    /** The cause, for DARKROOM_DEBUG=1. */
    cause?: unknown,
    /** Whether the sentence was already written to standard error. */
    readonly isTold = false,
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'Failure';
  }
}

/** The first line of an error's message. */
export function sentenceOf(error: unknown): string {
  const sentence = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
  return sentence || 'Something went wrong.';
}

export function usageFailure(message: string): Failure {
  return new Failure(message, EXIT.usage);
}

/** The same failure with a second sentence that explains how to continue. */
export function withMore(error: unknown, more: string, about: Readonly<Record<string, unknown>> = {}): Failure {
  const { exitCode, details } = error instanceof Failure ? error : { exitCode: EXIT.failure, details: {} };
  const sentence = sentenceOf(error);
  const end = /[.!?]$/.test(sentence) ? '' : '.';
  const cause = error instanceof Failure ? error.cause : error;
  return new Failure(
    `${sentence}${end} ${more}`,
    exitCode,
    { ...(details === 'shown' ? {} : details), ...about },
    cause,
  );
}
