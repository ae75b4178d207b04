import { createInterface } from 'node:readline';
import { EXIT, Failure, sentenceOf } from './exit.js';
import type { CliIo } from './io.js';

/** Questions to the person at a terminal, one line each. */
export type Questions = NonNullable<ReturnType<typeof questionsTo>>;

/** Undefined where nobody can answer. */
export function questionsTo({ stdin, stderr }: CliIo) {
  if (!stdin.isTTY) return undefined;
  const reader = createInterface({ input: stdin });
  // Lines that are typed ahead, or pasted, wait for their questions.
  const lines = reader[Symbol.asyncIterator]();
  const questions = {
    /** Text above a question, as it is. */
    tell: (text: string) => stderr.write(`${text}\n`),
    /** The answer without blanks around it; the default where it is empty. Throws a `Failure` at the end of the input. */
    async ask(question: string, byDefault?: string): Promise<string> {
      stderr.write(byDefault === undefined ? `${question}: ` : `${question} (${byDefault}): `);
      const { value, done } = await lines.next();
      if (done) {
        stderr.write('\n');
        throw new Failure('Nothing was written.', EXIT.cancelled);
      }
      return value.trim() || (byDefault ?? '');
    },
    /** Asks until `read` accepts the answer: a usage failure of `read` is shown, and the question comes again. */
    async askUntil<T>(question: string, read: (answer: string) => T | Promise<T>, byDefault?: string): Promise<T> {
      for (;;) {
        const answer = await questions.ask(question, byDefault);
        try {
          return await read(answer);
        } catch (error) {
          if (!(error instanceof Failure) || error.exitCode !== EXIT.usage) throw error;
          questions.tell(sentenceOf(error));
        }
      }
    },
    close: () => reader.close(),
  };
  return questions;
}
