/**
 * One possible mistake of a developer in core, as a change of its compiled text. It is not in any source or build: a
 * hook of the module loader applies it, and only in the processes that `npm run test:mutants` starts.
 */
export interface Mutant {
  /** Kebab-case and unique. */
  readonly name: string;
  /** The invariants of `docs/correctness.md` that it should break. */
  readonly breaks: readonly number[];
  /** The compiled file below `dist/`, for example `core/credits/decide.js`. */
  readonly file: string;
  /**
   * A text that occurs exactly once in the file. Line breaks, indentation and the comma at the end of a list are
   * ignored.
   */
  readonly find: string;
  readonly replace: string;
  /** One sentence: the mistake. */
  readonly why: string;
  /** The seed at which it was last found, as `npm run test:mutants -- --record` wrote it down. */
  readonly seed?: number;
}

/** The first line of a mutant in a table: name, invariants, file and seed. */
export const MUTANT_LINE = /^([a-z-]+): ([\d ]+), ([^\s,]+)(?:, seed (\d+))?$/gmu;

/**
 * The mutants of a table. Each has its first line, why, the text to find behind minus signs and its replacement behind
 * plus signs; lines of one sign are one text. An empty line separates two mutants.
 */
export function mutantsIn(table: string): Mutant[] {
  return table
    .trim()
    .split('\n\n')
    .map((entry) => {
      const [, why = '', ...change] = entry.split('\n');
      const [[, name = '', breaks = '', file = '', seed] = []] = entry.matchAll(MUTANT_LINE);
      const behind = (sign: string) =>
        change.flatMap((line) => (line.startsWith(sign) ? [line.slice(2)] : [])).join(' ');
      return {
        name,
        breaks: breaks.split(' ').map(Number),
        file,
        find: behind('-'),
        replace: behind('+'),
        why,
        ...(seed === undefined ? {} : { seed: Number(seed) }),
      };
    });
}

/** The file's text with the mutant in it. Throws, with the mutant's name, unless `find` occurs in it exactly once. */
export function mutated(source: string, { name, file, find, replace }: Mutant): string {
  const places = [...source.matchAll(new RegExp(pattern(find), 'gu'))];
  const [place] = places;
  if (!place || places.length > 1) {
    throw new Error(`Mutant ${name}: its text must stand once in ${file}; it stands there ${places.length} times.`);
  }
  return source.slice(0, place.index) + replace + source.slice(place.index + place[0].length);
}

/** A formatter may break a line at any punctuation, and end a list with a comma: neither affects the match. */
function pattern(text: string): string {
  const tokens = [...text.matchAll(/[\w$]+|[^\w$\s]/gu)];
  return tokens.map(([token], at) => between(text, tokens[at - 1], tokens[at]) + escaped(token)).join('');
}

function between(text: string, before: RegExpExecArray | undefined, after: RegExpExecArray | undefined): string {
  if (!before || !after) return '';
  if (/[)\]}]/u.test(after[0]) && before[0] !== ',') return ',?\\s*';
  const areWords = /[\w$]/u.test(before[0]) && /[\w$]/u.test(after[0]);
  return areWords && /\s/u.test(text.slice(before.index, after.index)) ? '\\s+' : '\\s*';
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
}
