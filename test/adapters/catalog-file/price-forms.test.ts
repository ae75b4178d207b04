import { expect } from 'chai';
import { CatalogInvalid, parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { creditsByOutputs, type PriceTerms, requestedSize } from '../../../core/catalog/price.js';
import type { Model } from '../../../core/catalog/model.js';

// Goal: the forms of prices that count megapixels, and tables of sizes, are read exactly, and each contradiction between
// them, the modality, the files and the input schema is refused in one sentence.
// Method: small catalogs as people write them; the models, and the sentences.

const tools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };

const parsed = (...lines: readonly string[]): Model => {
  const [model] = parseCatalog(
    ['version: 1', 'models:', '  - model_key: m', '    provider: p', ...lines.map((line) => `    ${line}`)].join('\n'),
    'c.yaml',
    tools,
  ).models();
  if (model === undefined) throw new Error('The catalog has no model.');
  return model;
};

function sentencesOf(...lines: readonly string[]): readonly string[] {
  try {
    parsed(...lines);
    return [];
  } catch (error) {
    if (error instanceof CatalogInvalid)
      return error.faults.map((fault) => fault.replace(/^c\.yaml:\d+: models\[0\]\./, ''));
    throw error;
  }
}

const inputs = (properties: string) => `input_schema: { properties: { ${properties} } }`;
const SIZE = 'size: { type: string, enum: [1024x1024, 512x512], default: 512x512 }';
const SECONDS = 'seconds: { type: integer, minimum: 1, maximum: 10, default: 5 }';
const RATIO = 'aspect_ratio: { type: string, enum: ["1:1", "16:9"], default: "1:1" }';
const SCALE = 'scale: { type: integer, enum: [1, 2], default: 1 }';
const SOUND = 'audio: { type: boolean, default: true }';
const FILES = 'limits: { reference_roles: [reference_image] }';
const TABLE =
  'parameters: [aspect_ratio, scale], sizes: { "1:1": { 1: 1024x1024, 2: 2048x2048 }, 16:9: { 1: 1376x768, 2: 2752x1536 } }';

describe('prices by megapixels in a catalog file', () => {
  const termsOf = (...lines: readonly string[]): PriceTerms => parsed(...lines).price;

  it('round up, and have other rates for the first megapixel and for the reference files', () => {
    const terms = termsOf(
      inputs(SIZE),
      FILES,
      'price: { unit: megapixel, size_parameter: size, credits_per_unit: 1.5, first_unit_credits: "3", input_credits_per_megapixel: 0.000001, round_up: true, pixels_per_megapixel: 1048576 }',
    );
    expect(terms).to.deep.include({
      microcreditsPerUnit: 1_500_000,
      firstUnitMicrocredits: 3_000_000,
      inputMicrocreditsPerMegapixel: 1,
      roundsUp: true,
      pixelsPerMegapixel: 1_048_576,
    });
  });

  it('count the frames of a video, with a factor for a switch', () => {
    const model = parsed(
      'modality: video',
      inputs(`${SIZE}, ${SECONDS}, ${SOUND}`),
      'price:',
      '  unit: megapixel',
      '  credits_per_unit: 1',
      '  size_parameter: size',
      '  duration_parameter: seconds',
      '  frames_per_second: 23.976',
      '  multipliers: [{ parameter: audio, values: { true: 2 } }]',
    );
    expect(model.price).to.deep.include({ frameRateMillihertz: 23_976 });
    const credits = (audio: boolean) => creditsByOutputs(model, { size: '1024x1024', seconds: 5, audio }).at(-1);
    // 1.048576 megapixels in each of 120 frames.
    expect([credits(false), credits(true)]).to.deep.equal([126, 252]);
  });

  it('are without the forms that are not given, or are switched off', () => {
    const terms = termsOf('price: { credits_per_unit: 1, round_up: false }');
    for (const form of [
      'roundsUp',
      'firstUnitMicrocredits',
      'inputMicrocreditsPerMegapixel',
      'frameRateMillihertz',
      'sizeTable',
    ])
      expect(terms).to.not.have.property(form);
  });

  it('give each form a version of its own where the file has none', () => {
    const versions = ['', ', round_up: true', ', first_unit_credits: 1', ', first_unit_credits: 2'].map(
      (more) =>
        termsOf(inputs(SIZE), `price: { unit: megapixel, size_parameter: size, credits_per_unit: 1${more} }`).version,
    );
    expect(new Set(versions).size).to.equal(versions.length);
  });
});

describe('a table of sizes in a catalog file', () => {
  it('has a size for each combination of texts and numbers', () => {
    const { price } = parsed(
      inputs(`${RATIO}, ${SCALE}`),
      `price: { unit: megapixel, credits_per_unit: 1, size_table: { ${TABLE} } }`,
    );
    const sizeOf = (aspect_ratio: string, scale: number) => requestedSize(price, { aspect_ratio, scale });
    expect(sizeOf('16:9', 2)).to.include({ widthPx: 2_752, heightPx: 1_536 });
    expect(sizeOf('1:1', 1)).to.include({ widthPx: 1_024, heightPx: 1_024 });
    expect(price.sizeTable?.sizes).to.have.length(4);
  });

  it('has a size for each value of one parameter', () => {
    const { price } = parsed(
      inputs(RATIO),
      'price: { credits_per_unit: 1, size_table: { parameters: [aspect_ratio], sizes: { 16:9: 16x9, 1:1: 1x1 } } }',
    );
    expect(price.sizeTable).to.deep.equal({
      parameters: ['aspect_ratio'],
      sizes: [
        { values: ['1:1'], widthPx: 1, heightPx: 1 },
        { values: ['16:9'], widthPx: 16, heightPx: 9 },
      ],
    });
  });
});

const CONTRADICTIONS: readonly (readonly [of: string, lines: readonly string[], ...sentences: readonly string[]])[] = [
  [
    'rounding of images',
    ['price: { credits_per_unit: 1, round_up: true }'],
    'price.round_up must not be true for the unit image without input_credits_per_megapixel, since it rounds megapixels.',
  ],
  [
    'whole megapixels that are not rounded',
    [
      inputs(SIZE),
      'price: { unit: megapixel, size_parameter: size, credits_per_unit: 1, pixels_per_megapixel: 1048576 }',
    ],
    'price.pixels_per_megapixel must not be given without round_up: true, since it says which pixels make a whole megapixel.',
  ],
  [
    'a first image',
    ['price: { credits_per_unit: 1, first_unit_credits: 2 }'],
    'price.first_unit_credits must not be given for the unit image, only for megapixel.',
  ],
  [
    'a first megapixel with seven places',
    [
      inputs(SIZE),
      'price: { unit: megapixel, size_parameter: size, credits_per_unit: 1, first_unit_credits: 0.0000001 }',
    ],
    'price.first_unit_credits must be a decimal number from 0 with at most 6 places.',
  ],
  [
    'a price below 0 for reference files',
    [FILES, 'price: { credits_per_unit: 1, input_credits_per_megapixel: -1 }'],
    'price.input_credits_per_megapixel must be a decimal number from 0 with at most 6 places.',
  ],
  [
    'a price for files that the model does not take',
    ['price: { credits_per_unit: 1, input_credits_per_megapixel: 1 }'],
    'price.input_credits_per_megapixel must not be given for a model that takes no reference files.',
  ],
  [
    'frames of a picture',
    [
      inputs(`${SIZE}, ${SECONDS}`),
      'price: { unit: megapixel, size_parameter: size, duration_parameter: seconds, credits_per_unit: 1, frames_per_second: 25 }',
    ],
    'price.frames_per_second must not be given for an image model; give modality: video.',
  ],
  [
    'frames of a price by the second',
    [
      inputs(SECONDS),
      'price: { unit: second, duration_parameter: seconds, credits_per_unit: 1, frames_per_second: 25 }',
    ],
    'price.frames_per_second must not be given for the unit second, only for megapixel.',
  ],
  [
    'frames without a duration',
    [
      'modality: video',
      inputs(SIZE),
      'price: { unit: megapixel, size_parameter: size, credits_per_unit: 1, frames_per_second: 25 }',
    ],
    'price must name a duration_parameter, since it has frames_per_second.',
  ],
  ...['0', '1000.001', '23.9761', '-25', 'x'].map((rate): readonly [string, readonly string[], string] => [
    `${rate} frames per second`,
    [
      'modality: video',
      inputs(`${SIZE}, ${SECONDS}`),
      `price: { unit: megapixel, size_parameter: size, duration_parameter: seconds, credits_per_unit: 1, frames_per_second: ${rate} }`,
    ],
    'price.frames_per_second must be a decimal number above 0, at most 1000, with at most 3 places.',
  ]),
  [
    'a size of its own beside a table',
    [
      inputs(`${SIZE}, ${RATIO}`),
      'price: { credits_per_unit: 1, size_parameter: size, size_table: { parameters: [aspect_ratio], sizes: { "1:1": 1x1, "16:9": 16x9 } } }',
    ],
    'price.size_table must not be given beside size_parameter.',
  ],
  [
    'three parameters',
    [inputs(RATIO), 'price: { credits_per_unit: 1, size_table: { parameters: [a, b, c], sizes: {} } }'],
    'price.size_table.parameters must have at most 2 items.',
  ],
  [
    'a parameter that the model does not have',
    [inputs(RATIO), 'price: { credits_per_unit: 1, size_table: { parameters: [ratio], sizes: { "1:1": 1x1 } } }'],
    'price.size_table.parameters[0] must name a parameter with an enum of texts or numbers.',
  ],
  [
    'a parameter without a list of values',
    [inputs(SECONDS), 'price: { credits_per_unit: 1, size_table: { parameters: [seconds], sizes: { 1: 1x1 } } }'],
    'price.size_table.parameters[0] must name a parameter with an enum of texts or numbers.',
  ],
  [
    'a parameter that may be missing',
    [
      inputs('ratio: { enum: [wide] }'),
      'price: { credits_per_unit: 1, size_table: { parameters: [ratio], sizes: { wide: 2x1 } } }',
    ],
    'price.size_table.parameters[0] must name a parameter that is required or has a default.',
  ],
  [
    'a value without a size',
    [
      inputs(RATIO),
      'price: { credits_per_unit: 1, size_table: { parameters: [aspect_ratio], sizes: { "1:1": 1x1 } } }',
    ],
    'price.size_table.sizes must have each value of the parameter aspect_ratio; it lacks 16:9.',
  ],
  [
    'a combination without a size',
    [
      inputs(`${RATIO}, ${SCALE}`),
      `price: { credits_per_unit: 1, size_table: { ${TABLE.replace(', 2: 2752x1536', '')} } }`,
    ],
    'price.size_table.sizes.16:9 must have each value of the parameter scale; it lacks 2.',
  ],
  [
    'a size for a value that no request can have',
    [
      inputs(RATIO),
      'price: { credits_per_unit: 1, size_table: { parameters: [aspect_ratio], sizes: { "1:1": 1x1, "16:9": 16x9, "4:3": 4x3 } } }',
    ],
    'price.size_table.sizes.4:3 must be a value that the parameter aspect_ratio can have.',
  ],
  [
    'a size in another form',
    [
      inputs(RATIO),
      'price: { credits_per_unit: 1, size_table: { parameters: [aspect_ratio], sizes: { "1:1": 0x1, "16:9": 16x9 } } }',
    ],
    'price.size_table.sizes.1:1 must be WIDTHxHEIGHT, each of 1 to 999999 pixels.',
  ],
  [
    'sizes by one of two parameters',
    [
      inputs(`${RATIO}, ${SCALE}`),
      'price: { credits_per_unit: 1, size_table: { parameters: [aspect_ratio, scale], sizes: { "1:1": 1x1, "16:9": 16x9 } } }',
    ],
    'price.size_table.sizes.1:1 must have a size for each value of the parameter scale.',
    'price.size_table.sizes.16:9 must have a size for each value of the parameter scale.',
  ],
  [
    'sizes by two parameters of one',
    [
      inputs(RATIO),
      'price: { credits_per_unit: 1, size_table: { parameters: [aspect_ratio], sizes: { "1:1": { 1: 1x1 }, "16:9": 16x9 } } }',
    ],
    'price.size_table.sizes.1:1 must be WIDTHxHEIGHT, each of 1 to 999999 pixels.',
  ],
];

describe('a price that contradicts itself or its model', () => {
  for (const [of, lines, ...sentences] of CONTRADICTIONS)
    it(`is refused: ${of}`, () => expect(sentencesOf(...lines)).to.deep.equal(sentences));
});
