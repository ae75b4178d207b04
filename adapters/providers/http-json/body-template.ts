import { REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import { escapePointerToken, type Json, type JsonObject } from '../../../core/json.js';
import { MASK_FORMS, type MaskForm } from '../shared/masked-reference.js';

/** The value that replaces a placeholder such as `{prompt}` in the body of a submission. */
export type Placeholder =
  | { readonly kind: 'prompt' | 'negative_prompt' | 'token' }
  | { readonly kind: 'parameter'; readonly name: string }
  /** `hasAlpha`: the API reads the transparency of the file itself. */
  | {
      readonly kind: 'reference';
      readonly role: ReferenceRole;
      readonly index: number | 'all';
      readonly hasAlpha?: true;
    }
  | { readonly kind: 'mask'; readonly role: ReferenceRole; readonly index: number; readonly form: MaskForm }
  | { readonly kind: 'media_type'; readonly role: ReferenceRole; readonly index: number };

/** A value in a body that has no others in it. */
export interface Leaf {
  readonly pointer: string;
  /** The names of the members that lead to it. */
  readonly names: readonly string[];
  readonly value: string | number | boolean | null;
  /** The value of a member `$if`, which is never sent. */
  readonly isCondition: boolean;
  /** Within an object that has a member `$if`. */
  readonly isConditional: boolean;
}

type ValueOf = (placeholder: Placeholder) => unknown;

/**
 * The one reserved name of a member: its object is sent only where the placeholder that it names has a value other than
 * false.
 */
export const CONDITION = '$if';

/** Whether a text is written as a placeholder. */
export function isPlaceholder(text: string): boolean {
  return /^\{[^{}]*\}$/.test(text);
}

/** The value of a placeholder; undefined if there is none. */
export function placeholderOf(text: string): Placeholder | undefined {
  const [, word = '', rest] = /^\{([a-z_]+)(?:\.([^{}]+))?\}$/.exec(text) ?? [];
  if (rest === undefined)
    return word === 'prompt' || word === 'negative_prompt' || word === 'token' ? { kind: word } : undefined;
  if (word === 'parameters') return { kind: 'parameter', name: rest };
  const role = REFERENCE_ROLES.find((one) => one === word);
  if (role === undefined) return undefined;
  if (rest === '*') return { kind: 'reference', role, index: 'all' };
  const [, digits, of] = /^(\d{1,2})(?:\.([a-z_]+))?$/.exec(rest) ?? [];
  if (digits === undefined) return undefined;
  const index = Number(digits);
  if (of === undefined) return { kind: 'reference', role, index };
  if (of === 'media_type') return { kind: 'media_type', role, index };
  if (of === 'with_alpha') return { kind: 'reference', role, index, hasAlpha: true };
  const form = MASK_FORMS.find((one) => of === `${one}_mask`);
  return form === undefined ? undefined : { kind: 'mask', role, index, form };
}

/**
 * How many files with transparent areas a body takes. They come first among the files of their role, so that those from the
 * first one on count of which the body has the mask or the transparency.
 */
export function maskedPlaces(body: Json): number {
  const indexes = new Set(
    placeholdersOf(body).flatMap((one) =>
      one.kind === 'mask' || (one.kind === 'reference' && one.hasAlpha === true) ? [one.index] : [],
    ),
  );
  let places = 0;
  while (indexes.has(places)) places += 1;
  return places;
}

/** Every value of a body, with its place. */
export function leavesOf(body: Json): readonly Leaf[] {
  return leavesBelow(body, { pointer: '', names: [], isCondition: false, isConditional: false });
}

function leavesBelow(body: Json, at: Omit<Leaf, 'value'>): readonly Leaf[] {
  if (typeof body !== 'object' || body === null) return [{ ...at, value: body }];
  if (Array.isArray(body))
    return body.flatMap((item, index) => leavesBelow(item, { ...at, pointer: `${at.pointer}/${index}` }));
  const isConditional = at.isConditional || Object.hasOwn(body, CONDITION);
  return Object.entries(body).flatMap(([name, value]) =>
    leavesBelow(value, {
      pointer: `${at.pointer}/${escapePointerToken(name)}`,
      names: [...at.names, name],
      isCondition: name === CONDITION,
      isConditional,
    }),
  );
}

/** The placeholders whose values a body sends. */
export function placeholdersOf(body: Json): readonly Placeholder[] {
  return leavesOf(body).flatMap(({ value, isCondition }) => {
    const placeholder = typeof value === 'string' && !isCondition ? placeholderOf(value) : undefined;
    return placeholder === undefined ? [] : [placeholder];
  });
}

/**
 * The body with the values of its placeholders, whose types are kept. Left out are:
 * - a member and an item without a value, and an object or a list in which nothing else was;
 * - an object whose `$if` does not hold;
 * - an item of a list, with its constants, whose placeholders have no values, as `isIdleItem` says.
 */
export function filledBody(body: JsonObject, valueOf: ValueOf): unknown {
  return filled(body, valueOf) ?? {};
}

function filled(template: Json, valueOf: ValueOf): unknown {
  if (typeof template === 'string') {
    const placeholder = placeholderOf(template);
    return placeholder === undefined ? template : valueOf(placeholder);
  }
  if (typeof template !== 'object' || template === null) return template;
  if (Array.isArray(template)) return filledList(template, valueOf);
  const { [CONDITION]: condition, ...members } = template;
  if (condition !== undefined && !holds(condition, valueOf)) return undefined;
  const entries = Object.entries(members).map(([name, value]) => [name, filled(value, valueOf)] as const);
  const present = entries.filter(([, value]) => value !== undefined);
  return present.length === 0 && entries.length > 0 ? undefined : Object.fromEntries(present);
}

function filledList(items: readonly Json[], valueOf: ValueOf): unknown {
  const present = items
    .map((item) => (isIdleItem(item, valueOf) ? undefined : filled(item, valueOf)))
    .filter((value) => value !== undefined);
  return present.length === 0 && items.length > 0 ? undefined : present;
}

function holds(condition: Json, valueOf: ValueOf): boolean {
  const placeholder = typeof condition === 'string' ? placeholderOf(condition) : undefined;
  const value = placeholder === undefined ? undefined : valueOf(placeholder);
  return value !== undefined && value !== false;
}

/**
 * Whether an item of a list is about something that the task does not have: it has places for files and none of these
 * files is there, or it has other placeholders only and none of them has a value. An item with a prompt is never idle.
 */
function isIdleItem(item: Json, valueOf: ValueOf): boolean {
  const placeholders = placeholdersOf(item);
  const hasPrompt = placeholders.some((one) => one.kind === 'prompt' && valueOf(one) !== undefined);
  if (placeholders.length === 0 || hasPrompt) return false;
  const files = placeholders.filter(({ kind }) => kind === 'reference' || kind === 'mask');
  return (files.length > 0 ? files : placeholders).every((one) => valueOf(one) === undefined);
}
