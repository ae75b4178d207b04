import type { FieldRule, FieldRules } from './request-fields.js';

/** Words of names under which servers read a place of theirs, an address to fetch, files to load, or options of any kind. */
const PLACES =
  /(?:^|_)(?:[a-z0-9]*(?:path|url|uri)|file(?:name)?|dir|folder|host(?:name)?|device|kwarg|override|lora|checkpoint|ckpt|weight|embedding|safetensor|repo|tar|webhook|callback)s?(?:_|$)/;
const EXTRAS = /^extra(?:_|$)/;
/** Reserved for the field itself: files that are loaded, and keys. */
const LOADED_AND_KEYS =
  /(?:^|_)(?:model|token|secret|password|credential|authorization|(?:api|access|private)_?key)s?(?:_|$)/;
/** Reserved for the field itself: a file that is not sent is an address there. */
const MEDIA = /(?:^|_)(?:image|img|mask|video|audio|reference|frame|picture|photo)s?$/;

const OF_OPERATOR = 'users must not write into a field for places, addresses, files, keys or options.';

/** Whether the name of a field says that only the operator may choose its text. `names` lead to it, the outermost first. */
export function isOfOperator(...names: readonly string[]): boolean {
  const words = names.map(wordsOf);
  const own = words.at(-1) ?? '';
  return words.some((word) => PLACES.test(word) || EXTRAS.test(word)) || LOADED_AND_KEYS.test(own) || MEDIA.test(own);
}

/** Whether a rule lets users write a text of their own. */
export function isFreeText(rule: FieldRule | undefined): boolean {
  return rule?.type === 'string' && rule.enum === undefined;
}

/** The first rule with which users would write what only the operator may, as one sentence; `at` names the place of the rules. */
export function operatorFieldsFault(rules: FieldRules, at = 'fields'): string | undefined {
  const [field] = Object.entries(rules).find(([name, rule]) => isFreeText(rule) && isOfOperator(name)) ?? [];
  return field === undefined ? undefined : `${at}.${field} needs an enum, values or a value: ${OF_OPERATOR}`;
}

/** Why a setting must not name this field for a prompt, as one sentence. */
export function promptFieldFault(setting: string, field: string | undefined): string | undefined {
  return field !== undefined && isOfOperator(field) ? `${setting} must not be ${field}: ${OF_OPERATOR}` : undefined;
}

/** The words of a name in lower case with underscores between them, however it is written. */
function wordsOf(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '')
    .toLowerCase();
}
