import type { Json, JsonObject } from '../../core/json.js';

/** Deeper than any request or schema we take, and shallow enough for every recursive walk. */
const MAX_DEPTH = 128;

/** Thrown by `copyJson` for a value nested too deep to be walked safely. */
export class NestedTooDeep extends Error {
  constructor() {
    super(`the value must not be nested deeper than ${MAX_DEPTH} levels.`);
    this.name = 'NestedTooDeep';
  }
}

/**
 * Above so many members an object is filled without a prototype, which takes half as long: no shape is made for each
 * member added.
 */
const MANY_MEMBERS = 100;

/** A deep copy. An own member called `__proto__` stays an ordinary member and never becomes a prototype. */
export function copyJson(value: Json, depth = 0): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) throw new NestedTooDeep();
  if (Array.isArray(value)) return value.map((item) => copyJson(item, depth + 1));
  const names = Object.keys(value);
  const isBare = names.length > MANY_MEMBERS || Object.hasOwn(value, '__proto__');
  const copy = (isBare ? Object.create(null) : {}) as JsonObject;
  for (const name of names) copy[name] = copyJson(value[name] as Json, depth + 1);
  return isBare ? (Object.setPrototypeOf(copy, Object.prototype) as JsonObject) : copy;
}
