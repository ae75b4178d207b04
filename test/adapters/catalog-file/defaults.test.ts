import { expect } from 'chai';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { MODEL_SCHEMA } from '../../../adapters/catalog-file/catalog-schema.js';
import { CatalogInvalid, type FileCatalog, parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import type { Model } from '../../../core/catalog/model.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { GOOD_CATALOG } from './catalog-text.js';

// Goal: a key, a price and a provider are a model; each default is the documented one; the explained catalog has the same
// models and explains itself.
// Method: the least catalog, compared in full; defaults that follow from other keys, one by one; a property over catalogs
// from which any keys are left out.

const tools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };
const read = (text: string): FileCatalog => parseCatalog(text, 'c.yaml', tools);

function modelOf(entry: JsonObject): Model {
  const least = { model_key: 'm', price: 4, provider: 'sandbox' };
  return read(stringify({ version: 1, models: [{ ...least, ...entry }] })).models()[0] as Model;
}

const COUNT: JsonObject = { properties: { n: { type: 'integer', minimum: 1, maximum: 3, default: 1 } } };
const SECONDS: JsonObject = { properties: { seconds: { type: 'integer', minimum: 1, maximum: 5, default: 5 } } };

describe('defaults of a catalog', () => {
  it('complete a key, a price and a provider', () => {
    const { price, ...model } = modelOf({});
    expect(model).to.deep.equal({
      modelKey: 'm',
      displayName: 'm',
      modality: 'image',
      operations: ['image_generation'],
      inputSchema: { type: 'object', additionalProperties: false, properties: {} },
      limits: {
        maxReferenceUploads: 0,
        referenceRoles: [],
        uploadMediaTypes: [],
        maxUploadBytes: 10_485_760,
        maxOutputs: 1,
        negativePrompt: false,
      },
      promptRule: 'required',
      maxPromptCharacters: 8_000,
      requiredRoles: [],
      route: [{ provider: 'sandbox', settings: {}, weight: 1 }],
      queueTimeoutMs: 3_600_000,
      runTimeoutMs: 600_000,
      maxAttempts: 2,
      concurrency: 4,
      concurrencyPerAccount: 3,
      cancelFloorCredits: 0,
      onUnknownAcceptance: 'fail',
      onOtherSize: 'deliver',
      pollIntervalMs: 1_000,
    });
    const { version, ...terms } = price;
    expect(version).to.match(/^sha256-[0-9a-f]{12}$/);
    expect(terms).to.deep.equal({
      unit: 'image',
      microcreditsPerUnit: 4_000_000,
      baseMicrocredits: 0,
      multipliers: [],
      minimumCredits: 0,
      maximumCredits: Number.MAX_SAFE_INTEGER,
    });
  });

  it('of a price alone are those of its rate', () => {
    for (const price of [0.125, '0.125'])
      expect(modelOf({ price })).to.deep.equal(modelOf({ price: { credits_per_unit: 0.125 } }));
  });

  it('of a video have its own operation and times', () => {
    const video = {
      modality: 'video',
      operations: ['video_generation'],
      runTimeoutMs: 3_600_000,
      pollIntervalMs: 3_000,
    };
    const second = { credits_per_unit: 1, unit: 'second', duration_parameter: 'seconds' };
    expect(modelOf({ price: second, input_schema: SECONDS })).to.deep.include(video);
    expect(modelOf({ price: { credits_per_unit: 1, unit: 'video' } })).to.deep.include(video);
    const named = modelOf({ modality: 'video' });
    expect(named).to.deep.include(video);
    expect(named.price.unit).to.equal('video');
  });

  it('of limits follow from the roles and the count', () => {
    const { limits } = modelOf({
      modality: 'video',
      limits: { reference_roles: ['start_frame', 'end_frame'] },
    });
    expect(limits).to.deep.include({
      maxReferenceUploads: 2,
      uploadMediaTypes: ['image/png', 'image/jpeg', 'image/webp'],
    });
    const counted = modelOf({ input_schema: COUNT, price: { credits_per_unit: 1, count_parameter: 'n' } });
    expect(counted.limits.maxOutputs).to.equal(3);
    expect(modelOf({ input_schema: COUNT }).limits.maxOutputs).to.equal(1);
  });

  it('of the most outputs are the bound of all models where the count has none', () => {
    for (const n of [
      { type: 'integer', minimum: 1 },
      { type: 'integer', minimum: 1, maximum: 101 },
    ])
      expect(() =>
        modelOf({ input_schema: { properties: { n } }, price: { credits_per_unit: 1, count_parameter: 'n' } }),
      ).to.throw(CatalogInvalid, /models\[0\]\.price\.count_parameter must .* at most limits\.max_outputs, 100\.$/);
  });

  it('do not hide faults of values that are written, nor blame them for others', () => {
    const faultsOf = (entry: JsonObject): string => {
      try {
        modelOf(entry);
        return '';
      } catch (error) {
        return (error as CatalogInvalid).message;
      }
    };
    const roles = { limits: { reference_roles: ['start_frame'], max_outputs: 1 }, modality: 'image' };
    expect(faultsOf({ ...roles, price: { unit: 'byte', credits_per_unit: 1 } }))
      .to.include('price.unit must be one of')
      .and.to.include('reference_roles may hold start_frame');
    expect(faultsOf({ price: { unit: 'byte', credits_per_unit: 1 } }).split('\n')).to.have.length(1);
    expect(faultsOf({ price: 'cheap' })).to.match(/models\[0\]\.price must be a decimal number/);
    expect(faultsOf({ price: { credits_per_unit: 'cheap' } })).to.match(/\.price\.credits_per_unit must be a decimal/);
  });

  it('are filled in for values of any kind, which are then refused with a sentence', () => {
    const names = Object.keys(MODEL_SCHEMA.properties);
    const values = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.dictionary(fc.constantFrom('unit', 'count_parameter', 'properties', 'reference_roles', 'n'), fc.jsonValue()),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), values), (entry) => {
        const models = [entry as JsonObject];
        readIfUsable(JSON.stringify({ version: 1, models }));
      }),
      { numRuns: 300 },
    );
  });

  it('of the version of a price change with any of its terms, and with nothing else', () => {
    const versionOf = (price: JsonObject, more: JsonObject = {}) =>
      modelOf({ price: { credits_per_unit: 1, ...price }, input_schema: COUNT, ...more }).price.version;
    const first = versionOf({});
    for (const same of [
      versionOf({ unit: 'image' }),
      versionOf({ minimum_credits: 0 }),
      versionOf({}, { concurrency: 9 }),
    ])
      expect(same).to.equal(first);
    const others: JsonObject[] = [
      { credits_per_unit: 1.000_001 },
      { base_credits: 1 },
      { count_parameter: 'n' },
      { minimum_credits: 1 },
      { maximum_credits: 9 },
      { unit: 'task' },
      { multipliers: [{ parameter: 'n', values: { 2: 1.5 } }] },
      { multipliers: [{ parameter: 'n', values: { 2: 1.25 } }] },
    ];
    const versions = others.map((price) => versionOf(price));
    expect(new Set([first, ...versions])).to.have.property('size', others.length + 1);
  });

  it('are written out by an explained catalog, which has the same models and explains itself', () => {
    const entries = (parse(GOOD_CATALOG) as { models: JsonObject[] }).models;
    const more: readonly JsonObject[] = [
      ...entries,
      {
        model_key: 'rest',
        price: { credits_per_unit: '9007199254.740991', multipliers: [{ parameter: 'n', values: { 2: '0.125' } }] },
        input_schema: COUNT,
        route: [
          { provider: 'sandbox', weight: 2 },
          { provider: 'other', provider_settings: { 'a: b': [1.5, null, { '#': '' }], '': 'x\ny', 'yes': '0x1' } },
        ],
        prompt: 'optional',
        ai_mark: { system: 'A & B' },
        on_invalid_output: 'fail',
        origin: { ref: 'fal:a/b', date: '2026-11-29', digest: `sha256:${'0'.repeat(64)}`, options: { all: true } },
      },
    ];
    fc.assert(
      fc.property(fc.constantFrom(...more), fc.infiniteStream(fc.boolean()), (entry, choices) => {
        const models = [someOf(entry, choices, ['model_key', 'price', 'input_schema', 'provider', 'route'])];
        // A number that a float would round.
        const text = stringify({ version: 1, models }).replace('"9007199254.740991"', '9007199254.740991');
        const catalog = readIfUsable(text);
        fc.pre(catalog !== undefined);
        const explained = catalog.explained();
        const again = read(explained);
        expect(again.models()).to.deep.equal(catalog.models());
        expect(again.models().map(({ modelKey }) => again.originOf(modelKey))).to.deep.equal(
          catalog.models().map(({ modelKey }) => catalog.originOf(modelKey)),
        );
        expect(again.explained()).to.equal(explained);
        const [shown] = (parse(explained) as { models: [{ price: JsonObject }] }).models;
        expect(shown.price['version']).to.equal(catalog.models()[0]?.price.version);
      }),
      { numRuns: 90 },
    );
  });
});

/** Some members of an object; those of `limits` and `price` are chosen as well. */
function someOf(entry: JsonObject, choices: Iterator<boolean>, always: readonly string[]): JsonObject {
  const part = (name: string, value: Json): Json => {
    if (name === 'limits') return someOf(value as JsonObject, choices, []);
    if (name === 'price') return someOf(value as JsonObject, choices, ['credits_per_unit']);
    return value;
  };
  return Object.fromEntries(
    Object.entries(entry)
      .filter(([name]) => always.includes(name) || choices.next().value === true)
      .map(([name, value]) => [name, part(name, value)]),
  );
}

function readIfUsable(text: string): FileCatalog | undefined {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof CatalogInvalid) return undefined;
    throw error;
  }
}
