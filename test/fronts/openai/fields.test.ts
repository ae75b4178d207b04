import { expect } from 'chai';
import { SystemDigests } from '../../../adapters/system/system-digests.js';
import type { ApiRefusal } from '../../../apps/http/openai/errors.js';
import { type Fields, mapFields, renamed, sizeOf, withoutNulls } from '../../../apps/http/openai/fields.js';
import type { Model } from '../../../core/catalog/model.js';
import { ServiceError } from '../../../core/errors.js';
import type { Generation, ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { catalogOf, imageModel, imagePrice, MODELS } from '../../fixtures/models.js';
import { connectedProviders, ScriptedProvider } from '../../fixtures/scripted-provider.js';

// Goal: a field sets the parameter of the model that it stands for, whatever the model calls it; hints are left out where
// the model lacks them; and whatever would be visible or is unknown is refused by the name that the client used.
// Method: a table of fields against models of every shape that a catalog may have.

const object = (properties: JsonObject): JsonObject => ({ type: 'object', additionalProperties: false, properties });
const { countParameter: _, ...uncounted } = imagePrice(10);

const SHAPES: readonly Model[] = [
  ...MODELS,
  // One picture, of a size that the provider chooses.
  imageModel({ modelKey: 'bare', inputSchema: object({}), price: uncounted }),
  imageModel({
    modelKey: 'renamed',
    inputSchema: object({
      count: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
      resolution: { type: 'string', enum: ['1024x1024', '512x512'], default: '1024x1024' },
      format: { type: 'string', enum: ['png', 'webp'] },
      quality: { type: 'string', enum: ['draft', 'best'] },
      background: { type: 'string', enum: ['transparent', 'opaque'] },
      guidance: { type: 'number', minimum: 0, maximum: 20 },
      seed: { type: 'integer', minimum: 0 },
      tile: { type: 'boolean' },
      steps: { type: ['integer', 'null'] },
      weights: { type: 'array', items: { type: 'number' } },
      strength: { enum: [1, 2] },
      grid: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
      scheduler: { oneOf: [{ type: 'string', maxLength: 9 }, { type: 'integer' }] },
    }),
    price: imagePrice(10, { sizeParameter: 'resolution' }),
  }),
  imageModel({
    modelKey: 'unpriced',
    inputSchema: object({
      n: { type: 'integer', minimum: 1, maximum: 2 },
      size: { type: 'string', enum: ['auto', '64x64'] },
      output_format: { type: 'string', enum: ['png', 'jpeg'] },
    }),
    price: uncounted,
  }),
  // An aspect ratio and a resolution give the size.
  imageModel({
    modelKey: 'by-ratio',
    inputSchema: object({
      aspect_ratio: { type: 'string', enum: ['1:1', '16:9'], default: '1:1' },
      resolution: { type: 'integer', enum: [1, 2], default: 1 },
    }),
    price: {
      ...uncounted,
      sizeTable: {
        parameters: ['aspect_ratio', 'resolution'],
        sizes: [
          { values: ['1:1', 1], widthPx: 1_024, heightPx: 1_024 },
          { values: ['1:1', 2], widthPx: 2_048, heightPx: 2_048 },
          { values: ['16:9', 1], widthPx: 1_376, heightPx: 768 },
          { values: ['16:9', 2], widthPx: 2_752, heightPx: 1_536 },
        ],
      },
    },
  }),
  // Names of sizes in the parameter that this API means by `size`; two of them are of one size.
  imageModel({
    modelKey: 'presets',
    inputSchema: object({ size: { type: 'string', enum: ['square', 'icon', 'wide'], default: 'square' } }),
    price: {
      ...uncounted,
      sizeTable: {
        parameters: ['size'],
        sizes: [
          { values: ['square'], widthPx: 512, heightPx: 512 },
          { values: ['icon'], widthPx: 512, heightPx: 512 },
          { values: ['wide'], widthPx: 1_024, heightPx: 512 },
        ],
      },
    },
  }),
];

const ports = { catalog: catalogOf(() => SHAPES), digests: new SystemDigests({ secret: new Uint8Array(32) }) };
const map = (fields: JsonObject) => mapFields(ports, withoutNulls(fields), 'image').body;
const parametersOf = (model: string, fields: JsonObject): Json | undefined =>
  map({ model, prompt: 'x', ...fields })['parameters'];

const MAPPED: readonly (readonly [model: string, fields: JsonObject, parameters: JsonObject])[] = [
  ['picture', { n: 2, size: '96x64', seed: 7 }, { n: 2, size: '96x64', seed: 7 }],
  ['renamed', { n: 2, size: '512x512' }, { count: 2, resolution: '512x512' }],
  ['renamed', { count: 2, resolution: '512x512' }, { count: 2, resolution: '512x512' }],
  ['renamed', { output_format: 'webp' }, { format: 'webp' }],
  ['renamed', { format: 'webp' }, { format: 'webp' }],
  ['unpriced', { output_format: 'jpeg', n: 2 }, { output_format: 'jpeg', n: 2 }],
  // `auto` and null are left out, but where the model itself knows `auto`.
  ['renamed', { size: 'auto', quality: 'auto', background: 'auto', output_format: 'auto' }, {}],
  ['renamed', { size: null, quality: null, n: null, seed: null }, {}],
  ['unpriced', { size: 'auto' }, { size: 'auto' }],
  // A model without the parameter.
  ['bare', { size: '1024x1024', n: 1 }, {}],
  ['bare', { n: '1', output_format: 'png' }, {}],
  ['bare', { n: 'auto', output_format: 'auto' }, {}],
  ['bare', { quality: 'high', style: 'vivid', moderation: 'low', input_fidelity: 'high', output_compression: 90 }, {}],
  ['bare', { partial_images: 2, complexity: 'high', background: 'opaque' }, {}],
  ['bare', { background: 'auto', response_format: 'url', stream: true }, {}],
  // A property of the model goes before a hint.
  ['renamed', { quality: 'best', background: 'transparent' }, { quality: 'best', background: 'transparent' }],
  // A table of sizes: an exact size sets the parameters, and these can still be sent by their own names.
  ['by-ratio', { size: '2752x1536' }, { aspect_ratio: '16:9', resolution: 2 }],
  ['by-ratio', { aspect_ratio: '16:9', resolution: '2' }, { aspect_ratio: '16:9', resolution: 2 }],
  ['by-ratio', { size: 'auto', aspect_ratio: '16:9' }, { aspect_ratio: '16:9' }],
  ['presets', { size: '1024x512' }, { size: 'wide' }],
  ['presets', { size: '512x512' }, { size: 'square' }],
  ['presets', { size: 'icon' }, { size: 'icon' }],
  ['presets', { size: 'auto' }, {}],
  // The texts of a form.
  ['renamed', { n: '3', guidance: '7.5', tile: 'true', seed: '42' }, { count: 3, guidance: 7.5, tile: true, seed: 42 }],
  ['renamed', { tile: 'false' }, { tile: false }],
  ['renamed', { steps: '9', strength: '2', grid: 'true' }, { steps: 9, strength: 2, grid: true }],
  ['renamed', { scheduler: '7' }, { scheduler: '7' }],
  ['renamed', { 'weights[]': ['0.5', '1'] }, { weights: [0.5, 1] }],
  ['renamed', { weights: '[0.5]' }, { weights: [0.5] }],
  ['picture', { style: '12' }, { style: '12' }],
  ['picture', { tuning: '{"strength":0.5}' }, { tuning: { strength: 0.5 } }],
  ['picture', { tuning: '{"strength":0.5,"strength":1}' }, { tuning: '{"strength":0.5,"strength":1}' }],
  ['picture', { tuning: '{' }, { tuning: '{' }],
  ['picture', { 'tuning[strength]': '0.5', 'tuning[mode]': '7' }, { tuning: { strength: 0.5, mode: '7' } }],
  [
    'picture',
    JSON.parse('{"tuning[__proto__]":"1"}') as JsonObject,
    JSON.parse('{"tuning":{"__proto__":"1"}}') as JsonObject,
  ],
  // The check of the schema refuses a text that is not a number.
  ['renamed', { n: 'two', guidance: '1e3', tile: 'yes' }, { count: 'two', guidance: '1e3', tile: 'yes' }],
];

const REFUSED: readonly (readonly [model: string, fields: JsonObject, param: string, code: string])[] = [
  ['bare', { n: 2 }, 'n', 'FIELD_INVALID'],
  ['bare', { n: '0' }, 'n', 'FIELD_INVALID'],
  ['bare', { n: true }, 'n', 'FIELD_INVALID'],
  ['bare', { output_format: 'webp' }, 'output_format', 'FIELD_INVALID'],
  ['bare', { background: 'transparent' }, 'background', 'FIELD_INVALID'],
  ['bare', { seed: 1 }, 'seed', 'unknown_parameter'],
  ['picture', { frame_count: 3 }, 'frame_count', 'unknown_parameter'],
  ['picture', { markup: 'x' }, 'markup', 'unknown_parameter'],
  ['picture', { parameters: {} }, 'parameters', 'unknown_parameter'],
  ['picture', { model_key: 'picture' }, 'model_key', 'unknown_parameter'],
  ['picture', { seconds: 4 }, 'seconds', 'unknown_parameter'],
  ['picture', { constructor: 1 }, 'constructor', 'unknown_parameter'],
  ['picture', JSON.parse('{"__proto__":1}') as JsonObject, '__proto__', 'unknown_parameter'],
  ['picture', { 'style[a]': '1' }, 'style[a]', 'unknown_parameter'],
  ['picture', { 'tuning[a][b]': '1' }, 'tuning[a][b]', 'unknown_parameter'],
  ['picture', { 'tuning[strength]': '1', 'tuning': '{}' }, 'tuning[strength]', 'unknown_parameter'],
  ['picture', { 'constructor[name]': '1' }, 'constructor[name]', 'unknown_parameter'],
  // Two names of one parameter: one of them would be ignored, and the price hangs on it.
  ['renamed', { 'seed[]': ['1'] }, 'seed[]', 'unknown_parameter'],
  ['renamed', { 'weights[]': ['1'], 'weights': '[2]' }, 'weights[]', 'unknown_parameter'],
  ['picture', { 'tuning[]': ['1'] }, 'tuning[]', 'unknown_parameter'],
  ['renamed', { n: 1, count: 4 }, 'count', 'FIELD_INVALID'],
  ['renamed', { resolution: '512x512', size: '1024x1024' }, 'size', 'FIELD_INVALID'],
  ['by-ratio', { size: '1024x1024', resolution: 2 }, 'resolution', 'FIELD_INVALID'],
  ['by-ratio', { aspect_ratio: '16:9', size: '1376x768' }, 'size', 'FIELD_INVALID'],
  // Sizes that no combination has.
  ['by-ratio', { size: '1024x768' }, 'size', 'FIELD_INVALID'],
  ['by-ratio', { size: '1376X768' }, 'size', 'FIELD_INVALID'],
  ['by-ratio', { size: 1_024 }, 'size', 'FIELD_INVALID'],
];

describe('the fields of a request for pictures', () => {
  for (const [model, fields, parameters] of MAPPED)
    it(`of ${model} are mapped: ${JSON.stringify(fields)}`, () => {
      expect(parametersOf(model, fields)).to.deep.equal(parameters);
    });

  for (const [model, fields, param, code] of REFUSED)
    it(`of ${model} are refused: ${JSON.stringify(fields)}`, () => {
      let refusal: unknown;
      try {
        parametersOf(model, fields);
      } catch (error) {
        refusal = error;
      }
      expect(refusal).to.be.instanceOf(ServiceError);
      const { apiCode, code: own } = refusal as ServiceError & { readonly apiCode?: string };
      expect(refusal).to.include({ param });
      expect(apiCode ?? own).to.equal(code);
    });

  it('name the sizes of a table in the refusal of another size', () => {
    expect(() => parametersOf('by-ratio', { size: '640x480' })).to.throw(
      'size must be one of 1024x1024, 2048x2048, 1376x768, 2752x1536 for by-ratio.',
    );
  });

  it('name the model, the prompt and what is not wanted', () => {
    expect(map({ model: 'bare', prompt: 'a', negative_prompt: 'b' })).to.deep.equal({
      model_key: 'bare',
      operation: 'image_generation',
      prompt: 'a',
      negative_prompt: 'b',
      parameters: {},
    });
  });

  it('have the end user as a hash alone, whatever they send', () => {
    const traceOf = (fields: Fields) => map({ model: 'bare', prompt: 'a', ...fields })['client_trace_id'];
    const values: readonly Json[] = ['anna@example.com', 'order-1', 'x'.repeat(10_000), 7, { id: 1 }, ['a'], '\u0000'];
    for (const user of values) {
      expect(traceOf({ user })).to.match(/^user-[0-9a-f]{32}$/);
      expect(traceOf({ safety_identifier: user, user: 'other' })).to.equal(traceOf({ user }));
    }
    expect(new Set(values.map((user) => traceOf({ user }))).size).to.equal(values.length);
    // printf anna@example.com | sha256sum
    expect(traceOf({ user: 'anna@example.com' })).to.equal('user-f7d54c22dda5b1780276601cd005909b');
    expect(traceOf({ user: 7 })).to.equal(traceOf({ user: '7' }));
    expect(traceOf({ user: '' })).to.equal(undefined);
    expect(traceOf({ safety_identifier: '', user: 'a' })).to.equal(traceOf({ user: 'a' }));
  });
});

describe('the refusal of a request without the files that its model requires', () => {
  const refusal = (requiredRoles: readonly ReferenceRole[], changes: Partial<Model> = {}, isMaskNeeded = false) => {
    const needing = new ScriptedProvider();
    needing.promised = { ...needing.promised, maxMaskedReferences: 1, needsMask: isMaskNeeded };
    const route = [{ provider: 'one', settings: {}, weight: 1 }];
    const model = imageModel({ modelKey: 'm', route, requiredRoles, ...changes });
    const error = new ServiceError('FIELD_REQUIRED', 'a', { pointer: '/reference_upload_ids' });
    const told = renamed({ providers: connectedProviders({ one: needing }) }, error, model, {}) as ApiRefusal;
    return [told.param, told.message];
  };
  const VIDEO = { modality: 'video' } as const;
  const IMAGE = 'reference_image';

  it('asks for pictures and a mask by the fields of this API', () => {
    expect(refusal([IMAGE])).to.deep.equal(['image', 'image is required for m; send it to /images/edits.']);
    expect(refusal([IMAGE, IMAGE])).to.deep.equal([
      'image',
      'image must be at least 2 files for m; send them to /images/edits.',
    ]);
    expect(refusal([IMAGE], {}, true)).to.deep.equal([
      'mask',
      'image is required, with a mask, for m; send them to /images/edits.',
    ]);
    expect(refusal([IMAGE, IMAGE], {}, true)).to.deep.equal([
      'mask',
      'image must be at least 2 files, with a mask, for m; send them to /images/edits.',
    ]);
  });

  it('asks for the picture of a video, and names what this API has no field for', () => {
    const ofVideo = (roles: readonly ReferenceRole[], isMaskNeeded = false) => refusal(roles, VIDEO, isMaskNeeded)[1];
    expect(ofVideo(['start_frame'])).to.equal('input_reference is required for m.');
    expect(ofVideo([IMAGE], true)).to.equal('input_reference with transparent areas is required for m.');
    expect(ofVideo(['end_frame'])).to.equal('m requires an end_frame, which cannot be sent here.');
    expect(ofVideo(['start_frame', IMAGE, IMAGE])).to.equal(
      'm requires a start_frame and 2 files of the role reference_image, which cannot be sent here.',
    );
  });
});

describe('the size in an answer', () => {
  const sizeFor = (modelKey: string, parameters: JsonObject) =>
    sizeOf(ports, { modelKey, parameters, outputs: [{ widthPx: 640, heightPx: 480 }] } as unknown as Generation);

  it("is the value of the model's own parameter", () => {
    expect(sizeFor('renamed', { resolution: '512x512' })).to.equal('512x512');
    expect(sizeFor('unpriced', { size: '64x64' })).to.equal('64x64');
  });

  it('is that of the table, by whatever parameters', () => {
    expect(sizeFor('by-ratio', { aspect_ratio: '16:9', resolution: 2 })).to.equal('2752x1536');
    expect(sizeFor('presets', { size: 'wide' })).to.equal('1024x512');
    expect(sizeFor('by-ratio', { aspect_ratio: '4:3', resolution: 1 }), 'no longer listed').to.equal('640x480');
  });

  it('is that of the first picture where the model has no sizes, is gone, or chose itself', () => {
    expect(sizeFor('bare', {})).to.equal('640x480');
    expect(sizeFor('gone', {})).to.equal('640x480');
    expect(sizeFor('unpriced', { size: 'auto' })).to.equal('640x480');
  });
});
