import { parseArgs, type ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values'];

/** An error in how a program was called: one sentence for the caller. */
export class Misused extends Error {}

/** The options of this process's command line. Throws `Misused` for unknown ones. */
export function readOptions<const T extends Options>(options: T): Values<T> {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    // The lines after the first are advice for options that begin with a dash.
    throw new Misused((error instanceof Error ? error.message : String(error)).split('\n')[0]);
  }
}

/** An integer of at most nine digits, or undefined when the option was not given. */
export function wholeNumber(name: string, text: string | undefined, least = 1): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,9}$/.test(text) || Number(text) < least)
    throw new Misused(`--${name} must be a whole number from ${least} to 999999999.`);
  return Number(text);
}

/** Runs a program to its exit code. `--help` prints the usage; a wrong call exits with 2, a failing program with 3. */
export async function runProgram(usage: string, program: () => Promise<number>): Promise<void> {
  if (process.argv.includes('--help')) {
    process.stdout.write(usage);
    return;
  }
  try {
    process.exitCode = await program();
  } catch (error) {
    const isMisused = error instanceof Misused;
    process.stderr.write(
      isMisused ? `${error.message}\n` : `${error instanceof Error ? error.stack : String(error)}\n`,
    );
    process.exitCode = isMisused ? 2 : 3;
  }
}
