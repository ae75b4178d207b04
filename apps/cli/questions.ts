import { createInterface } from 'node:readline';
import { EXIT, Failure } from './exit.js';
import type { CliIo } from './io.js';

/** Questions to the person at a terminal, one line each. */
export type Questions = NonNullable<ReturnType<typeof questionsTo>>;

/** Undefined where nobody can answer. */
export function questionsTo({ stdin, stderr }: CliIo) {
  if (!stdin.isTTY) return undefined;
  const reader = createInterface({ input: stdin });
  // Lines that are typed ahead, or pasted, wait for their questions.
  const lines = reader[Symbol.asyncIterator]();
  return {
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
    close: () => reader.close(),
  };
}
