import type { ProviderCost, ProviderOutput } from '../../../core/ports/provider.js';
import { isObject } from '../shared/json-members.js';
import { valuesAt } from '../shared/pointer-values.js';
import { dataUrlType, isResultAddress, outputAt, type ResultFiles } from '../shared/result-files.js';
import type { HttpJsonSettings, State } from './http-json-settings.js';
import type { ReadAnswer } from './read-answer.js';
import { STATES } from './settings-schema.js';

const DELIVERED: readonly string[] = ['image/png', 'image/jpeg', 'image/webp', 'video/mp4'];

/**
 * The state in a response; undefined if the settings do not list it. A response without a state has the one that null
 * is listed for, or else the one of false, which many APIs leave out.
 */
export function stateIn(json: unknown, settings: HttpJsonSettings): State | undefined {
  const word = stateWord(json, settings.poll.state);
  if (word !== undefined) return stateListing(settings, (listed) => listed !== null && String(listed) === word);
  const [value] = valuesAt(json, settings.poll.state);
  // Only what could have a state can be without one.
  if (!isObject(json) || !(value === undefined || value === null || value === '')) return undefined;
  return stateListing(settings, (listed) => listed === null) ?? stateListing(settings, (listed) => listed === false);
}

function stateListing(
  { poll: { states } }: HttpJsonSettings,
  matches: (value: string | number | boolean | null) => boolean,
): State | undefined {
  return STATES.find((state) => (states[state] ?? []).some(matches));
}

/** The API's own word for the state, as a text; undefined where there is none. */
export function stateWord(json: unknown, pointer: string): string | undefined {
  const [value] = valuesAt(json, pointer);
  if (value === '') return undefined;
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

/** Whether one of the pointers leads to something: not to null, false, 0, or an empty text, list or object. */
export function isAnythingAt(json: unknown, pointers: readonly string[]): boolean {
  return pointers.flatMap((pointer) => valuesAt(json, pointer)).some(isAnything);
}

function isAnything(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** From 0 to 1; undefined if the response does not contain it. */
export function progressIn(json: unknown, { poll }: HttpJsonSettings): number | undefined {
  const value = poll.progress === undefined ? undefined : numberAt(json, poll.progress);
  return value === undefined ? undefined : Math.min(1, value / poll.progress_maximum);
}

/** The outputs that an answer lists, in order; undefined if one of them is at an address that may not be fetched. */
export function outputsIn(
  { json, files }: ReadAnswer,
  settings: HttpJsonSettings,
  allowed: ResultFiles,
): readonly ProviderOutput[] | undefined {
  const { media_type: declared, as } = settings.output;
  const delivered = (type: string | undefined) =>
    outputOf(type !== undefined && DELIVERED.includes(type) ? type : declared);
  if (as === 'base64') return files.map(delivered);
  return addressesIn(json, settings, allowed)?.map((address) => {
    const type = dataUrlType(address);
    return type === undefined ? outputAt(address, declared) : delivered(type);
  });
}

/** The addresses of the outputs, as `outputsIn` describes them, or data URLs in their places. */
export function addressesIn(
  json: unknown,
  { output }: HttpJsonSettings,
  allowed: ResultFiles,
): readonly string[] | undefined {
  const found = valuesAt(json, output.at).filter((value) => value !== null && value !== '');
  const isOutput = (value: unknown): value is string =>
    isResultAddress(allowed, value) || (typeof value === 'string' && dataUrlType(value) !== undefined);
  return found.every(isOutput) ? found : undefined;
}

const LONGEST_SECONDS = 30 * 24 * 60 * 60;
const MOST_MONEY = 1_000_000;

/** The cost that the answers about a task state; the later of two counts. */
export function costIn(answers: readonly unknown[], { cost }: HttpJsonSettings): { readonly cost?: ProviderCost } {
  const of = (pointer: string | undefined, most: number): number | undefined => {
    if (pointer === undefined) return undefined;
    const value = answers.map((json) => numberAt(json, pointer)).findLast((one) => one !== undefined);
    return value === undefined || value > most ? undefined : value;
  };
  const [seconds, money] = [of(cost.seconds, LONGEST_SECONDS), of(cost.money, MOST_MONEY)];
  const [input, output] = [of(cost.input_tokens, 1e12), of(cost.output_tokens, 1e12)];
  const known: ProviderCost = {
    ...(seconds === undefined ? {} : { computeMs: Math.round(seconds * 1_000) }),
    ...(input === undefined ? {} : { inputTokens: Math.round(input) }),
    ...(output === undefined ? {} : { outputTokens: Math.round(output) }),
    ...(money === undefined || cost.currency === undefined
      ? {}
      : { money: { micros: Math.round(money * 1_000_000), currency: cost.currency } }),
  };
  return Object.keys(known).length === 0 ? {} : { cost: known };
}

/** A number of at least 0, also where it is written as a text. */
function numberAt(json: unknown, pointer: string): number | undefined {
  const [value] = valuesAt(json, pointer);
  const number = typeof value === 'string' && /^\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function outputOf(mediaType: string): ProviderOutput {
  return { kind: mediaType.startsWith('video/') ? 'video' : 'image', mediaType };
}
