import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { decodedPicture, maskedPicture, maskedReference } from '../../../fixtures/marked-media.js';
import type { LoggedRequest } from '../../../providers/fakes/fake-server.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { referenceOf } from '../vendor-subject.js';
import { AUTH, httpJsonAt, studioMapping, task } from './opened-http-json.js';

const KEY = 'studio-test-key';

let fake: StudioFake;
let provider: HttpJsonProvider;

/** A fake of the studio, and a provider of it. */
function openForEachTest(): void {
  beforeEach(async () => {
    fake = await StudioFake.open(KEY);
    provider = httpJsonAt(fake.base, { auth: AUTH.studio, api_key: KEY });
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });
}

/*
 * Goal: users' input changes values of a request and nothing else: no path, no header, no member, no type; and a task
 * that the settings cannot map is not sent.
 * Method: arbitrary prompts and parameters against fakes that keep what they received; single tasks with files.
 */

const STUDIO = studioMapping();
const SUBMIT = STUDIO['submit'] as JsonObject;
const FREE_TEXT: JsonObject = {
  ...STUDIO,
  submit: {
    ...SUBMIT,
    body: { prompt: '{prompt}', avoid: '{negative_prompt}', more: { words: ['{parameters.words}', 'fixed'] } },
  },
  parameters: { words: { type: 'string', max_length: 10_000 } },
};

/** Texts with all that could mean something to a template, a path, a header, JSON or an object. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '{prompt}',
    '{token}',
    '{parameters.words}',
    '{reference_image.0}',
    '../../admin?x={id}#y',
    'a\r\nX-Other: b',
    '","role":"admin","x":"',
    '__proto__',
    'data:image/png;base64,AAAA',
    '$&$1',
  ),
);

describe('requests by a mapping', () => {
  openForEachTest();

  const sent = async (wish: Partial<Submission> & { readonly settings: JsonObject }): Promise<LoggedRequest> => {
    const before = fake.server.requests.length;
    await provider.submit(task(wish), WANTED);
    expect(fake.server.requests).to.have.length(before + 1);
    return fake.server.requests.at(-1)!;
  };

  it('have the same path, headers and members whatever users write', async () => {
    const plain = shapeOf(
      await sent({ settings: FREE_TEXT, prompt: 'a', negativePrompt: 'b', parameters: { words: 'c' } }),
    );
    const prompts = text.filter((prompt) => prompt !== '');
    await fc.assert(
      fc.asyncProperty(
        prompts,
        text,
        text,
        fc.dictionary(text, text),
        async (prompt, negativePrompt, words, others) => {
          const request = await sent({
            settings: FREE_TEXT,
            prompt,
            negativePrompt,
            parameters: { ...others, words },
          });
          expect(shapeOf(request)).to.deep.equal(plain);
          expect(JSON.parse(request.body.toString('utf8'))).to.deep.equal({
            prompt: prompt,
            avoid: negativePrompt,
            more: { words: [words, 'fixed'] },
          });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('leave out the prompt, and the items that are about it, where a task has none', async () => {
    const body = { text: '{prompt}', parts: [{ kind: 'text', text: '{prompt}' }, { kind: 'size' }], style: 'plain' };
    const { submit } = FREE_TEXT as { submit: JsonObject };
    const settings = { ...FREE_TEXT, parameters: {}, submit: { ...submit, body } };
    const request = await sent({ settings, prompt: '' });
    expect(JSON.parse(request.body.toString('utf8'))).to.deep.equal({ parts: [{ kind: 'size' }], style: 'plain' });
  });

  it('have a drawn number for a task without a value, the same for the same task', async () => {
    const { submit } = FREE_TEXT as { submit: JsonObject };
    const settings = {
      ...FREE_TEXT,
      submit: { ...submit, body: { prompt: '{prompt}', seed: '{parameters.seed}' } },
      parameters: { seed: { type: 'integer', minimum: 1, maximum: 1_000_000, draw: true } },
    };
    const seedOf = async (token: string, parameters: JsonObject = {}) => {
      const { body } = await sent({ settings, token, parameters });
      return (JSON.parse(body.toString('utf8')) as JsonObject)['seed'];
    };
    const [token, other] = [randomUUID(), randomUUID()];
    const seed = await seedOf(token);
    expect(seed).to.be.within(1, 1_000_000);
    expect([await seedOf(token), await seedOf(token, { seed: 7 })]).to.deep.equal([seed, 7]);
    expect(await seedOf(other)).to.not.equal(seed);
  });

  it('have only values that the rules allow, or are not made', async () => {
    const values = fc.oneof(text, fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constantFrom('photo', 3));
    await fc.assert(
      fc.asyncProperty(
        fc.record({ size: values, style: values, n: values, seed: values }, { requiredKeys: [] }),
        async (parameters) => {
          const before = fake.server.requests.length;
          const answer = await provider.submit(task({ settings: STUDIO, parameters }), WANTED);
          if (!answer.accepted) {
            expect(answer.failure.code).to.equal('INPUT_INVALID');
            expect(fake.server.requests).to.have.length(before);
            return;
          }
          const body = JSON.parse(fake.server.requests.at(-1)!.body.toString('utf8')) as JsonObject;
          const { prompt, format, ...rest } = body;
          expect([prompt, format]).to.deep.equal(['a lighthouse', 'png']);
          for (const [name, value] of Object.entries(rest)) expect(ALLOWED[name]?.(value), name).to.equal(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('have numbers as numbers, the key in its header, and the token', async () => {
    const { token } = task({ settings: STUDIO });
    const request = await sent({ settings: STUDIO, parameters: { size: '512x512', style: 'drawing', n: 2 } });
    expect(JSON.parse(request.body.toString('utf8'))).to.deep.equal({
      prompt: 'a lighthouse',
      edge: 512,
      style: 'drawing',
      count: 2,
      format: 'png',
    });
    expect(request.headers).to.include({ 'idempotency-key': token, 'content-type': 'application/json' });
    expect(request.headers).to.not.have.property('authorization');
    expect(fake.jobs).to.have.length(1);
  });

  it('have the token in the path and in the body where the settings name it', async () => {
    const { token } = task({ settings: STUDIO });
    const body = { prompt: '{prompt}', external: '{token}' };
    const settings = { ...STUDIO, parameters: {}, submit: { ...SUBMIT, path: '/jobs/{token}?of={token}', body } };
    const request = await sent({ settings });
    expect([request.path, request.query]).to.deep.equal([`/api/jobs/${token}`, `?of=${token}`]);
    expect(JSON.parse(request.body.toString('utf8'))).to.deep.equal({ prompt: 'a lighthouse', external: token });
  });

  it('have files at their places, as data URLs or as base64', async () => {
    const [one, two] = [referenceOf(Buffer.from('one')), referenceOf(Buffer.from('two!'))];
    const base64 = (await sent({ settings: STUDIO, references: [one, two] })).body.toString('utf8');
    expect(JSON.parse(base64)).to.have.property('examples').that.deep.equals(['b25l', 'dHdvIQ==']);
    const all = {
      ...FREE_TEXT,
      files_as: 'data-url',
      submit: { ...SUBMIT, body: { prompt: '{prompt}', pictures: '{reference_image.*}' } },
      parameters: {},
    };
    const urls = (await sent({ settings: all, references: [one, two] })).body.toString('utf8');
    expect(JSON.parse(urls))
      .to.have.property('pictures')
      .that.deep.equals(['data:image/png;base64,b25l', 'data:image/png;base64,dHdvIQ==']);
  });

  it('are not made for files that have no place, or for settings that cannot be used', async () => {
    const one = referenceOf(Buffer.from('one'));
    const wrong: readonly (readonly [Partial<Submission> & { readonly settings: JsonObject }, string])[] = [
      [{ settings: STUDIO, references: [one, one, one] }, 'INPUT_INVALID'],
      [{ settings: STUDIO, references: [{ ...one, role: 'start_frame' }] }, 'MODEL_UNAVAILABLE'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of wrong)
      expect(await provider.submit(task(wish), WANTED)).to.have.nested.property('failure.code', code);
    expect(fake.server.requests).to.have.length(0);
  });
});

const ALLOWED: Readonly<Record<string, (value: unknown) => boolean>> = {
  edge: (value) => value === 1024 || value === 512,
  style: (value) => value === 'photo' || value === 'drawing',
  count: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 4,
  seed: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 2_147_483_647,
};

/** All of a request but its values. */
function shapeOf({ method, path, query, headers, body }: LoggedRequest): object {
  const { 'content-length': _, ...rest } = headers;
  return { method, path, query, headers: rest, members: membersOf(JSON.parse(body.toString('utf8'))) };
}

function membersOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.entries(value).map(([name, below]) => [name, membersOf(below)]);
}

/*
 * Goal: a body has what the task has: items and objects about files and parameters that are not there are left out, and no
 * file of a task is lost.
 * Method: bodies with one form each, and what a fake received for tasks with and without files.
 */

describe('items of a list in a body', () => {
  openForEachTest();

  const START = referenceOf(Buffer.from('start'), 'start_frame');
  const END = { ...referenceOf(Buffer.from('end'), 'end_frame'), mediaType: 'image/webp' };
  const PARAMETERS: JsonObject = {
    strength: { type: 'number', minimum: 0, maximum: 1 },
    flag: { type: 'boolean' },
  };

  /** The body that is sent, or the answer where none is sent. */
  async function bodyOf(body: JsonObject, wish: Partial<Submission> = {}): Promise<unknown> {
    const used = Object.entries(PARAMETERS).filter(([name]) => JSON.stringify(body).includes(`{parameters.${name}}`));
    const settings = { ...STUDIO, parameters: Object.fromEntries(used), submit: { ...SUBMIT, body } };
    const before = fake.server.requests.length;
    const answer = await provider.submit(task({ settings, ...wish }), WANTED);
    const request = fake.server.requests.at(before);
    return request === undefined ? answer : (JSON.parse(request.body.toString('utf8')) as unknown);
  }

  const TEXT = { type: 'text', text: '{prompt}' };
  const FIRST = { type: 'image_url', image_url: { url: '{start_frame.0}' }, role: 'first_frame' };
  const LAST = { type: 'image_url', image_url: { url: '{end_frame.0}' }, role: 'last_frame' };

  it('are sent only with their files', async () => {
    const body = { content: [TEXT, FIRST, LAST] };
    const types = async (references: Submission['references']) => {
      const { content } = (await bodyOf(body, { references })) as { content: { type: string; role?: string }[] };
      return content.map(({ type, role }) => role ?? type);
    };
    expect(await types([])).to.deep.equal(['text']);
    expect(await types([START])).to.deep.equal(['text', 'first_frame']);
    expect(await types([END, START])).to.deep.equal(['text', 'first_frame', 'last_frame']);
    expect(await bodyOf(body, { references: [START] })).to.have.nested.property('content[1].image_url.url', 'c3RhcnQ=');
  });

  it('leave their list out where none of them is sent', async () => {
    expect(await bodyOf({ prompt: '{prompt}', frames: [FIRST, LAST] })).to.deep.equal({ prompt: 'a lighthouse' });
  });

  it('are left out without their file, whatever their parameters are', async () => {
    const item = { type: 'control', image: '{start_frame.0}', strength: '{parameters.strength}' };
    const body = { prompt: '{prompt}', controls: [item, { ...item, image: '{end_frame.0}' }] };
    const parameters = { strength: 0.5 };
    expect(await bodyOf(body, { parameters })).to.deep.equal({ prompt: 'a lighthouse' });
    expect(await bodyOf(body, { parameters, references: [END] })).to.deep.equal({
      prompt: 'a lighthouse',
      controls: [{ type: 'control', image: 'ZW5k', strength: 0.5 }],
    });
  });

  it('without files are left out where none of their parameters is given', async () => {
    const option = { type: 'option', name: 'strength', value: '{parameters.strength}' };
    const body = { prompt: '{prompt}', options: [option, { type: 'option', name: 'constant' }] };
    const constant = { type: 'option', name: 'constant' };
    expect(await bodyOf(body))
      .to.have.property('options')
      .that.deep.equals([constant]);
    expect(await bodyOf(body, { parameters: { strength: 1 } }))
      .to.have.property('options')
      .that.deep.equals([{ ...option, value: 1 }, constant]);
  });

  it('with some of their files, or with the prompt, are sent with what is there', async () => {
    const both = { kind: 'frames', first: '{start_frame.0}', last: '{end_frame.0}' };
    const body = {
      instances: [{ prompt: '{prompt}', mode: 'video', image: { data: '{start_frame.0}' }, both: [both] }],
    };
    expect(await bodyOf(body)).to.deep.equal({ instances: [{ prompt: 'a lighthouse', mode: 'video' }] });
    expect(await bodyOf(body, { references: [END] })).to.deep.equal({
      instances: [{ prompt: 'a lighthouse', mode: 'video', both: [{ kind: 'frames', last: 'ZW5k' }] }],
    });
  });

  it('and objects with a condition are sent only where it holds, without it', async () => {
    const body = {
      prompt: '{prompt}',
      image: '{start_frame.0}',
      mode: { $if: '{start_frame.0}', kind: 'from-frame', at: { second: 0 } },
      steps: [{ $if: '{parameters.flag}', name: 'upscale' }, { name: 'encode' }],
    };
    expect(await bodyOf(body)).to.deep.equal({ prompt: 'a lighthouse', steps: [{ name: 'encode' }] });
    const wish = { references: [START], parameters: { flag: true } };
    expect(await bodyOf(body, wish)).to.deep.equal({
      prompt: 'a lighthouse',
      image: 'c3RhcnQ=',
      mode: { kind: 'from-frame', at: { second: 0 } },
      steps: [{ name: 'upscale' }, { name: 'encode' }],
    });
    expect(await bodyOf(body, { parameters: { flag: false } })).to.not.have.nested.property('steps[1]');
    expect(JSON.stringify(fake.server.requests.map(({ body: sent }) => sent.toString()))).to.not.include('$if');
  });

  it('keep constants of members beside what is left out', async () => {
    const body = { prompt: '{prompt}', frame: { role: 'first', image: '{start_frame.0}' } };
    expect(await bodyOf(body)).to.deep.equal({ prompt: 'a lighthouse', frame: { role: 'first' } });
  });

  it('say the media type of a file', async () => {
    const frame = (role: string) => ({ bytes: `{${role}.0}`, mimeType: `{${role}.0.media_type}` });
    const body = { prompt: '{prompt}', image: frame('start_frame'), lastFrame: frame('end_frame') };
    expect(await bodyOf(body, { references: [START, END] })).to.deep.equal({
      prompt: 'a lighthouse',
      image: { bytes: 'c3RhcnQ=', mimeType: 'image/png' },
      lastFrame: { bytes: 'ZW5k', mimeType: 'image/webp' },
    });
    expect(await bodyOf(body)).to.deep.equal({ prompt: 'a lighthouse' });
  });

  it('lose no file: a task whose file has no place is refused', async () => {
    const body = { prompt: '{prompt}', motion: { $if: '{start_frame.0}', last: '{end_frame.0}' } };
    const answer = await bodyOf(body, { references: [END] });
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
    expect(answer)
      .to.have.nested.property('failure.message')
      .that.matches(/^The model takes no file of the role end_frame together with the other inputs\.$/);
    expect(fake.server.requests).to.have.length(0);
  });
});

describe('masks in a body', () => {
  let png: Uint8Array;
  before(async () => {
    png = await maskedPicture().png().toBuffer();
  });
  openForEachTest();

  const plain = referenceOf(Buffer.from('opaque'));
  const settingsOf = (body: JsonObject): JsonObject => ({ ...STUDIO, parameters: {}, submit: { ...SUBMIT, body } });

  /** The body that is sent, or the answer where none is sent. */
  async function bodyOf(body: JsonObject, references: Submission['references']): Promise<Record<string, unknown>> {
    const answer = await provider.submit(task({ settings: settingsOf(body), references, token: randomUUID() }), WANTED);
    return fake.server.requests.length === 0 ? { ...answer } : fake.jobs.at(-1)!.task;
  }

  const channelsOf = async (base64: unknown) => (await decodedPicture(Buffer.from(String(base64), 'base64'))).channels;

  it('are as many as the body takes, with the colours in the places of their files', async () => {
    const place = (index: number): JsonObject => ({
      kind: 'region',
      image: `{reference_image.${index}}`,
      type: `{reference_image.${index}.media_type}`,
      mask: `{reference_image.${index}.white_mask}`,
    });
    const body = { prompt: '{prompt}', regions: [place(0), place(1)], all: ['{reference_image.2}'] };
    expect(provider.capabilities(settingsOf(body))).to.have.property('maxMaskedReferences', 2);
    const webp = await maskedPicture().webp({ lossless: true }).toBuffer();
    const masked = [maskedReference(png), maskedReference(webp, 'image/webp')];
    const { regions, all } = await bodyOf(body, [masked[0]!, plain, masked[1]!]);
    expect(all).to.deep.equal([Buffer.from('opaque').toString('base64')]);
    for (const { kind, image, type, mask } of regions as JsonObject[]) {
      expect([kind, type]).to.deep.equal(['region', 'image/png']);
      expect([await channelsOf(image), await channelsOf(mask)]).to.deep.equal([3, 1]);
    }
    const one = await bodyOf(body, [plain, masked[1]!]);
    const [first, second] = one['regions'] as JsonObject[];
    expect(await channelsOf(first?.['mask'])).to.equal(1);
    expect(second).to.deep.equal({
      kind: 'region',
      image: Buffer.from('opaque').toString('base64'),
      type: 'image/png',
    });
    expect(one).to.not.have.property('all');
  });

  it('are conditions, and items of a list are left out without them', async () => {
    const body = {
      prompt: '{prompt}',
      image: '{reference_image.0}',
      mode: { $if: '{reference_image.0.white_mask}', name: 'inpaint' },
      layers: [{ type: 'mask', data: '{reference_image.0.white_mask}' }],
    };
    const masked = await bodyOf(body, [maskedReference(png)]);
    expect(masked).to.have.deep.property('mode', { name: 'inpaint' });
    expect(await channelsOf((masked['layers'] as JsonObject[])[0]?.['data'])).to.equal(1);
    expect(await bodyOf(body, [plain])).to.have.all.keys('prompt', 'image');
    expect(await bodyOf(body, [])).to.have.all.keys('prompt');
  });

  it('may be sent in several forms, and be asked for by a condition alone', async () => {
    const body = {
      prompt: '{prompt}',
      image: '{reference_image.0}',
      edit: '{reference_image.0.white_mask}',
      keep: '{reference_image.0.black_mask}',
      masked: { $if: '{reference_image.0.alpha_mask}', is: true },
    };
    const sent = await bodyOf(body, [maskedReference(png)]);
    const [edit, keep] = await Promise.all(
      ['edit', 'keep'].map((name) => decodedPicture(Buffer.from(String(sent[name]), 'base64'))),
    );
    expect([edit!.at(0, 0), keep!.at(0, 0), edit!.at(23, 0), keep!.at(23, 0)]).to.deep.equal([[255], [0], [0], [255]]);
    expect(sent['masked']).to.deep.equal({ is: true });
  });

  it('refuse the task where a condition leaves them out', async () => {
    for (const place of ['{reference_image.0.white_mask}', '{reference_image.0.with_alpha}']) {
      const body = {
        prompt: '{prompt}',
        image: '{reference_image.0}',
        inpaint: { $if: '{start_frame.0}', mask: place, frame: '{start_frame.0}' },
      };
      const answer = await bodyOf(body, [maskedReference(png)]);
      expect(answer).to.have.deep.property('failure', {
        code: 'INPUT_INVALID',
        message: 'The model takes no file with transparent areas together with the other inputs.',
        mayRetry: false,
      });
    }
  });
});
