import type { ReferenceRole } from '../../../core/generation/generation.js';
import { escapePointerToken, type Json, type JsonObject } from '../../../core/json.js';

/** What a text such as `{prompt}` in the body of a submission stands for. */
export type Placeholder =
  | { readonly kind: 'prompt' | 'negative_prompt' | 'token' }
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'reference'; readonly role: ReferenceRole; readonly index: number | 'all' };

/** A value in a body that has no others in it. */
export interface Leaf {
  readonly pointer: string;
  /** The names of the members that lead to it. */
  readonly names: readonly string[];
  readonly value: string | number | boolean | null;
}

const ROLES: readonly ReferenceRole[] = ['reference_image', 'start_frame', 'end_frame'];

/** Whether a text is written as a placeholder. */
export function isPlaceholder(text: string): boolean {
  return /^\{[^{}]*\}$/.test(text);
}

/** What a placeholder stands for; undefined where that is nothing. */
export function placeholderOf(text: string): Placeholder | undefined {
  const [, word = '', rest] = /^\{([a-z_]+)(?:\.([^{}]+))?\}$/.exec(text) ?? [];
  if (rest === undefined)
    return word === 'prompt' || word === 'negative_prompt' || word === 'token' ? { kind: word } : undefined;
  if (word === 'parameters') return { kind: 'parameter', name: rest };
  const role = ROLES.find((one) => one === word);
  if (role === undefined) return undefined;
  if (rest === '*') return { kind: 'reference', role, index: 'all' };
  return /^\d{1,2}$/.test(rest) ? { kind: 'reference', role, index: Number(rest) } : undefined;
}

/** Every value of a body, with its place. */
export function leavesOf(body: Json, pointer = '', names: readonly string[] = []): readonly Leaf[] {
  if (typeof body !== 'object' || body === null) return [{ pointer, names, value: body }];
  if (Array.isArray(body)) return body.flatMap((item, index) => leavesOf(item, `${pointer}/${index}`, names));
  return Object.entries(body).flatMap(([name, value]) =>
    leavesOf(value, `${pointer}/${escapePointerToken(name)}`, [...names, name]),
  );
}

/** The placeholders of a body. */
export function placeholdersOf(body: JsonObject): readonly Placeholder[] {
  return leavesOf(body).flatMap(({ value }) => {
    const placeholder = typeof value === 'string' ? placeholderOf(value) : undefined;
    return placeholder === undefined ? [] : [placeholder];
  });
}

/**
 * The body with the values of its placeholders, whose types are kept. A member and an item without a value are left out,
 * and so is an object or a list in which nothing else was.
 */
export function filledBody(body: JsonObject, valueOf: (placeholder: Placeholder) => unknown): unknown {
  return filled(body, valueOf) ?? {};
}

function filled(template: Json, valueOf: (placeholder: Placeholder) => unknown): unknown {
  if (typeof template === 'string') {
    const placeholder = placeholderOf(template);
    return placeholder === undefined ? template : valueOf(placeholder);
  }
  if (typeof template !== 'object' || template === null) return template;
  const isList = Array.isArray(template);
  const entries = Object.entries(template).map(([name, value]) => [name, filled(value, valueOf)] as const);
  const present = entries.filter(([, value]) => value !== undefined);
  if (present.length === 0 && entries.length > 0) return undefined;
  return isList ? present.map(([, value]) => value) : Object.fromEntries(present);
}
