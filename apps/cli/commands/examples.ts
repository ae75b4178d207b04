/** An id as it looks, for help texts. */
export const EXAMPLE_ID = '0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02';

/** The text below a command's help: notes, and command lines to copy. */
export function examples(commandLines: readonly string[], about?: string): string {
  const title = commandLines.length === 1 ? 'Example:' : 'Examples:';
  return ['', ...(about === undefined ? [] : [about, '']), title, ...commandLines.map((line) => `  $ ${line}`)].join(
    '\n',
  );
}
