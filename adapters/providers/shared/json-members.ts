import type { ProviderCost } from '../../../core/ports/provider.js';

/** A JSON object of a server, whose members may be anything. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own member of that name of a JSON value; undefined where it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

const LONGEST_SECONDS = 30 * 24 * 60 * 60;

/** The seconds of machine time in `metrics` of an answer; undefined unless it is a time within a month. */
export function metricsCost(answer: unknown, name: string): { readonly cost?: ProviderCost } {
  const seconds = memberOf(memberOf(answer, 'metrics'), name);
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= LONGEST_SECONDS)) return {};
  return { cost: { computeMs: Math.round(seconds * 1_000) } };
}
