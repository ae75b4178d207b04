import { fieldInvalid } from '../fields.js';
import type { Json, JsonObject } from '../json.js';

/** Each reads as a place rather than a value: a URL, a path, a host, a bucket. */
const PLACES: readonly RegExp[] = [
  /:\/\//,
  /^(?:[a-z][a-z0-9+.-]*):(?=[^0-9\s])/i,
  /^[/\\~]|^\.{1,2}(?:[/\\]|$)|[/\\]\.{2}(?:[/\\]|$)|^[a-z]:[/\\]/i,
  /^(?:[a-z0-9-]+\.)+[a-z]{2,}(?::[0-9]+)?(?:[/?#].*)?$/i,
  /^localhost(?::[0-9]+)?(?:[/?#].*)?$/i,
  /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]+)?(?:[/?#].*)?$/,
  /^\[[0-9a-f:.]+\](?::[0-9]+)?/i,
];

/**
 * Refuses model parameters that name a place. A model's schema decides what it takes; this stands behind a schema that
 * takes free text, so that no parameter can steer a provider, a store or a request of ours.
 */
export function refusePlaces(parameters: JsonObject, pointer: string): void {
  for (const [name, value] of Object.entries(parameters)) refusePlace(value, `${pointer}/${name}`);
}

function refusePlace(value: Json, pointer: string): void {
  if (typeof value === 'string') {
    if (PLACES.some((place) => place.test(value.trim()))) throw fieldInvalid(pointer, `${pointer.slice(1)} must not be a URL, host, path or bucket.`);
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => refusePlace(item, `${pointer}/${index}`));
  } else if (value !== null && typeof value === 'object') {
    refusePlaces(value, pointer);
  }
}
