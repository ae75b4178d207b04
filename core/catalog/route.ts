import type { Model, RouteEntry } from './model.js';

/**
 * The providers of a model in the order in which one generation tries them: it begins at one that its id draws by weight
 * and goes on with the others in the catalog's order. The same id gives the same order everywhere.
 */
export function routeOf({ route }: Pick<Model, 'route'>, generationId: string): readonly RouteEntry[] {
  const first = drawn(route, generationId);
  return first === undefined ? route : [first, ...route.filter((entry) => entry !== first)];
}

function drawn(route: readonly RouteEntry[], generationId: string): RouteEntry | undefined {
  const total = route.reduce((sum, { weight }) => sum + weight, 0);
  let left = total === 0 ? 0 : hashOf(generationId) % total;
  for (const entry of route) {
    if (left < entry.weight) return entry;
    left -= entry.weight;
  }
  return undefined;
}

/** FNV-1a with a final mix: ids that differ in one digit begin at unrelated places. An integer of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
