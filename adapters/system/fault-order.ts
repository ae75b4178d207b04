import { memberOf, unescapePointerToken } from '../../core/field-path.js';
import type { Json } from '../../core/json.js';

/** A position in a value: the index in each container on the path to it. */
export type Place = readonly number[];

interface Placed {
  readonly value: Json | undefined;
  readonly place: Place;
}

const ROOT: Place = [];

/**
 * The order in which a value has its members: a container before its members, and members as `Object.keys` has them.
 * Only the containers on the path to a requested pointer are examined.
 */
export class DocumentOrder {
  readonly #placed = new Map<string, Placed>();
  readonly #indexes = new Map<object, ReadonlyMap<string, number>>();

  constructor(value: Json) {
    this.#placed.set('', { value, place: ROOT });
  }

  /**
   * The position of a pointer's value, or of a member of it. A missing value has the position of its container; without
   * a container, that of the root.
   */
  placeOf(pointer: string, member?: string): Place {
    const { value, place } = this.#at(pointer);
    if (member === undefined) return place;
    if (value === undefined) return ROOT;
    return memberOf(value, member) === undefined ? place : [...place, this.#indexIn(value, member)];
  }

  #at(pointer: string): Placed {
    let placed = this.#placed.get(pointer);
    if (placed === undefined) {
      const slash = pointer.lastIndexOf('/');
      const container = this.#at(pointer.slice(0, Math.max(0, slash)));
      const name = unescapePointerToken(pointer.slice(slash + 1));
      const value = memberOf(container.value, name);
      if (container.value === undefined) placed = { value, place: ROOT };
      else
        placed = {
          value,
          place: value === undefined ? container.place : [...container.place, this.#indexIn(container.value, name)],
        };
      this.#placed.set(pointer, placed);
    }
    return placed;
  }

  #indexIn(container: Json | undefined, name: string): number {
    if (Array.isArray(container)) return Number(name);
    let indexes = this.#indexes.get(container as object);
    if (indexes === undefined) {
      indexes = new Map(Object.keys(container as object).map((key, index) => [key, index]));
      this.#indexes.set(container as object, indexes);
    }
    return indexes.get(name) ?? 0;
  }
}

/** Negative if `one` comes before `other`. */
export function comparePlaces(one: Place, other: Place): number {
  const depth = Math.min(one.length, other.length);
  for (let level = 0; level < depth; level += 1) {
    const difference = (one[level] as number) - (other[level] as number);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}
