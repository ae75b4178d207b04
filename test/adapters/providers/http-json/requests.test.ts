/*
 * Goal: what users send changes values of a request and nothing else: no path, no header, no member, no type; and a task that
 * the settings cannot map is not sent.
 * Method: arbitrary prompts and parameters against fakes that keep what they received; single tasks with files.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import type { LoggedRequest } from '../../../providers/fakes/fake-server.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { referenceOf } from '../sample-task.js';
import { AUTH, httpJsonAt, studioMapping, task } from './opened-http-json.js';

const KEY = 'studio-test-key';
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
  let fake: StudioFake;
  let provider: HttpJsonProvider;
  beforeEach(async () => {
    fake = await StudioFake.open(KEY);
    provider = httpJsonAt(fake.base, { auth: AUTH.studio, api_key: KEY });
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

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
    await fc.assert(
      fc.asyncProperty(text, text, text, fc.dictionary(text, text), async (prompt, negativePrompt, words, others) => {
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
      }),
      { numRuns: 200 },
    );
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
