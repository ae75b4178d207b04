import { listedAs, type AnswerError } from './error-meaning.js';
import type { ErrorSettings } from './http-json-settings.js';

/** The code of an error for the log, as the settings list it: any other text could be anything. */
export function listedCode({ code }: AnswerError, { codes }: ErrorSettings): { readonly code?: string } {
  const listed = code === undefined ? undefined : listedAs(code, codes);
  return listed === undefined ? {} : { code: listed };
}

/** A word of an answer for operators: undefined for a text that is not a word, or contains the key. */
export function shownWord(word: string | undefined, credentials: Readonly<Record<string, string>>): string | undefined {
  if (word === undefined || !/^[A-Za-z0-9][A-Za-z0-9 _.:-]{0,49}$/.test(word)) return undefined;
  const keys = Object.values(credentials).flatMap(keysIn);
  return keys.some((key) => key !== '' && (key.includes(word) || word.includes(key))) ? undefined : word;
}

/** The key in a header's value, or the user name and the password. */
function keysIn(value: string): readonly string[] {
  const key = value.slice(value.lastIndexOf(' ') + 1);
  return value.startsWith('Basic ') ? [key, ...Buffer.from(key, 'base64').toString().split(':')] : [key];
}
