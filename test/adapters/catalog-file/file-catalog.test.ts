import { expect } from 'chai';
import fc from 'fast-check';
import { CatalogInvalid, loadCatalog, parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { scaledDecimal } from '../../../adapters/catalog-file/price-rules.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { defaultConcurrencyPerAccount } from '../../../core/catalog/model.js';
import type { JsonObject } from '../../../core/json.js';
import { catalogContract } from '../../contracts/catalog.contract.js';
import { GOOD_CATALOG } from './catalog-text.js';

// Goal: a catalog file is read exactly, and every mistake in it is reported with its line.
// Method: one valid catalog is read and compared; then one edit at a time is made to it, and all reported faults are
// compared with the expected ones.

const tools = {
  jsonSchemas: new AjvJsonSchemas(),
  checkSchema,
  providers: new Map([
    [
      'sandbox',
      ({ painter, body }: JsonObject) => {
        if (body !== undefined) return '/body/frame: It has no file.';
        return painter === 'imagee' ? 'There is no painter imagee.' : undefined;
      },
    ],
  ]),
};

function faultsOf(text: string): readonly string[] {
  try {
    parseCatalog(text, 'c.yaml', tools);
    return [];
  } catch (error) {
    if (error instanceof CatalogInvalid) return error.faults;
    throw error;
  }
}

/** The good catalog with one piece of text replaced; fails when the piece is not there. */
function edited(from: string, to: string): string {
  expect(GOOD_CATALOG, `the catalog has ${from}`).to.include(from);
  return GOOD_CATALOG.replace(from, () => to);
}

const NOTE = 'note: { type: string, maxLength: 40 }';

/** One edit of the good catalog: the text that is replaced, its replacement, and the faults, each with its line. */
const VECTORS: readonly (readonly [of: string, from: string, to: string, ...faults: string[]])[] = [
  [
    'an unknown unit',
    'unit: megapixel',
    'unit: byte',
    '25: models[0].price.unit must be one of image, megapixel, second, video, task.',
  ],
  [
    'an example that is no request of the model',
    'max_attempts: 3',
    `max_attempts: 3
    examples:
      - { title: Fine, prompt: a red kite, parameters: { n: 2, size: 512x512 } }
      - prompt: a red kite
        parameters:
          size: 640x480
      - parameters: { n: 1 }
      - prompt: "  "
      - prompt: a red kite
        parameters: { note: see https://example.com, colour: red }
      - prompt: a red kite
        parameters: { note: "see https://example.com" }`,
    '44: models[0].examples[1].parameters.size must be one of 512x512, 1024x1024.',
    '45: models[0].examples[2].prompt is required.',
    '46: models[0].examples[3].prompt must not be white space alone.',
    '48: models[0].examples[4].parameters.colour is not usable: unknown field "parameters.colour".',
    '50: models[0].examples[5].parameters.note must not be a URL, host, path or bucket.',
  ],
  [
    'misshapen examples',
    'max_attempts: 3',
    'max_attempts: 3\n    examples: [{ title: "", words: a kite }, { prompt: 5 }]\n    test: yes',
    '40: models[0].examples[0].title must not be empty.',
    '40: unknown field "models[0].examples[0].words".',
    '40: models[0].examples[1].prompt must be a string.',
    '41: models[0].test must be true or false.',
  ],
  [
    'more than ten examples',
    'max_attempts: 3',
    `max_attempts: 3\n    examples: [${'{ prompt: a }, '.repeat(11)}]`,
    '40: models[0].examples must have at most 10 items.',
  ],
  [
    'an unknown source of the mark',
    'max_attempts: 3',
    'max_attempts: 3\n    ai_mark: { source: digitalCapture }',
    '40: models[0].ai_mark.source must be one of by_references, trained, composite, algorithmic, none.',
  ],
  [
    'a mark that says nothing',
    'max_attempts: 3',
    'max_attempts: 3\n    ai_mark: {}',
    '40: models[0].ai_mark must have at least 1 field.',
  ],
  [
    'a long name of a system',
    'max_attempts: 3',
    `max_attempts: 3\n    ai_mark: { system: ${'x'.repeat(201)}, system_version: "" }`,
    '40: models[0].ai_mark.system must be at most 200 characters.',
    '40: models[0].ai_mark.system_version must not be empty.',
  ],
  [
    'names that no reader can show',
    'max_attempts: 3',
    'max_attempts: 3\n    ai_mark: { system: "a\\tb", system_version: " " }',
    '40: models[0].ai_mark.system must not have control characters.',
    '40: models[0].ai_mark.system_version must not be blank.',
  ],
  [
    'a system of outputs that get no mark',
    'max_attempts: 3',
    'max_attempts: 3\n    ai_mark: { source: none, system: Imager }',
    '40: models[0].ai_mark.system must not be given where source is none: no mark is written.',
  ],
  [
    'an unknown key of a model',
    'max_attempts: 3',
    'max_attempts: 3\n    colour: red',
    '40: unknown field "models[0].colour".',
  ],
  ['a missing key', 'model_key: picture-1\n    ', '', '3: models[0].model_key is required.'],
  ['a missing rate', '      credits_per_unit: 0.1\n', '', '23: models[0].price.credits_per_unit is required.'],
  [
    'a price alone with seven places',
    'price: { version: "1", unit: second, credits_per_unit: 4, duration_parameter: seconds, minimum_credits: 0, maximum_credits: 100 }',
    'price: 0.1234567',
    '56: models[1].price must be a decimal number from 0 with at most 6 places.',
  ],
  [
    'a list as the price',
    'price: { version: "1", unit: second, credits_per_unit: 4, duration_parameter: seconds, minimum_credits: 0, maximum_credits: 100 }',
    'price: [4]',
    '56: models[1].price must be an object or a number or a string.',
  ],
  [
    'an unknown rule for prompts',
    'max_attempts: 3',
    'max_attempts: 3\n    prompt: never',
    '40: models[0].prompt must be one of required, optional, none.',
  ],
  [
    'prompts longer than any',
    'max_attempts: 3',
    'max_attempts: 3\n    max_prompt_characters: 8001',
    '40: models[0].max_prompt_characters must be at most 8000.',
  ],
  [
    'a required role that the model does not take',
    'max_attempts: 3',
    'max_attempts: 3\n    required_roles: [reference_image, start_frame]',
    '40: models[0].required_roles must be roles of limits.reference_roles, which does not have start_frame.',
  ],
  [
    'more required roles than files',
    'max_reference_uploads: 2, reference_roles: [start_frame, end_frame]',
    'max_reference_uploads: 1, reference_roles: [start_frame, end_frame] }\n    required_roles: [end_frame, start_frame]\n    ai_mark: { system: x } #',
    '56: models[1].required_roles must not be more than limits.max_reference_uploads, 1.',
  ],
  [
    'a frame that is required twice',
    'max_reference_uploads: 2, reference_roles: [start_frame, end_frame]',
    'max_reference_uploads: 2, reference_roles: [start_frame, end_frame] }\n    required_roles: [end_frame, end_frame]\n    ai_mark: { system: x } #',
    '56: models[1].required_roles must not have end_frame twice: a request has at most one.',
  ],
  [
    'more required files than a request may have',
    'max_attempts: 3',
    'max_attempts: 3\n    required_roles: [reference_image, reference_image, reference_image, reference_image, reference_image, reference_image, reference_image, reference_image, reference_image]',
    '40: models[0].required_roles must have at most 8 items.',
  ],
  [
    'an origin without a digest',
    'max_attempts: 3',
    'max_attempts: 3\n    origin: { ref: "fal:a/b", date: "2026-11-29" }',
    '40: models[0].origin.digest is required.',
  ],
  [
    'files without roles',
    '      reference_roles: [reference_image]\n',
    '',
    '16: models[0].limits.reference_roles must not be empty when max_reference_uploads is above 0.',
  ],
  [
    'a run timeout beyond the life of uploads',
    'queue_timeout_seconds: 3600\n    run_timeout_seconds: 300',
    'run_timeout_seconds: 86100',
    '37: models[0].queue_timeout_seconds and run_timeout_seconds must together be below 86400, the day that uploads are kept.',
  ],
  [
    'more for one account than the default for all',
    'concurrency: 4\n    concurrency_per_account: 2',
    'concurrency_per_account: 5',
    '40: models[0].concurrency_per_account must not be above concurrency, 4.',
  ],
  [
    'a count without a maximum',
    'minimum: 1, maximum: 4, default: 1 }',
    'minimum: 1, default: 1 }',
    '28: models[0].price.count_parameter must name an integer parameter with a minimum of at least 1 and a maximum of at most limits.max_outputs, 4.',
  ],
  [
    'a key given twice',
    'max_attempts: 3',
    'max_attempts: 3\n    max_attempts: 4',
    '40: models[0].max_attempts is given twice.',
  ],
  ['another version', 'version: 1\n', 'version: 2\n', '1: version must be 1.'],
  [
    'a model key twice',
    'film-1',
    'picture-1',
    '45: models[1].model_key must be unique; models[0] has the key "picture-1" too.',
  ],
  [
    'a model key with capitals',
    'film-1',
    'Film',
    '45: models[1].model_key must match the pattern ^[a-z0-9._-]{1,128}$.',
  ],
  [
    'an operation of another modality',
    '[image_generation]',
    '[video_generation]',
    '6: models[0].operations must be [image_generation] for a model of modality image.',
  ],
  [
    'a frame for an image model',
    '[reference_image]',
    '[start_frame]',
    '18: models[0].limits.reference_roles may hold start_frame and end_frame for a video model only.',
  ],
  [
    'an empty provider',
    'provider: sandbox\n    provider_settings',
    'provider: ""\n    provider_settings',
    '35: models[0].provider must not be empty.',
  ],
  [
    'a provider that is not connected',
    'provider: sandbox\n    provider_settings',
    'provider: sandbx\n    provider_settings',
    '35: models[0].provider must be a connected provider, one of sandbox; sandbx is none.',
  ],
  [
    'settings its provider cannot use',
    'painter: image }',
    'painter: imagee }',
    '36: models[0].provider_settings is not usable: There is no painter imagee.',
  ],
  [
    'a place within the settings of its provider',
    'provider_settings: { painter: image }',
    'provider_settings:\n      body:\n        prompt: "{prompt}"\n        frame: 1',
    '39: models[0].provider_settings is not usable: /body/frame: It has no file.',
  ],
  ['too many attempts', 'max_attempts: 3', 'max_attempts: 11', '39: models[0].max_attempts must be at most 10.'],
  [
    'more for one account than for all',
    'concurrency_per_account: 2',
    'concurrency_per_account: 5',
    '41: models[0].concurrency_per_account must not be above concurrency, 4.',
  ],
  [
    'no time to run',
    'run_timeout_seconds: 300',
    'run_timeout_seconds: 0',
    '38: models[0].run_timeout_seconds must be at least 1.',
  ],
  [
    'deadlines beyond the life of uploads',
    'queue_timeout_seconds: 3600',
    'queue_timeout_seconds: 86100',
    '37: models[0].queue_timeout_seconds and run_timeout_seconds must together be below 86400, the day that uploads are kept.',
  ],
  [
    'another answer to unknown acceptance',
    'on_unknown_acceptance: resubmit',
    'on_unknown_acceptance: hope',
    '43: models[0].on_unknown_acceptance must be one of resubmit, fail.',
  ],
  [
    'a floor above the most it can cost',
    'cancel_floor_credits: 2',
    'cancel_floor_credits: 101',
    '63: models[1].cancel_floor_credits must not be above price.maximum_credits.',
  ],
  [
    'a rate of seven places',
    'credits_per_unit: 0.1',
    'credits_per_unit: 0.1234567',
    '26: models[0].price.credits_per_unit must be a decimal number from 0 with at most 6 places.',
  ],
  [
    'a negative rate',
    'credits_per_unit: 0.1',
    'credits_per_unit: -1',
    '26: models[0].price.credits_per_unit must be a decimal number from 0 with at most 6 places.',
  ],
  [
    'a rate that no integer holds',
    'credits_per_unit: 0.1',
    'credits_per_unit: 9007199254.740992',
    '26: models[0].price.credits_per_unit must be a decimal number from 0 with at most 6 places.',
  ],
  [
    'a multiplier of four places',
    'fine: 1.125',
    'fine: 1.1255',
    '32: models[0].price.multipliers[0].values.fine must be a decimal number from 0 with at most 3 places.',
  ],
  [
    'a multiplier for no value',
    'fine: 1.125',
    'best: 2',
    '32: models[0].price.multipliers[0].values.best must be a value that the parameter quality can have.',
  ],
  [
    'a multiplier for no parameter',
    '- parameter: quality',
    '- parameter: colour',
    '31: models[0].price.multipliers[0].parameter must name a parameter of input_schema.',
  ],
  [
    'bounds the wrong way round',
    'minimum_credits: 1\n',
    'minimum_credits: 101\n',
    '33: models[0].price.minimum_credits must not be above maximum_credits.',
  ],
  [
    'a bound that is no safe integer',
    'maximum_credits: 100\n',
    'maximum_credits: 9007199254740993\n',
    '34: models[0].price.maximum_credits must be a number within ±(2^53 - 1).',
  ],
  [
    'a count beyond the outputs',
    'max_outputs: 4',
    'max_outputs: 3',
    '28: models[0].price.count_parameter must name an integer parameter with a minimum of at least 1 and a maximum of at most limits.max_outputs, 3.',
  ],
  [
    'a count that is no integer',
    'count_parameter: n',
    'count_parameter: note',
    '28: models[0].price.count_parameter must name an integer parameter with a minimum of at least 1 and a maximum of at most limits.max_outputs, 4.',
  ],
  [
    'a size that is no size',
    'size_parameter: size',
    'size_parameter: quality',
    '29: models[0].price.size_parameter must name a string parameter whose enum or pattern takes only WIDTHxHEIGHT.',
  ],
  [
    'a size that may be missing',
    ', default: 512x512',
    '',
    '29: models[0].price.size_parameter must name a parameter that is required or has a default.',
  ],
  [
    'a size of a loose pattern',
    'enum: [512x512, 1024x1024]',
    "pattern: '^.*x.*$'",
    '29: models[0].price.size_parameter must name a string parameter whose enum or pattern takes only WIDTHxHEIGHT.',
  ],
  [
    'megapixels without a size',
    '      size_parameter: size\n',
    '',
    '23: models[0].price must name a size_parameter or have a size_table, since its unit is megapixel.',
  ],
  [
    'seconds without a duration',
    'duration_parameter: seconds, ',
    '',
    '56: models[1].price must name a duration_parameter, since its unit is second.',
  ],
  [
    'a duration without an end',
    'minimum: 1, maximum: 8',
    'minimum: 1',
    '56: models[1].price.duration_parameter must name an integer parameter of seconds with a minimum of at least 1 and a maximum.',
  ],
  [
    'a schema that is no schema',
    'type: integer, minimum: 1, maximum: 8',
    'type: whole',
    '54: models[1].input_schema.properties.seconds.type must be one of array, boolean, integer, null, number, object, string.',
  ],
  [
    'an open object',
    '      additionalProperties: false\n      required',
    '      additionalProperties: true\n      required',
    '49: models[1].input_schema must have additionalProperties: false.',
  ],
  [
    'an open object inside',
    NOTE,
    'note: { type: array, items: { type: object } }',
    '15: models[0].input_schema.properties.note.items must have additionalProperties: false.',
  ],
  [
    'an unbounded text',
    NOTE,
    'note: { type: string, minLength: 1 }',
    '15: models[0].input_schema.properties.note is a string and must have an enum, a const, a pattern or a maxLength.',
  ],
  [
    'a text that may not fit a request',
    NOTE,
    'note: { type: string, maxLength: 8000 }',
    '11: models[0].input_schema.properties may take 96000 bytes of a request with all characters of their texts escaped, and must take at most 61440; lower maxLength or maxItems.',
  ],
  [
    'a list of texts that may not fit a request',
    NOTE,
    'note: { type: array, maxItems: 10, items: { anyOf: [{ type: integer }, { type: string, maxLength: 513 }] } }',
    '11: models[0].input_schema.properties may take 61560 bytes of a request with all characters of their texts escaped, and must take at most 61440; lower maxLength or maxItems.',
  ],
  [
    'an unbounded text in a choice',
    NOTE,
    'note: { anyOf: [{ type: integer }, { type: string }] }',
    '15: models[0].input_schema.properties.note.anyOf[1] is a string and must have an enum, a const, a pattern or a maxLength.',
  ],
  ['a property of any kind', NOTE, 'note: true', '15: models[0].input_schema.properties.note must have a type.'],
  [
    'an array of anything',
    NOTE,
    'note: { type: array }',
    '15: models[0].input_schema.properties.note is an array and must define its items.',
  ],
  [
    'a default that does not conform',
    'default: draft',
    'default: best',
    '14: models[0].input_schema.properties.quality.default does not conform to its own schema: the value must be one of draft, fine.',
  ],
  [
    'a remote reference',
    NOTE,
    'note: { $ref: "https://example.org/note.json" }',
    "8: models[0].input_schema is not usable: the schema cannot be compiled: can't resolve reference https://example.org/note.json from id #.",
  ],
  [
    'broken YAML',
    'operations: [image_generation]',
    'operations: [image_generation',
    '7: The YAML cannot be read: Flow sequence in block collection must be sufficiently indented and end with a ].',
  ],
  [
    'a number that is none',
    'poll_interval_ms: 500',
    'poll_interval_ms: .nan',
    '44: models[0].poll_interval_ms must be a number within ±(2^53 - 1).',
  ],
];

describe('catalog file', () => {
  it('reads a good catalog into models', () => {
    const catalog = parseCatalog(GOOD_CATALOG, 'c.yaml', tools);
    expect(catalog.models().map(({ modelKey }) => modelKey)).to.deep.equal(['picture-1', 'film-1']);
    expect(catalog.find('none')).to.equal(undefined);
    const picture = catalog.find('picture-1');
    expect(picture).to.deep.include({
      displayName: 'Picture',
      modality: 'image',
      operations: ['image_generation'],
      description: 'Makes pictures.',
      route: [{ provider: 'sandbox', settings: { painter: 'image' }, weight: 1 }],
      queueTimeoutMs: 3_600_000,
      runTimeoutMs: 300_000,
      maxAttempts: 3,
      concurrency: 4,
      concurrencyPerAccount: 2,
      cancelFloorCredits: 0,
      onUnknownAcceptance: 'resubmit',
      pollIntervalMs: 500,
    });
    expect(picture?.limits).to.deep.equal({
      maxReferenceUploads: 4,
      referenceRoles: ['reference_image'],
      uploadMediaTypes: ['image/png'],
      maxUploadBytes: 1_048_576,
      maxOutputs: 4,
      negativePrompt: true,
    });
    expect(picture?.price).to.deep.equal({
      version: '1',
      unit: 'megapixel',
      microcreditsPerUnit: 100_000,
      baseMicrocredits: 1,
      countParameter: 'n',
      sizeParameter: 'size',
      multipliers: [{ parameter: 'quality', thousandthsByValue: { draft: 1_000, fine: 1_125 } }],
      minimumCredits: 1,
      maximumCredits: 100,
    });
    expect(catalog.find('film-1')?.price).to.deep.equal({
      version: '1',
      unit: 'second',
      microcreditsPerUnit: 4_000_000,
      baseMicrocredits: 0,
      durationParameter: 'seconds',
      multipliers: [],
      minimumCredits: 0,
      maximumCredits: 100,
    });
  });

  for (const [of, from, to, ...faults] of VECTORS)
    it(`names the line of ${of}`, () => {
      expect(faultsOf(edited(from, to))).to.deep.equal(faults.map((fault) => `c.yaml:${fault}`));
    });

  it('reads examples and which models are for tests', () => {
    const examples = '[{ title: Kite, prompt: a red kite, parameters: { n: 2 } }]';
    const catalog = parseCatalog(
      edited('max_attempts: 3', `max_attempts: 3\n    test: true\n    examples: ${examples}`),
      'c.yaml',
      tools,
    );
    const [tried, other] = catalog.models();
    expect(tried).to.deep.include({
      isTest: true,
      examples: [{ title: 'Kite', prompt: 'a red kite', parameters: { n: 2 } }],
    });
    expect(other).to.not.have.any.keys('isTest', 'examples');
    expect(parseCatalog(catalog.explained(), 'again.yaml', tools).models()).to.deep.equal(catalog.models());
  });

  it('reads what the mark of a model says', () => {
    const markOf = (text: string) =>
      parseCatalog(edited('max_attempts: 3', `max_attempts: 3\n    ai_mark: ${text}`), 'c.yaml', tools).models()[0]
        ?.mark;
    expect(markOf('{ source: composite, system: A & B, system_version: "2" }')).to.deep.equal({
      source: 'compositeWithTrainedAlgorithmicMedia',
      system: 'A & B',
      systemVersion: '2',
    });
    expect(markOf('{ system: Imager }')).to.deep.equal({ source: 'by-references', system: 'Imager' });
    expect(
      ['by_references', 'trained', 'algorithmic', 'none'].map((source) => markOf(`{ source: ${source} }`)?.source),
    ).to.deep.equal(['by-references', 'trainedAlgorithmicMedia', 'algorithmicMedia', 'none']);
  });

  it('lists all faults at once, by line', () => {
    const text = edited('max_attempts: 3', 'max_attempts: 0')
      .replace('film-1', 'FILM')
      .replace('unit: megapixel', 'unit: byte');
    expect(faultsOf(text).map((fault) => fault.split(':')[1])).to.deep.equal(['25', '39', '45']);
  });

  it('leaves out each model that needs a missing provider if that is asked for, and still checks the others', () => {
    const leavesOut = { ...tools, leavesOutOthers: true };
    const read = (text: string) =>
      parseCatalog(text, 'c.yaml', leavesOut)
        .models()
        .map(({ modelKey }) => modelKey);
    const elsewhere = edited('provider: sandbox\n    provider_settings', 'provider: other\n    provider_settings');
    expect(read(elsewhere)).to.deep.equal(['film-1']);
    // With a part of its route, a worker would skip the provider that the catalog puts first.
    const routed = edited(
      'provider: sandbox\n    provider_settings: { painter: image }',
      'route: [{ provider: other }, { provider: sandbox }]',
    );
    expect(read(routed)).to.deep.equal(['film-1']);
    expect(() => read(edited('painter: image }', 'painter: imagee }'))).to.throw('There is no painter imagee.');
    expect(() => read(elsewhere.replace('provider: sandbox', 'provider: other'))).to.throw(
      CatalogInvalid,
      'c.yaml: Every model needs a provider that is not connected.',
    );
  });

  it('says why a file cannot be read', async () => {
    const missing = await loadCatalog('no/such/catalog.yaml', tools).catch((error: unknown) => error);
    expect(missing)
      .to.be.instanceOf(CatalogInvalid)
      .with.property('message', 'no/such/catalog.yaml: There is no such file.');
  });

  it('refuses an empty file and one that is a list', () => {
    expect(faultsOf('')).to.deep.equal(['c.yaml:1: the value must be an object.']);
    expect(faultsOf('- 1')).to.deep.equal(['c.yaml:1: the value must be an object.']);
  });

  it('reads aliases, and refuses those that never end or grow without bound', () => {
    const good = edited('concurrency: 4\n', 'concurrency: &many 4\n').replace(
      'concurrency_per_account: 2',
      'concurrency_per_account: *many',
    );
    expect(faultsOf(good)).to.deep.equal([]);
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x, x, x]',
      ...'bcdefghi'
        .split('')
        .map((name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdefgh'[index]}`).join(', ')}]`),
    ].join('\n');
    expect(faultsOf(bomb))
      .to.have.lengthOf(1)
      .and.to.match(/repeats too much by aliases/);
  });

  it('leaves places for other accounts if a model sets no limit per account', () => {
    const perAccount = (concurrency: number) => {
      const text = edited('concurrency: 4\n    concurrency_per_account: 2', `concurrency: ${concurrency}`);
      return parseCatalog(text, 'c.yaml', tools).models()[0]!.concurrencyPerAccount;
    };
    expect([1, 2, 3, 4, 8, 64].map(perAccount)).to.deep.equal([1, 1, 2, 3, 6, 48]);
    for (let concurrency = 2; concurrency <= 1_000; concurrency += 1)
      expect(defaultConcurrencyPerAccount(concurrency)).to.be.within(1, concurrency - 1);
  });

  it('reads any decimal of six places exactly', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, BigInt(Number.MAX_SAFE_INTEGER)), (micro) => {
        const text = `${micro / 1_000_000n}.${(micro % 1_000_000n).toString().padStart(6, '0')}`;
        expect(scaledDecimal(text, 6)).to.equal(Number(micro));
        const [model] = parseCatalog(
          edited('credits_per_unit: 0.1', `credits_per_unit: ${text}`),
          'c.yaml',
          tools,
        ).models();
        expect(model?.price.microcreditsPerUnit).to.equal(Number(micro));
      }),
      { numRuns: 50 },
    );
  });
});

// Goal: a catalog read from a file, including the shipped one, keeps the port's contract.
// Method: the contract on a catalog from text and on config/catalog.yaml as the program reads it.

const contractTools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };

catalogContract({
  name: 'a file',
  open: async () => parseCatalog(GOOD_CATALOG, 'c.yaml', contractTools),
  close: async () => undefined,
  supports: { keys: ['picture-1', 'film-1'] },
});

catalogContract({
  name: 'the file that ships',
  open: async () => loadCatalog('config/catalog.yaml', contractTools),
  close: async () => undefined,
  supports: { keys: ['sandbox-image', 'sandbox-video', 'sandbox-noop', 'sandbox-test'] },
});

describe('the catalog that ships', () => {
  it('keeps one account from taking every slot of a model', async () => {
    for (const { modelKey, concurrency, concurrencyPerAccount } of (
      await loadCatalog('config/catalog.yaml', contractTools)
    ).models()) {
      expect(concurrencyPerAccount, modelKey).to.be.lessThan(concurrency);
    }
  });
});
