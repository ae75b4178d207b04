import { expect } from 'chai';
import Replicate from 'replicate';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import {
  CAPABILITIES,
  failuresOf,
  halfOf,
  proveContracts,
  QUEUED,
  refusalsOf,
  vendorSubject,
} from '../vendor-subject.js';
import { replicateAt, task } from './opened-replicate.js';

/*
 * Goal: the provider for Replicate keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as Replicate's documentation says.
 */

const KEY = 'r8_contractsecret';
const problem = (title: string, detail: string) => ({ title, detail });

proveContracts({
  name: 'replicate',
  ...vendorSubject({
    openFake: () => ReplicateFake.open(KEY),
    providerAt: replicateAt,
    tasksOf: (fake) => fake.predictions.length,
    task,
    key: KEY,
    queued: QUEUED,
  }),
  supports: {
    capabilities: { ...CAPABILITIES, cancels: 'running', keepsResultsMs: 3_600_000, maxMaskedReferences: 1 },
    cost: true,
    checksKey: true,
    readsErrors: true,
    hasStatusWord: true,
    followsRedirects: true,
  },
  refusals: [
    ...refusalsOf([
      ['a wrong key', 401, problem('Unauthenticated', 'You did not pass a token'), 'PROVIDER_REJECTED', 'not-here'],
      ['no credit', 402, problem('Insufficient credit', 'You have not enough'), 'PROVIDER_REJECTED', 'not-here'],
      ['a forbidden model', 403, problem('Forbidden', 'This is not for you'), 'PROVIDER_REJECTED', 'not-here'],
      ['an unknown model', 404, problem('Not found', 'It could not be found.'), 'MODEL_UNAVAILABLE', 'not-here'],
      [
        'an unknown version',
        422,
        problem('Invalid version or not permitted', 'The version does not exist'),
        'MODEL_UNAVAILABLE',
        'not-here',
      ],
      [
        'an input that does not fit',
        422,
        problem('Input validation failed', '- input.width: Must be less than or equal to 1440'),
        'INPUT_INVALID',
      ],
      ['anything else', 400, problem('Bad request', 'It could not be read'), 'PROVIDER_REJECTED'],
    ]),
    ...[
      ['Request was throttled. Your rate limit resets in ~30s.', 30_000] as const,
      ['Request was throttled. Expected available in 1 second.', 1_000] as const,
    ].map(([detail, retryAfterMs]) => ({
      name: `too many requests for ${retryAfterMs} ms`,
      status: 429,
      body: problem('Too many requests', detail),
      code: 'PROVIDER_UNAVAILABLE' as const,
      because: 'capacity' as const,
      retryAfterMs,
    })),
  ],
  failures: failuresOf(task, [
    ['withheld', 'CONTENT_REJECTED_OUTPUT', 'the picture is withheld'],
    ['flagged', 'CONTENT_REJECTED_INPUT', 'the prompt is flagged'],
  ]),
  partial: halfOf(task),
});

/*
 * Goal: the fake of Replicate answers as Replicate's own client expects it, so that tests with the fake do not depend
 * on our own idea of its format.
 * Method: the official client runs, awaits, cancels and fails predictions at the fake, and uploads a file to it.
 */

const MODEL = 'black-forest-labs/flux-schnell';

describe('the official client at the fake of Replicate', () => {
  let fake: ReplicateFake;
  let client: Replicate;
  beforeEach(async () => {
    fake = await ReplicateFake.open();
    client = new Replicate({ auth: fake.key, baseUrl: fake.base, useFileOutput: false });
  });
  afterEach(() => fake.close());

  it('makes a prediction and awaits it', async () => {
    fake.ending = { ends: 'succeeded', files: 2 };
    const made = await client.predictions.create({ model: MODEL, input: { prompt: 'a lighthouse' } });
    expect(made.status).to.equal('starting');
    const ended = await client.wait(made, { interval: 1 });
    expect(ended.status).to.equal('succeeded');
    expect(ended.output).to.be.an('array').with.length(2);
    expect(ended.metrics?.predict_time).to.be.a('number');
    const picture = await fetch((ended.output as readonly string[])[0] ?? '');
    expect(picture.headers.get('content-type')).to.equal('image/png');
  });

  it('runs a version of a model', async () => {
    const output = await client.run(`acme/portrait:${'a1'.repeat(32)}`, {
      input: { prompt: 'a lighthouse' },
      wait: { mode: 'poll', interval: 1 },
    });
    expect(output).to.be.an('array').with.length(1);
  });

  it('cancels a prediction, and reads why one has failed', async () => {
    const made = await client.predictions.create({ model: MODEL, input: { prompt: 'endless' } });
    expect((await client.predictions.cancel(made.id)).status).to.equal('canceled');
    const failing = await client.predictions.create({ model: MODEL, input: { prompt: 'withheld' } });
    const error = await client.wait(failing, { interval: 1 }).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error).with.property('message').that.matches(/NSFW/);
    expect((await client.predictions.get(failing.id)).status).to.equal('failed');
  });

  it('uploads a file', async () => {
    const file = await client.files.create(Buffer.from('a picture'));
    expect(file.urls.get).to.equal(`${fake.base}/files/${file.id}`);
    expect(fake.files.get(file.id)?.toString()).to.equal('a picture');
  });

  it('takes refusals for such', async () => {
    const wrong = new Replicate({ auth: 'r8_wrong', baseUrl: fake.base });
    const refused = (work: Promise<unknown>) =>
      work.then(() => 0).catch((error: { response: Response }) => error.response.status);
    expect(await refused(wrong.predictions.create({ model: MODEL, input: {} }))).to.equal(401);
    expect(await refused(client.predictions.create({ model: 'acme/gone', input: {} }))).to.equal(404);
    expect(await refused(client.predictions.create({ model: MODEL, input: { prompt: 'invalid' } }))).to.equal(422);
    expect((await client.accounts.current()).username).to.equal('acme');
  });
});
