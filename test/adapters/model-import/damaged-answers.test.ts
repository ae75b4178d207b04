import { expect } from 'chai';
import fc from 'fast-check';
import { MAX_DOCUMENT_BYTES, parseBounded } from '../../../adapters/model-import/bounded-json.js';
import { heldRequestFaults } from '../../../adapters/model-import/held-requests.js';
import { ImportRefused, type Proposal, type RecordedModel } from '../../../adapters/model-import/proposal.js';
import { proposeModel } from '../../../adapters/model-import/propose-model.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { forAll, forAllSync } from '../../harness/for-all.js';
import { isFullRun } from '../../harness/run-sizes.js';
import { catalogFaultsOf, hasRecorded, recordedFiles } from './recorded.js';
import { ANSWERS, falAnswer, OPTIONS, PAINTER } from './vendor-answers.js';

/**
 * Goal: an answer of a vendor can do no harm, whatever is in it. Method: answers that are cut, or have a value in a place that
 * no vendor would put there, are imported: either one sentence says why that fails, or the entry is one that the catalog check
 * accepts. Own answers, and recorded ones where they are present.
 */

const GIVEN = { ...OPTIONS, price: '5', set: { references: '4' } };

/** The sentence of a refusal, or the proposal. Anything else that is thrown fails the test. */
function outcome(recorded: RecordedModel, options = GIVEN): string | Proposal {
  try {
    return proposeModel(recorded, options);
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error;
    return error.message;
  }
}

function expectSentence(message: string): void {
  expect(message).to.match(/^[^\n\r\p{C}]{10,600}[.…]$/u);
}

async function expectHarmless(recorded: RecordedModel, options = GIVEN): Promise<void> {
  const made = outcome(recorded, options);
  if (typeof made === 'string') return expectSentence(made);
  expect(catalogFaultsOf(made.entry).join('\n')).to.equal('');
  for (const text of [...made.guesses, ...made.dropped, ...made.hints]) expect(text).to.match(/^[^\n\r\p{C}]*$/u);
  for (const fault of await heldRequestFaults(made)) expectSentence(fault);
}

const deep = (depth: number): Json => (depth === 0 ? 'x' : { items: deep(depth - 1), anyOf: [1] });

/** Values that no vendor uses. */
const ODD_VALUES: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  '',
  'x'.repeat(10_000),
  '\u202Eabc\u0007\u0000\nsecond line',
  '\ud800',
  'https://evil.example/?q=%s',
  '../../etc/passwd',
  '${jndi:ldap://x}',
  '- yaml: {',
  [],
  [null, 1, 'x', {}],
  {},
  { $ref: '#' },
  { $ref: '#/components/schemas/Nowhere' },
  { $ref: 'https://evil.example/schema.json' },
  { $ref: '#/components/schemas/TaskInput' },
  { $ref: '#/components/schemas/Input' },
  { type: 'object', properties: JSON.parse('{"__proto__":{"type":"string"}}') as Json, required: ['__proto__'] },
  { type: 'string', pattern: '(a+)+$', enum: ['constructor', 'toString', '__proto__', 'hasOwnProperty'] },
  { type: 'string', enum: Array.from({ length: 2_000 }, (_, index) => `value ${index}`) },
  { type: 'integer', minimum: 5, maximum: 1, default: 'x' },
  { type: 'integer', minimum: -1e300, maximum: 1e300, default: 1e200 },
  { type: 'number', exclusiveMinimum: true, minimum: 'x', multipleOf: 0 },
  { type: ['string', 'array', 'object', 'null', 'nonsense'], items: [] },
  { anyOf: [], allOf: {}, oneOf: 'x' },
  { type: 'array', items: { type: 'string', format: 'uri' }, maxItems: -3 },
  { type: 'string', description: 'Up to 99999999999 images. Max 0 characters. between 0 and 0', maxLength: 0 },
];
const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'a b',
  '',
  'x'.repeat(100),
  'prompt',
  'image_url',
  'seed',
  'n',
  'size',
];

interface Damage {
  /** The index of the damaged place in the document. */
  readonly at: number;
  readonly how: 'replace' | 'remove' | 'rename' | 'add';
  readonly value: Json;
  readonly name: string;
}

/** Drawn by its place in the list, which is all that a failure prints. */
const ANSWER = fc.nat(ANSWERS.length - 1);

const DAMAGE: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(100_000),
  how: fc.constantFrom('replace', 'remove', 'rename', 'add'),
  value: fc.oneof(fc.constantFrom(...ODD_VALUES), fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>),
  name: fc.constantFrom(...ODD_NAMES),
});

/** A copy of the document with one place damaged. */
function damaged(document: Json, { at, how, value, name }: Damage): Json {
  const copy = JSON.parse(JSON.stringify(document)) as Json;
  const places: { readonly holder: JsonObject; readonly key: string }[] = [];
  const walk = (holder: Json): void => {
    if (typeof holder !== 'object' || holder === null) return;
    for (const [key, member] of Object.entries(holder)) {
      places.push({ holder: holder as JsonObject, key });
      walk(member);
    }
  };
  walk(copy);
  const place = places[at % places.length];
  if (place === undefined) return value;
  const { holder, key } = place;
  const put = (member: string, what: Json) =>
    Object.defineProperty(holder, member, { value: what, enumerable: true, configurable: true, writable: true });
  const before = holder[key] ?? null;
  if (how !== 'add') Reflect.deleteProperty(holder, key);
  if (how === 'replace') put(key, value);
  if (how === 'add') put(Array.isArray(holder) ? String(holder.length) : name, value);
  if (how === 'rename') put(Array.isArray(holder) ? key : name, before);
  // An item that was removed leaves a hole, which JSON has not.
  return JSON.parse(JSON.stringify(copy)) as Json;
}

function withDamage(recorded: RecordedModel = PAINTER, ...damages: readonly Damage[]): RecordedModel {
  return { ...recorded, document: damages.reduce(damaged, recorded.document) };
}

/** The painter with further components, or others in the place of its own. */
function withComponents(components: JsonObject): RecordedModel {
  return { ...PAINTER, document: falAnswer(PAINTER.id, {}, { more: components }) };
}

describe('the import of damaged answers', () => {
  const NAMED: Readonly<Record<string, string>> = {
    'an empty text': '',
    'a page of HTML': '<html><body>404</body></html>',
    'a cut text': JSON.stringify(PAINTER.document).slice(0, 500),
    'a number': '1',
    'a list': '[]',
    'null': 'null',
    'an object without members': '{}',
    'an error of fal': '{"models":[{"endpoint_id":"fal-ai/painter/one","openapi":{"error":{"code":"not_found"}}}]}',
    'another model': '{"models":[{"endpoint_id":"fal-ai/other","openapi":{"paths":{}}},{}]}',
    'no paths': '{"models":[{"endpoint_id":"fal-ai/painter/one","openapi":{"openapi":"3.0.4","paths":[]}}]}',
    'a number that is too large': '{"models":[1e400]}',
    'a text that is too large': `"${'x'.repeat(MAX_DOCUMENT_BYTES)}"`,
    'too many values': JSON.stringify(Array.from({ length: 100_000 }, (_, index) => index)),
    'lists in lists': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
    'objects in objects': JSON.stringify(deep(80)),
  };
  for (const [name, text] of Object.entries(NAMED))
    it(`ends in one sentence for ${name}`, () => {
      let message = '';
      try {
        const made = outcome({ ...PAINTER, document: parseBounded(text) });
        message = typeof made === 'string' ? made : 'imported';
      } catch (error) {
        expect(error).to.be.instanceOf(ImportRefused);
        message = (error as ImportRefused).message;
      }
      expectSentence(message);
    });

  it('refuses a schema that refers to itself, by any number of steps', () => {
    const schemas: JsonObject = { TaskInput: { $ref: '#/components/schemas/S0' } };
    for (let step = 0; step < 5; step += 1)
      schemas[`S${step}`] = { allOf: [{ $ref: `#/components/schemas/S${(step + 1) % 5}` }] };
    expect(outcome(withComponents(schemas))).to.equal('The schema refers to itself.');
  });

  it('refuses a schema that grows with each reference', () => {
    const schemas: JsonObject = { S0: { type: 'string' }, TaskInput: { $ref: '#/components/schemas/S39' } };
    for (let step = 1; step < 40; step += 1) {
      const ref = { $ref: `#/components/schemas/S${step - 1}` };
      schemas[`S${step}`] = { properties: { a: ref, b: ref } };
    }
    expect(outcome(withComponents(schemas))).to.equal('The schema is too large once its references are in place.');
  });

  it('counts a list as often as it is referred to, by its values and by their text', () => {
    const LISTS: readonly JsonObject[] = [
      { type: 'string', enum: Array.from({ length: 2_000 }, (_, index) => `v${index}`) },
      { type: 'string', enum: ['x'.repeat(20_000)] },
      { type: 'object', properties: {}, required: Array.from({ length: 2_000 }, (_, index) => `f${index}`) },
    ];
    for (const list of LISTS) {
      const fields = Array.from({ length: 500 }, (_, index) => [`f${index}`, { $ref: '#/components/schemas/List' }]);
      const schemas = { List: list, TaskInput: { properties: Object.fromEntries(fields) as JsonObject } };
      expect(outcome(withComponents(schemas))).to.equal('The schema is too large once its references are in place.');
    }
  });

  it('takes names that every object has for fields like others', () => {
    const field: JsonObject = { type: 'string', enum: ['a', 'b'], deprecated: true };
    const names = ['constructor', 'hasOwnProperty', 'toString'];
    const properties = { prompt: { type: 'string' }, ...Object.fromEntries(names.map((name) => [name, field])) };
    const made = outcome({ ...PAINTER, document: falAnswer(PAINTER.id, { properties }) }, { ...GIVEN, all: true });
    expect((made as Proposal).dropped).to.deep.equal(names.map((name) => `${name}: deprecated`));
  });

  it('drops constants with characters that are not shown', () => {
    const loras = { type: 'array', items: { type: 'string' }, default: ['\u202Egnp'] };
    const properties = { prompt: { type: 'string' }, loras };
    const document = falAnswer(PAINTER.id, { properties, required: ['prompt', 'loras'] });
    const { entry } = outcome({ ...PAINTER, document }) as Proposal;
    expect(entry['provider_settings']).to.have.deep.nested.property('fields.loras', { value: [] });
  });

  it('does no harm with one place of an own answer damaged', () =>
    forAll(isFullRun() ? 3_000 : 80, [ANSWER, DAMAGE, fc.boolean()], (index, damage, all) =>
      expectHarmless(withDamage(ANSWERS[index], damage), { ...GIVEN, all }),
    ));

  it('does no harm with several places damaged', () =>
    forAll(isFullRun() ? 2_000 : 40, [ANSWER, fc.array(DAMAGE, { minLength: 2, maxLength: 6 })], (index, damages) =>
      expectHarmless(withDamage(ANSWERS[index], ...damages)),
    ));

  it('does no harm with a recorded answer damaged', async function () {
    if (!hasRecorded()) this.skip();
    const recorded = recordedFiles().map(({ text, model }) => ({ ...model, document: parseBounded(text) }));
    await forAll(isFullRun() ? 3_000 : 40, [fc.nat(recorded.length - 1), DAMAGE, fc.boolean()], (index, damage, all) =>
      expectHarmless(withDamage(recorded[index], damage), { ...GIVEN, all }),
    );
  });

  it('ends in one sentence wherever a text is cut', () =>
    forAllSync(200, [ANSWER, fc.nat(1_000_000)], (index, at) => {
      const text = JSON.stringify(ANSWERS[index]?.document);
      expect(() => parseBounded(text.slice(0, at % text.length))).to.throw(
        ImportRefused,
        "The vendor's answer is not JSON.",
      );
    }));
});
