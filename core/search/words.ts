import type { Generation } from '../generation/generation.js';

/** The most different terms of one prompt that are indexed, those of its beginning. */
const MAX_WORDS = 512;
/** The longest indexed word, in UTF-16 code units; of longer ones the beginning is indexed. */
const MAX_WORD_LENGTH = 64;
/** The most words of a query that count, those of its beginning. */
const MAX_TERMS = 32;

/** Runs of letters, marks and digits; a pictograph is a word by itself. */
const WORD = /[\p{L}\p{M}\p{N}]+|\p{Extended_Pictographic}/gu;
/** Runs of scripts that are written without spaces, or of anything else. */
const RUN = new RegExp(`(?<unspaced>[${unspaced()}]+)|[^${unspaced()}]+`, 'gu');

function unspaced(): string {
  const scripts = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
  return scripts.map((script) => `\\p{Script_Extensions=${script}}`).join('');
}

/** A condition on an entry of the index. */
export interface SearchTerm {
  readonly text: string;
  /** Whether the entry may have any term that begins with this text. */
  readonly isPrefix: boolean;
}

/** A generation in the index: the words of its prompt, and what it is filtered by. */
export interface SearchEntry {
  readonly generationId: string;
  readonly accountId: string;
  /** Different ones, at most 600, none empty or with a space. */
  readonly terms: readonly string[];
}

/**
 * The different words of a text, in a form in which compatible characters (NFKC) and upper and lower case are the same.
 * Scripts without spaces are cut into pairs of neighbouring characters, and the last one of a run.
 */
function wordsOf(text: string, most: number): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [word] of folded(text).matchAll(WORD)) {
    for (const run of word.matchAll(RUN)) {
      for (const piece of run.groups?.['unspaced'] === undefined ? [run[0]] : pairsOf(run[0])) {
        if (words.size === most) return words;
        words.add(shortened(piece));
      }
    }
  }
  return words;
}

/** Folds case through upper case, which makes ß ss, and replaces the final sigma. */
function folded(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC').replaceAll('ς', 'σ');
}

function pairsOf(run: string): readonly string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ''));
}

/** Never ends with half a character. */
function shortened(word: string): string {
  return word.slice(0, MAX_WORD_LENGTH).replace(/\p{Surrogate}$/u, '');
}

/**
 * The terms of a query, which match entries that have each of its words, whole or as a prefix. Empty for a query without letters,
 * digits and pictographs.
 */
export function termsOf(query: string): readonly SearchTerm[] {
  const terms = [...wordsOf(query, MAX_TERMS)].map((text) => ({ text, isPrefix: !isPair(text) }));
  // The last character of a run is in the pair before it, and elsewhere perhaps not the last one.
  const pairs = terms.filter(({ isPrefix }) => !isPrefix);
  return terms.filter(({ text }) => !pairs.some((pair) => pair.text !== text && pair.text.endsWith(text)));
}

function isPair(text: string): boolean {
  const [run] = text.matchAll(RUN);
  return run?.groups?.['unspaced'] !== undefined && [...text].length === 2;
}

/** A field by which an entry can be found exactly. Words have neither capitals nor colons. */
const FACETS = { appId: 'A', modelKey: 'M', credentialId: 'C', modality: 'K', clientTraceId: 'T' } as const;
export type Facet = keyof typeof FACETS;

/** The term of a field with this value. */
export function facetTerm(facet: Facet, value: string): SearchTerm {
  return { text: `${FACETS[facet]}:${value.replaceAll(/[\s%]/gu, encodeURIComponent)}`, isPrefix: false };
}

/** The entry of a generation whose content is stored. */
export function entryOf(g: Generation): SearchEntry {
  const facets = (Object.keys(FACETS) as Facet[]).flatMap((facet) => {
    const value = g[facet];
    return value === undefined ? [] : [facetTerm(facet, value).text];
  });
  return {
    generationId: g.generationId,
    accountId: g.accountId,
    terms: [...facets, ...wordsOf(g.prompt, MAX_WORDS)],
  };
}

/** Whether terms of an entry include all of these. */
export function matchesTerms(terms: readonly string[], wanted: readonly SearchTerm[]): boolean {
  return wanted.every(({ text, isPrefix }) => terms.some((term) => (isPrefix ? term.startsWith(text) : term === text)));
}
