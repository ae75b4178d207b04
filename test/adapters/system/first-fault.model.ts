import type { ErrorObject } from 'ajv/dist/2020.js';
import { compileSchema } from '../../../adapters/system/ajv-json-schemas.js';
import type { Json, JsonObject } from '../../../core/json.js';

/** What a request is refused for. */
export interface FirstFault {
  readonly kind: 'required' | 'invalid';
  readonly pointer: string;
}

const MEMBERS: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  dependentRequired: 'missingProperty',
  additionalProperties: 'additionalProperty',
  propertyNames: 'propertyName',
};
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
const parentOf = (pointer: string): string => pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));

/** All pointers of a value, as it is read from its beginning to its end. */
function pointersOf(value: Json, pointer = ''): string[] {
  if (typeof value !== 'object' || value === null) return [pointer];
  return [
    pointer,
    ...Object.entries(value).flatMap(([name, member]) => pointersOf(member, `${pointer}/${escaped(name)}`)),
  ];
}

/**
 * Leaves out what only explains another error: branches of a choice, and the type of a value that is not a listed one.
 */
function withoutExplanations(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const left = errors.filter((error) => {
    if (error.keyword === 'if') return false;
    if (
      error.keyword === 'type' &&
      errors.some((e) => (e.keyword === 'enum' || e.keyword === 'const') && e.instancePath === error.instancePath)
    )
      return false;
    return !errors.some(
      (e) =>
        ['anyOf', 'oneOf', 'contains', 'propertyNames'].includes(e.keyword) &&
        error.schemaPath.startsWith(`${e.schemaPath}/`),
    );
  });
  return left.length > 0 ? left : errors;
}

/**
 * The first fault of a value, by a walk over the whole of it and a sort of all its errors: slow, and plain. Missing
 * fields come before invalid ones, then what stands earlier; a missing field stands where the object does that misses
 * it.
 */
export class FirstFaultModel {
  readonly #validate;

  constructor(schema: JsonObject) {
    this.#validate = compileSchema(schema);
  }

  of(value: Json): FirstFault | undefined {
    if (this.#validate(structuredClone(value))) return undefined;
    const read = pointersOf(value);
    const faults = withoutExplanations(this.#validate.errors ?? []).map(({ keyword, instancePath, params }) => {
      const member = MEMBERS[keyword];
      const kind =
        keyword === 'required' || keyword === 'dependentRequired' ? ('required' as const) : ('invalid' as const);
      return {
        kind,
        pointer:
          member === undefined
            ? instancePath
            : `${instancePath}/${escaped(String((params as Record<string, unknown>)[member]))}`,
      };
    });
    const rank = ({ pointer }: FirstFault): number => {
      const at = read.indexOf(pointer);
      return at >= 0 ? at : Math.max(0, read.indexOf(parentOf(pointer)));
    };
    const ranked = faults.map((fault) => ({ fault, rank: rank(fault) }));
    return ranked.toSorted(
      (a, b) => Number(b.fault.kind === 'required') - Number(a.fault.kind === 'required') || a.rank - b.rank,
    )[0]?.fault;
  }
}

/** The first value that no field may hold, by a walk that knows where it is at every step. */
export function firstUnstorable(value: Json, pointer = ''): string | undefined {
  const isText = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);
  if (typeof value === 'string') return isText(value) ? undefined : pointer;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : pointer;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (!isText(name)) return pointer;
    const found = firstUnstorable(member, `${pointer}/${escaped(name)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
