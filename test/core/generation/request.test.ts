import { expect } from 'chai';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { Authenticator } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import { createKey } from '../../../core/access/manage.js';
import type { Model } from '../../../core/catalog/model.js';
import { ServiceError } from '../../../core/errors.js';
import { NOT_BLANK } from '../../../core/fields.js';
import { createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { readGenerationRequest } from '../../../core/generation/quote.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { catalogOf, imageModel } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { connectedProviders, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, untilSettled, expectCode } from '../../harness/core-harness.js';
import { complete, prepare, send } from '../uploads/upload-steps.js';

// Goal: the body of create and estimate is validated as promised: lengths in code points, well-formed text, one entry
// per upload.
// Method: cases at the edges of every rule, each with the expected code and pointer.

const jsonSchemas = new AjvJsonSchemas();
const id = (digit: number) => `01900000-0000-7000-8000-00000000000${digit}`;
const NUL = String.fromCharCode(0);
const body = (changes: JsonObject = {}): JsonObject => ({
  model_key: 'm',
  operation: 'image_generation',
  prompt: 'p',
  ...changes,
});

function refusalOf(value: Json): { readonly code: string; readonly pointer: string | undefined } | undefined {
  const read = readGenerationRequest({ jsonSchemas }, value);
  return read instanceof ServiceError ? { code: read.code, pointer: read.details.pointer } : undefined;
}

const ACCEPTED: readonly (readonly [string, JsonObject])[] = [
  ['a prompt of 8,000 code points', { prompt: 'x'.repeat(8_000) }],
  ['a prompt of 8,000 astral code points', { prompt: '🏠'.repeat(8_000) }],
  ['a prompt of a byte order mark, which is no white space', { prompt: '\ufeff' }],
  ['a prompt of a zero-width space, which is none either', { prompt: '\u200b' }],
  ['a prompt with white space around it', { prompt: ' \u3000x\n' }],
  ['an empty negative prompt', { negative_prompt: '' }],
  ['a negative prompt of 8,000 code points', { negative_prompt: '🏠'.repeat(8_000) }],
  ['right-to-left marks and line breaks', { prompt: '\u200f\u202eabc\r\n\t' }],
  ['eight references', { reference_upload_ids: [0, 1, 2, 3, 4, 5, 6, 7].map(id) }],
  ['a trace id of 128 characters', { client_trace_id: 'aZ09._:-'.repeat(16) }],
  ['null where a field may be left out', { client_trace_id: null, parameters: null }],
  ['parameters of any shape', { parameters: { a: [1, { b: null }] } }],
];

type Refused = readonly [what: string, sent: Json, code: string, pointer: string];
const invalid = (what: string, changes: JsonObject, pointer: string): Refused => [
  what,
  body(changes),
  'FIELD_INVALID',
  pointer,
];

const REFUSED: readonly Refused[] = [
  ['no model_key', { operation: 'image_generation', prompt: 'p' }, 'FIELD_REQUIRED', '/model_key'],
  ['nothing at all', {}, 'FIELD_REQUIRED', '/model_key'],
  ['a missing prompt before an invalid operation', { model_key: 'm', operation: 'x' }, 'FIELD_REQUIRED', '/prompt'],
  ['an array', [], 'FIELD_INVALID', ''],
  ['null', null, 'FIELD_INVALID', ''],
  invalid('an empty prompt', { prompt: '' }, '/prompt'),
  invalid('a prompt of blanks', { prompt: '   ' }, '/prompt'),
  invalid(
    'a prompt of every kind of white space',
    { prompt: '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000' },
    '/prompt',
  ),
  invalid('a prompt of 8,001 code points', { prompt: 'x'.repeat(8_001) }, '/prompt'),
  invalid('a prompt of 8,001 astral code points', { prompt: '🏠'.repeat(8_001) }, '/prompt'),
  invalid('a negative prompt of 8,001 code points', { negative_prompt: 'x'.repeat(8_001) }, '/negative_prompt'),
  invalid('a prompt with NUL', { prompt: `a${NUL}b` }, '/prompt'),
  invalid('a prompt with a lone high surrogate', { prompt: 'a\ud83c' }, '/prompt'),
  invalid('a prompt with a lone low surrogate', { prompt: '\udfe0a' }, '/prompt'),
  invalid('a parameter with NUL', { parameters: { style: { deep: [`a${NUL}`] } } }, '/parameters/style/deep/0'),
  invalid('a parameter name with a lone surrogate', { parameters: { '\ud800': 1 } }, '/parameters'),
  invalid('a parameter name with NUL', { parameters: { deep: { [`a${NUL}`]: 1 } } }, '/parameters/deep'),
  invalid('a number that is not finite', { parameters: { steps: Infinity } }, '/parameters/steps'),
  invalid('an unknown field', { webhook_url: 'https://example.com' }, '/webhook_url'),
  [
    'a field called __proto__',
    JSON.parse('{"model_key":"m","operation":"image_generation","prompt":"p","__proto__":{}}') as Json,
    'FIELD_INVALID',
    '/__proto__',
  ],
  invalid('an unknown operation', { operation: 'audio_generation' }, '/operation'),
  invalid('parameters that are a list', { parameters: [] }, '/parameters'),
  ['null where a field is required', body({ prompt: null }), 'FIELD_REQUIRED', '/prompt'],
  invalid('nine references', { reference_upload_ids: [0, 1, 2, 3, 4, 5, 6, 7, 8].map(id) }, '/reference_upload_ids'),
  invalid('a reference twice', { reference_upload_ids: [id(1), id(2), id(1)] }, '/reference_upload_ids/2'),
  invalid(
    'a reference twice, in two cases',
    { reference_upload_ids: ['0190000A-0000-7000-8000-000000000001', '0190000a-0000-7000-8000-000000000001'] },
    '/reference_upload_ids/1',
  ),
  invalid('a reference in braces', { reference_upload_ids: [`{${id(1)}}`] }, '/reference_upload_ids/0'),
  invalid('a reference that is no id', { reference_upload_ids: ['x'] }, '/reference_upload_ids/0'),
  invalid('an empty trace id', { client_trace_id: '' }, '/client_trace_id'),
  invalid('a trace id of 129 characters', { client_trace_id: 'a'.repeat(129) }, '/client_trace_id'),
  invalid('a trace id with a trailing newline', { client_trace_id: 'a\n' }, '/client_trace_id'),
  invalid('a trace id with a space', { client_trace_id: 'a b' }, '/client_trace_id'),
];

describe('readGenerationRequest', () => {
  for (const [name, changes] of ACCEPTED)
    it(`accepts ${name}`, () => expect(refusalOf(body(changes))).to.equal(undefined));
  for (const [name, value, code, pointer] of REFUSED)
    it(`refuses ${name}`, () => expect(refusalOf(value)).to.deep.equal({ code, pointer }));

  it('reads upper-case ids like lower-case ones', () => {
    expect(
      readGenerationRequest({ jsonSchemas }, body({ reference_upload_ids: ['0190000A-BCDE-7000-8000-000000000001'] })),
    ).to.have.deep.property('referenceUploadIds', ['0190000a-bcde-7000-8000-000000000001']);
  });

  it('refuses excessive nesting, without running out of stack', () => {
    let deep: Json = 1;
    for (let level = 0; level < 20_000; level += 1) deep = { a: deep };
    expect(refusalOf(body({ parameters: deep as JsonObject }))).to.have.property('code', 'FIELD_INVALID');
  });

  it('treats as white space what Unicode does', () => {
    const notBlank = new RegExp(NOT_BLANK, 'u');
    const isWrong = (point: number): boolean =>
      notBlank.test(String.fromCodePoint(point)) === /\p{White_Space}/u.test(String.fromCodePoint(point));
    expect(Array.from({ length: 0x110000 }, (_, point) => point).filter(isWrong)).to.deep.equal([]);
  });

  it('points to parameters for an unknown field that is a parameter of the model', () => {
    const model = imageModel({
      inputSchema: { type: 'object', additionalProperties: false, properties: { 'size': {}, 'a/b': {}, 'prompt': {} } },
    });
    const catalog = catalogOf(() => [model]);
    const says = (sent: JsonObject): unknown => {
      const read = readGenerationRequest({ jsonSchemas, catalog }, sent);
      return read instanceof ServiceError ? [read.code, read.details.pointer, read.message] : read;
    };
    const sent = body({ model_key: model.modelKey });
    expect(says({ ...sent, size: 1 })).to.deep.equal([
      'FIELD_INVALID',
      '/size',
      'size is not a field; it is a parameter of plain-image: send it in parameters.',
    ]);
    expect(says({ ...sent, 'a/b': 1 })).to.deep.equal([
      'FIELD_INVALID',
      '/a~1b',
      'a/b is not a field; it is a parameter of plain-image: send it in parameters.',
    ]);
    expect(says({ ...sent, toString: 1 })).to.deep.equal(['FIELD_INVALID', '/toString', 'unknown field "toString".']);
    expect(says({ ...sent, model_key: 'x', size: 1 })).to.deep.equal([
      'FIELD_INVALID',
      '/size',
      'unknown field "size".',
    ]);
    expect(says({ ...sent, prompt: '' }), 'a field of that name is one').to.deep.equal([
      'FIELD_INVALID',
      '/prompt',
      'prompt must not be empty.',
    ]);
    expect(says({ size: 1, model_key: model.modelKey })).to.deep.equal([
      'FIELD_REQUIRED',
      '/operation',
      'operation is required.',
    ]);
  });
});

// Goal: a file with transparent areas is refused before credits are held if a provider of the model cannot repaint
// exactly those, and reaches the provider as a mask otherwise.
// Method: the use cases on memory adapters, with providers that promise what each test says.

const TRANSPARENT = plainImage(64, 64, 'image/png', 'transparent');
const OPAQUE = plainImage();

/** Providers by their names, with how many masked references each promises, or with the mask that each task needs. */
async function open(promised: Readonly<Record<string, number | 'needed' | undefined>>, model: Partial<Model> = {}) {
  const providers = Object.fromEntries(
    Object.entries(promised).map(([name, masks]) => {
      const provider = new ScriptedProvider();
      const capability =
        masks === 'needed' ? { maxMaskedReferences: 1, needsMask: true } : { maxMaskedReferences: masks ?? 0 };
      if (masks !== undefined) provider.promised = { ...provider.promised, ...capability };
      return [name, provider];
    }),
  );
  const route = Object.keys(promised).map((provider) => ({ provider, settings: {}, weight: 1 }));
  const limits = { ...imageModel().limits, referenceRoles: ['reference_image', 'start_frame', 'end_frame'] } as const;
  const harness = await CoreHarness.open({
    models: [imageModel({ route, limits, ...model })],
    ports: { providers: connectedProviders(providers) },
  });
  return { harness, providers };
}

async function uploaded(
  harness: CoreHarness,
  bytes: Uint8Array,
  role: ReferenceRole = 'reference_image',
): Promise<string> {
  const prepared = await prepare(harness, bytes, { role });
  send(harness, prepared, bytes);
  await complete(harness, prepared.upload.uploadId);
  return prepared.upload.uploadId;
}

/** The refusal of these files by estimate and create, which must be the same. */
async function createRefusal(harness: CoreHarness, ids: readonly string[]) {
  const request = harness.body({}, { reference_upload_ids: [...ids] });
  const outcomes = await Promise.all(
    [
      () => estimateGeneration(harness.context, harness.caller, request),
      () => harness.post(harness.ports.ids.uuid(), request),
    ].map((work) => work().catch((error: unknown) => error)),
  );
  for (const outcome of outcomes) if (outcome instanceof Error && !(outcome instanceof ServiceError)) throw outcome;
  const [estimated, created] = outcomes.map((outcome) =>
    outcome instanceof ServiceError ? { code: outcome.code, message: outcome.message, details: outcome.details } : 'OK',
  );
  expect(created).to.deep.equal(estimated);
  return created;
}

async function expectNothingHeld(harness: CoreHarness): Promise<void> {
  const account = await harness.account();
  expect([account.holds.size, account.reserved]).to.deep.equal([0, 0]);
  expect(await harness.generations()).to.deep.equal([]);
}

function refusedAt(index: number, message: string) {
  const pointer = `/reference_upload_ids/${index}`;
  return { code: 'FIELD_INVALID', message, pointer };
}

async function expectRefused(
  harness: CoreHarness,
  ids: readonly string[],
  { code, message, pointer }: ReturnType<typeof refusedAt>,
): Promise<void> {
  const refusal = await createRefusal(harness, ids);
  expect(refusal).to.include({ code, message });
  expect(JSON.stringify(refusal)).to.include(pointer);
  await expectNothingHeld(harness);
}

describe('a reference with transparent areas', () => {
  it('is refused where the provider takes no masks, also with opaque files before it', async () => {
    const { harness } = await open({ one: undefined });
    const [opaque, masked] = [await uploaded(harness, OPAQUE), await uploaded(harness, TRANSPARENT)];
    const message = 'plain-image takes no file with transparent areas; upload an opaque file.';
    await expectRefused(harness, [masked], refusedAt(0, message));
    await expectRefused(harness, [opaque, masked], refusedAt(1, message));
  });

  it('is refused where one provider of the route takes no masks', async () => {
    for (const other of [undefined, 0]) {
      const { harness } = await open({ one: 1, two: other });
      const masked = await uploaded(harness, TRANSPARENT);
      await expectRefused(
        harness,
        [masked],
        refusedAt(0, 'plain-image takes no file with transparent areas; upload an opaque file.'),
      );
    }
  });

  it('is refused as a start frame and as an end frame, whatever the provider takes', async () => {
    const { harness } = await open({ one: 8 });
    for (const role of ['start_frame', 'end_frame'] as const) {
      const masked = await uploaded(harness, TRANSPARENT, role);
      await expectRefused(
        harness,
        [masked],
        refusedAt(0, `The ${role} must not have transparent areas; upload an opaque file.`),
      );
    }
  });

  it('is refused beyond as many as the least provider of the route takes', async () => {
    for (const [most, message] of [
      [1, 'plain-image takes at most 1 file with transparent areas.'],
      [2, 'plain-image takes at most 2 files with transparent areas.'],
    ] as const) {
      const { harness } = await open({ one: most, two: 3 });
      const ids = await Promise.all([0, 1, 2].map(() => uploaded(harness, TRANSPARENT)));
      await expectRefused(harness, ids.slice(0, most + 1), refusedAt(most, message));
    }
  });

  it('is accepted where every provider takes it, beside opaque files, and says so to the provider', async () => {
    const { harness, providers } = await open({ one: 1 });
    await CoreWorker.start(harness, 'worker');
    const ids = [await uploaded(harness, OPAQUE), await uploaded(harness, TRANSPARENT)];
    const request = harness.body({}, { reference_upload_ids: ids });
    const { generation } = await harness.post('k', request);
    expect((await untilSettled(harness, generation.generationId)).status).to.equal('succeeded');
    expect(providers['one']!.submissions[0]?.references.map(({ isMasked }) => isMasked)).to.deep.equal([
      undefined,
      true,
    ]);
  });

  it('is required where any provider of the route needs one, whatever opaque files there are', async () => {
    const message =
      'reference_upload_ids must name a reference_image with transparent areas, which plain-image requires.';
    const refusal = { code: 'FIELD_REQUIRED', message, pointer: '/reference_upload_ids' };
    for (const promised of [{ one: 'needed' }, { one: 2, two: 'needed' }] as const) {
      const { harness } = await open(promised);
      const [opaque, masked] = [await uploaded(harness, OPAQUE), await uploaded(harness, TRANSPARENT)];
      await expectRefused(harness, [], refusal);
      await expectRefused(harness, [opaque], refusal);
      const roles = ['reference_image'] as const;
      const estimated = await estimateGeneration(harness.context, harness.caller, harness.body(), roles);
      expect(estimated, 'the file comes later').to.have.property('estimatedCredits', 10);
      expect(await createRefusal(harness, [opaque, masked])).to.equal('OK');
    }
  });

  it('is asked for after a required role without a file', async () => {
    const { harness } = await open({ one: 'needed' }, { requiredRoles: ['reference_image'] });
    const message = 'reference_upload_ids must name a file of the role reference_image, which plain-image requires.';
    await expectRefused(harness, [], { code: 'FIELD_REQUIRED', message, pointer: '/reference_upload_ids' });
  });

  it('counts as opaque where it was uploaded before transparency was looked for', async () => {
    const { harness } = await open({ one: undefined });
    const uploadId = await uploaded(harness, TRANSPARENT);
    const upload = await harness.ports.uploads.read(uploadId);
    if (upload?.kind !== 'upload' || upload.ready === undefined) throw new Error('The upload is not ready.');
    expect(upload.ready.isMasked).to.equal(true);
    const { isMasked: _, ...ready } = upload.ready;
    await harness.ports.uploads.replace({ ...upload, ready, version: upload.version + 1 }, upload.version);
    expect(await createRefusal(harness, [uploadId])).to.equal('OK');
  });
});

// Goal: a key with a spending cap creates and estimates up to its cap, whatever its account has; uncharged credits can
// be spent again, other keys are not affected, and the refusal names the cap as its reason.
// Method: the use cases on memory adapters with keys of one App; a generation that fails gives everything back.

describe('a key with a spending cap', () => {
  let harness: CoreHarness;
  let capped: Caller;
  let keys = 0;

  /** A caller as authentication gives it. */
  async function withCap(monthlyCap?: number): Promise<Caller> {
    const { appId } = harness.caller;
    const cap = monthlyCap === undefined ? {} : { monthlyCap };
    const { secret } = await createKey(harness.context, { appId, name: 'key', ...cap });
    return new Authenticator(harness.context).authenticate(secret);
  }
  const create = (caller: Caller, count = 1) => {
    keys += 1;
    return harness.post(`key-${keys}`, harness.body({ count }), { caller });
  };
  const estimate = (caller: Caller, count = 1) => estimateGeneration(harness.context, caller, harness.body({ count }));

  beforeEach(async () => {
    harness = await CoreHarness.open();
    capped = await withCap(25);
  });

  it('creates and estimates up to its cap', async () => {
    await create(capped);
    expect((await estimate(capped)).estimatedCredits).to.equal(10);
    await create(capped);
    await expectCode('CREDITS_INSUFFICIENT', create(capped));
    await expectCode('CREDITS_INSUFFICIENT', estimate(capped));
  });

  it('is refused with a sentence about its cap, and not about the balance', async () => {
    for (const work of [create(capped, 3), estimate(capped, 3)]) {
      const error = await work.catch((thrown: unknown) => thrown);
      expect(error).to.have.property(
        'message',
        "This would reserve 30 credits, which is more than is left of the credential's spending cap of 25 credits a month (UTC); the account itself has 1000 available.",
      );
    }
  });

  it('can spend again what was not charged', async () => {
    const { generation } = await create(capped, 2);
    await expectCode('CREDITS_INSUFFICIENT', create(capped));
    await cancelGeneration(harness.context, capped, generation.generationId);
    await create(capped, 2);
  });

  it('does not concern other keys of the App, nor is it concerned by them', async () => {
    const [other, free] = [await withCap(10), await withCap()];
    await create(capped, 2);
    await create(other);
    await create(free, 3);
    await expectCode('CREDITS_INSUFFICIENT', create(other));
  });

  it('spends nothing under a cap of nothing', async () => {
    await expectCode('CREDITS_INSUFFICIENT', create(await withCap(0)));
  });

  it('has its whole cap again in the next month', async () => {
    await create(capped, 2);
    harness.clock.jump(31 * 86_400_000);
    await create(capped, 2);
    await expectCode('CREDITS_INSUFFICIENT', create(capped));
  });

  it('accepts exactly what fits of creates at once', async () => {
    const key = await withCap(70);
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => codeOf(create(key))));
    expect(outcomes.filter((code) => code === 'OK')).to.have.lengthOf(7);
    expect(new Set(outcomes)).to.deep.equal(new Set(['OK', 'CREDITS_INSUFFICIENT']));
  });

  it('gets the answer of its first create again, though its cap is used up', async () => {
    const key = await withCap(10);
    const request = harness.body();
    const first = await createGeneration(harness.context, key, 'same', request);
    const again = await createGeneration(harness.context, key, 'same', request);
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, first.generation.generationId]);
  });

  it('has a cap of whole credits, 0 at least', async () => {
    for (const cap of [-1, 1.5, 2 ** 53, Number.NaN]) await expectCode('FIELD_INVALID', withCap(cap), String(cap));
  });
});
