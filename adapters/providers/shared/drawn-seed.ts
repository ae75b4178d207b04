import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../../core/json.js';
import { AjvJsonSchemas } from '../../system/ajv-json-schemas.js';
import { isObject } from './json-members.js';

/**
 * If neither the schema nor a target says more, these hold: every node that takes seeds takes these, also those of 32
 * bits with a sign.
 */
const DEFAULT_RANGE = 2 ** 31 - 1;
const TRIES = 200;
const MAX_BRANCHES = 64;

const schemas = new AjvJsonSchemas();

/** Whole numbers from `least` to `most`, in steps from 0; or a list of values. */
interface Candidates {
  readonly least: number;
  readonly most: number;
  readonly step: number;
  readonly listed?: readonly number[];
}

export interface SeedTask {
  readonly token: string;
  readonly parameters: JsonObject;
  /** The model's `input_schema`. */
  readonly inputSchema?: JsonObject | undefined;
  /** The parameter that is the seed; `seed` when absent. */
  readonly parameter?: string;
}

/**
 * A seed for a task that has none: a whole number that the model's schema takes beside the task's parameters, and that
 * `isUsable` takes; the digits of one as a text, where the schema asks for a text. The same task gets the same seed, and
 * different tasks get different ones as far as there are enough. `bounds` are those of the targets, as values of the
 * parameter. Undefined where no seed was found that fits.
 */
export function drawnSeed(
  { token, parameters, inputSchema, parameter = 'seed' }: SeedTask,
  bounds: { readonly least: number; readonly most: number },
  isUsable: (seed: number) => boolean,
): number | string | undefined {
  const schema = propertyOf(inputSchema, parameter);
  const ranges =
    schema === undefined ? [{ least: -Infinity, most: Infinity, step: 1 }] : candidatesOf(schema, inputSchema);
  const sets = ranges
    .map(({ least, most, ...rest }) =>
      bounded({ ...rest, least: Math.max(least, bounds.least), most: Math.min(most, bounds.most) }),
    )
    .filter(({ least, most }) => least <= most);
  const fits = fitsSchema(inputSchema, parameters, parameter);
  for (let attempt = 0; attempt < 3 * TRIES && sets.length > 0; attempt += 1) {
    const drawn = createHash('sha256')
      .update(attempt < TRIES ? `${token} ${attempt}` : token)
      .digest();
    const set = sets[(drawn.readUInt32BE(8) + attempt) % sets.length];
    const number = set === undefined ? undefined : pick(set, drawn.readUIntBE(0, 6), attempt);
    if (number === undefined || !Number.isSafeInteger(number) || !isUsable(number)) continue;
    const seed = schema?.['type'] === 'string' ? String(number) : number;
    if (fits(seed)) return seed;
  }
  return undefined;
}

/** The same where only these values can be seeds: one of those that the schema takes. */
export function chosenSeed<Choice extends Json>(
  { token, parameters, inputSchema, parameter = 'seed' }: SeedTask,
  choices: readonly Choice[],
): Choice | undefined {
  const usable = choices.filter(fitsSchema(inputSchema, parameters, parameter));
  return usable[createHash('sha256').update(token).digest().readUIntBE(0, 6) % Math.max(1, usable.length)];
}

/** A number is sent as `value × times + plus`, within bounds. */
export interface SentNumber {
  readonly times?: number;
  readonly plus?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The bounds of sent numbers, as values of their parameter before `times` and `plus`. */
export function boundsBefore(targets: readonly SentNumber[]): { readonly least: number; readonly most: number } {
  const bounds = targets.map(({ times = 1, plus = 0, minimum = -Infinity, maximum = Infinity }) => {
    if (times === 0) return [-Infinity, Infinity] as const;
    const ends = [minimum, maximum].map((end) => (end - plus) / times);
    return [Math.min(...ends), Math.max(...ends)] as const;
  });
  return { least: Math.max(...bounds.map(([least]) => least)), most: Math.min(...bounds.map(([, most]) => most)) };
}

/** At first anywhere in the set, then on from one place in it, and at last from its start: so a seed is found where few fit. */
function pick({ least, most, step, listed }: Candidates, drawn: number, attempt: number): number | undefined {
  if (listed !== undefined) return listed[(drawn + attempt) % listed.length];
  const first = Math.ceil(least / step);
  const count = Math.floor(most / step) - first + 1;
  if (count < 1) return undefined;
  return (first + ((attempt < 2 * TRIES ? drawn + Math.max(0, attempt - TRIES) : attempt - 2 * TRIES) % count)) * step;
}

/** With the ends that are missing: from 0 up where that is within, else next to the end that is there. */
function bounded({ least, most, ...rest }: Candidates): Candidates {
  const low = Number.isFinite(least) ? Math.ceil(least) : most < 0 ? Math.floor(most) - DEFAULT_RANGE : 0;
  const high = Number.isFinite(most) ? Math.floor(most) : low + DEFAULT_RANGE * Math.max(1, rest.step);
  return {
    ...rest,
    least: Math.max(low, Number.MIN_SAFE_INTEGER),
    most: Math.min(high, Number.MAX_SAFE_INTEGER),
  };
}

/** Whether a seed beside these parameters is what the schema takes. Faults that the parameters have without it do not count. */
function fitsSchema(
  schema: JsonObject | undefined,
  parameters: JsonObject,
  parameter: string,
): (seed: Json) => boolean {
  if (schema === undefined || propertyOf(schema, parameter) === undefined) return () => true;
  const isSound = schemas.check(schema, parameters).faults.length === 0;
  return (seed) => {
    const { faults } = schemas.check(schema, { ...parameters, [parameter]: seed });
    return isSound
      ? faults.length === 0
      : faults.every(({ pointer }) => pointer !== `/${parameter.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  };
}

/** The sets that a schema of a number allows at most; what else it asks is for `fitsSchema`. */
function candidatesOf(schema: JsonObject, root: JsonObject | undefined): readonly Candidates[] {
  return branchesOf(schema, root, 0)
    .slice(0, MAX_BRANCHES)
    .map((parts): Candidates => {
      const listed = parts.flatMap(({ enum: values, const: only }) =>
        Array.isArray(values) ? [values] : only === undefined ? [] : [[only]],
      );
      const numbers = (name: string) => parts.flatMap((part) => (typeof part[name] === 'number' ? [part[name]] : []));
      const values = listed[0]?.filter((value): value is number => Number.isInteger(value));
      return {
        least: Math.max(...numbers('minimum'), ...numbers('exclusiveMinimum').map(above), -Infinity),
        most: Math.min(...numbers('maximum'), ...numbers('exclusiveMaximum').map(below), Infinity),
        step: numbers('multipleOf').reduce(commonStep, 1),
        ...(values === undefined || values.length === 0 ? {} : { listed: values }),
      };
    });
}

/**
 * The parts of a schema that hold together, for each of its alternatives: `allOf` and `$ref` add parts, `anyOf` and `oneOf`
 * add alternatives.
 */
function branchesOf(
  schema: JsonObject,
  root: JsonObject | undefined,
  depth: number,
): readonly (readonly JsonObject[])[] {
  let branches: readonly (readonly JsonObject[])[] = [[schema]];
  if (depth > 8) return branches;
  const join = (others: readonly (readonly JsonObject[])[]) => {
    branches = branches.flatMap((one) => others.map((other) => [...one, ...other])).slice(0, MAX_BRANCHES);
  };
  const inner = (value: Json | undefined) => (isObject(value) ? branchesOf(value, root, depth + 1) : [[]]);
  const { allOf, anyOf, oneOf, $ref: reference } = schema;
  for (const part of Array.isArray(allOf) ? allOf : []) join(inner(part));
  for (const choices of [anyOf, oneOf]) if (Array.isArray(choices) && choices.length > 0) join(choices.flatMap(inner));
  if (typeof reference === 'string') join(inner(atPointer(root, reference)));
  return branches;
}

function atPointer(root: JsonObject | undefined, reference: string): Json | undefined {
  let place: Json | undefined = root;
  for (const token of reference.replace(/^#/, '').split('/').slice(1)) {
    const name = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
    place = isObject(place) ? place[name] : Array.isArray(place) ? place[Number(name)] : undefined;
  }
  return place;
}

function propertyOf(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  const properties = schema?.['properties'];
  const property = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(property) ? property : undefined;
}

function above(bound: number): number {
  return Math.floor(bound) + 1;
}

function below(bound: number): number {
  return Math.ceil(bound) - 1;
}

/** The step of whole numbers that are multiples of both: of fractions such as 2.5, the least multiple that is whole. */
function commonStep(step: number, multipleOf: number): number {
  let whole = multipleOf;
  for (let times = 1; times <= 1_000 && !Number.isInteger(whole); times += 1) whole = multipleOf * times;
  if (!Number.isSafeInteger(whole) || whole <= 0) return step;
  const common = (step / divisor(step, whole)) * whole;
  return Number.isSafeInteger(common) ? common : step;
}

function divisor(one: number, other: number): number {
  return other === 0 ? one : divisor(other, one % other);
}
