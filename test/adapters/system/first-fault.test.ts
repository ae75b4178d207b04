import type { ErrorObject } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { AjvJsonSchemas, compileSchema } from '../../../adapters/system/ajv-json-schemas.js';
import { ServiceError } from '../../../core/errors.js';
import { GENERATION_REQUEST_SCHEMA, readGenerationRequest } from '../../../core/generation/quote.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { sizeOf } from '../../harness/run-sizes.js';

/** The reason for refusing a request. */
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

/** All pointers of a value, in document order. */
function pointersOf(value: Json, pointer = ''): string[] {
  if (typeof value !== 'object' || value === null) return [pointer];
  return [
    pointer,
    ...Object.entries(value).flatMap(([name, member]) => pointersOf(member, `${pointer}/${escaped(name)}`)),
  ];
}

/**
 * Omits errors that only explain another error: branches of a choice, and the type of a value that is not a listed one.
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

// Goal: a request is refused for the same fault however the faults are found: a missing field before an invalid one,
// then the first in document order.
// Method: generated bodies, for the schema of a request and for schemas of models with lists, free names and
// references, compared with a model that walks the whole body and sorts all errors. FIRST_FAULT_BODIES sets how many
// bodies are generated; for each of the model schemas a quarter as many values.

const BODIES = Number(process.env['FIRST_FAULT_BODIES'] ?? sizeOf('firstFaultBodies'));
const VALUES = Math.ceil(BODIES / 4);

const ITEM: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['a'],
  properties: {
    'b': { type: 'integer', maximum: 3 },
    'a': { type: 'string', enum: ['x', 'yy'] },
    '0': { type: 'boolean' },
    '~/': { type: 'array', items: { type: 'integer' } },
  },
};
const MODEL: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['size', '0'],
  properties: {
    '0': { type: 'integer' },
    'size': { type: 'string', enum: ['x', 'yy'] },
    'a': { anyOf: [{ type: 'integer' }, { type: 'array', maxItems: 2, items: { type: 'string', maxLength: 1 } }] },
    'b': { type: 'array', items: ITEM, maxItems: 30 },
    'list': { type: 'array', items: { type: 'array', items: { type: 'string', minLength: 1 } } },
  },
  patternProperties: {
    '^k': { type: 'object', additionalProperties: { type: 'integer' }, propertyNames: { maxLength: 1 } },
  },
};
/** Shared rules: one for two members, listed in another order than the document's, and one that contains itself. */
const REFERRING: JsonObject = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      additionalProperties: false,
      properties: {
        'b': { $ref: '#/$defs/list' },
        'a': { $ref: '#/$defs/list' },
        'list': { type: 'array', items: { $ref: '#/$defs/node' } },
        '0': { $ref: '#/$defs/item' },
      },
    },
    list: { type: 'array', items: { type: 'integer', minimum: 1 } },
    item: ITEM,
  },
};

const name = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'a',
      'b',
      'size',
      'list',
      '0',
      '10',
      '2',
      '~/',
      'k',
      'kk',
      '',
      '__proto__',
      'length',
      'constructor',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
);
const scalar = fc.constantFrom<Json>('x', 'yy', '', 'zzz', 1, 0, -1, 2.5, true, null, 'a\0b', '\ud800');
const entries = (member: fc.Arbitrary<Json>, maxLength: number) =>
  fc.uniqueArray(fc.tuple(name, member), { selector: ([key]) => key, maxLength }).map(ofEntries);
const { value: anything } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    { weight: 3, arbitrary: scalar },
    { weight: 2, arbitrary: entries(tie('value'), 6) },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 6 }) },
  ),
}));
/** More wrong items than are examined for one rule. */
const long = fc
  .tuple(fc.integer({ min: 15, max: 60 }), scalar, anything, fc.nat({ max: 60 }))
  .map(([length, item, other, at]): Json => Array.from({ length }, (_, index) => (index === at ? other : item)));
const member = fc.oneof({ weight: 5, arbitrary: anything }, { weight: 1, arbitrary: long });
const shuffled = (values: Readonly<Record<string, fc.Arbitrary<Json>>>) =>
  fc
    .tuple(fc.shuffledSubarray(Object.keys(values)), fc.record(values), entries(member, 3))
    .map(([kept, all, others]) =>
      ofEntries([...kept.map((key): [string, Json] => [key, all[key] as Json]), ...Object.entries(others)]),
    );

/** All are own members, even one called `__proto__`. */
function ofEntries(members: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries<Json>(members);
}

/** A request field that is null counts as absent. */
function withoutNulls(body: Json): Json {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return ofEntries(
    Object.entries(body).filter(
      ([key, value]) => value !== null || !Object.hasOwn(GENERATION_REQUEST_SCHEMA.properties, key),
    ),
  );
}

const orRight = (value: Json) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: member });
const request = fc.oneof(
  { weight: 1, arbitrary: anything },
  {
    weight: 9,
    arbitrary: shuffled({
      model_key: orRight('m'),
      operation: orRight('image_generation'),
      prompt: orRight('p'),
      negative_prompt: orRight('n'),
      parameters: member,
      reference_upload_ids: orRight(['01900000-0000-7000-8000-000000000001']),
      client_trace_id: orRight('t'),
    }),
  },
);
const parameters = shuffled({
  '0': orRight(1),
  'size': orRight('x'),
  'a': member,
  'b': member,
  'list': member,
  'k': member,
});

describe('the first fault', () => {
  const jsonSchemas = new AjvJsonSchemas();

  function firstFault(schema: JsonObject, value: Json): FirstFault | undefined {
    const [first] = jsonSchemas.check(schema, value).faults;
    return first === undefined ? undefined : { kind: first.kind, pointer: first.pointer };
  }

  function refusalOf(body: Json): FirstFault | undefined {
    const refusal = readGenerationRequest({ jsonSchemas }, body);
    if (!(refusal instanceof ServiceError)) return undefined;
    const { code, details } = refusal;
    return { kind: code === 'FIELD_REQUIRED' ? 'required' : 'invalid', pointer: details.pointer ?? 'none' };
  }

  it(`of a request, for ${BODIES} bodies`, () => {
    const model = new FirstFaultModel(GENERATION_REQUEST_SCHEMA);
    fc.assert(
      fc.property(request, (sent) => {
        const body = withoutNulls(sent);
        const unstorable = firstUnstorable(body);
        const expected =
          model.of(body) ?? (unstorable === undefined ? undefined : { kind: 'invalid', pointer: unstorable });
        expect(refusalOf(sent)).to.deep.equal(expected);
      }),
      { numRuns: BODIES },
    );
  });

  for (const [what, schema] of [
    ['a schema of lists and free names', MODEL],
    ['a schema whose rules are used in several places', REFERRING],
  ] as const) {
    it(`by ${what}, for ${VALUES} values`, () => {
      const model = new FirstFaultModel(schema);
      fc.assert(
        fc.property(fc.oneof({ weight: 1, arbitrary: anything }, { weight: 9, arbitrary: parameters }), (value) => {
          expect(firstFault(schema, value)).to.deep.equal(model.of(value));
        }),
        { numRuns: VALUES },
      );
    });
  }

  it('is that of the earlier member, if one rule is violated more often than is examined', () => {
    const wrong = Array.from({ length: 30 }, () => 0);
    expect(firstFault(REFERRING, { a: wrong, b: wrong })?.pointer).to.equal('/a/0');
    expect(firstFault(REFERRING, { b: wrong, a: wrong })?.pointer).to.equal('/b/0');
  });
});
