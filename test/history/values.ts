import type { Json, JsonObject } from '../../core/json.js';

/** Whether two plain values are equal, whatever the order of members. An undefined member counts as absent. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
    );
  }
  return changedMembers(a, b).length === 0;
}

/** Names of the members in which two objects differ. */
export function changedMembers(a: object, b: object): string[] {
  const [inA, inB] = [new Map<string, unknown>(Object.entries(a)), new Map<string, unknown>(Object.entries(b))];
  const changed: string[] = [];
  for (const [name, value] of inA) if (!same(value, inB.get(name))) changed.push(name);
  for (const [name, value] of inB) if (value !== undefined && !inA.has(name)) changed.push(name);
  return changed;
}

/** The same text for all JSON values that are equal up to the order of members. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

/** Formats any JSON value for a sentence. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}

/** The members of a JSON value; empty for a value that is not an object. */
export function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
