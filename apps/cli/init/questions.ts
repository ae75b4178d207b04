import { createInterface } from 'node:readline';
import { EXIT, Failure } from '../exit.js';
import type { CliIo } from '../io.js';

/** Questions to the person at a terminal, one line each. */
export interface Questions {
  /** Text above a question, as it is. */
  tell(text: string): void;
  /** The answer without blanks around it; the default where it is empty. Throws a `Failure` at the end of the input. */
  ask(question: string, byDefault?: string): Promise<string>;
  close(): void;
}

/** Undefined where nobody can answer. */
export function questionsTo({ stdin, stderr }: CliIo): Questions | undefined {
  if (!stdin.isTTY) return undefined;
  const reader = createInterface({ input: stdin });
  // Lines that are typed ahead, or pasted, wait for their questions.
  const lines = reader[Symbol.asyncIterator]();
  return {
    tell: (text) => {
      stderr.write(`${text}\n`);
    },
    async ask(question, byDefault) {
      stderr.write(byDefault === undefined ? `${question}: ` : `${question} (${byDefault}): `);
      const { value, done } = await lines.next();
      if (done) {
        stderr.write('\n');
        throw new Failure('Nothing was written.', EXIT.cancelled);
      }
      return value.trim() || (byDefault ?? '');
    },
    close: () => {
      reader.close();
    },
  };
}
