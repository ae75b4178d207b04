import { expect } from 'chai';
import Replicate from 'replicate';
import { providerContract } from '../../../contracts/provider.contract.js';
import { remoteProviderContract, type RemoteProviderSubject } from '../../../contracts/remote-provider.contract.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { vendorSubject } from '../vendor-subject.js';
import { replicateAt, task } from './opened-replicate.js';

/*
 * Goal: the provider for Replicate keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as Replicate's documentation says.
 */

const KEY = 'r8_contractsecret';
const subject: RemoteProviderSubject = {
  name: 'replicate',
  ...vendorSubject({
    openFake: () => ReplicateFake.open(KEY),
    providerAt: replicateAt,
    tasksOf: (fake) => fake.predictions.length,
    task,
    key: KEY,
    path: '/v1',
    hasQueue: true,
  }),
  supports: {
    capabilities: {
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'running',
      keepsResultsMs: 3_600_000,
      maxMaskedReferences: 1,
      isPaid: true,
    },
    cost: true,
    checksKey: true,
    readsErrors: true,
    hasStatusWord: true,
    followsRedirects: true,
  },
  refusals: [
    {
      name: 'too many requests',
      status: 429,
      body: {
        title: 'Too many requests',
        detail: 'Request was throttled. Your rate limit resets in ~30s.',
        status: 429,
      },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
      retryAfterMs: 30_000,
    },
    {
      name: 'a wrong key',
      status: 401,
      body: { title: 'Unauthenticated', detail: 'You did not pass a valid authentication token', status: 401 },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'no credit',
      status: 402,
      body: { title: 'Insufficient credit', detail: 'You have insufficient credit to run this model.', status: 402 },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'an unknown model',
      status: 404,
      body: { title: 'Not found', detail: 'The requested resource could not be found.', status: 404 },
      code: 'MODEL_UNAVAILABLE',
      because: 'not-here',
    },
    {
      name: 'an input that does not fit',
      status: 422,
      body: {
        title: 'Input validation failed',
        detail: '- input.width: Must be less than or equal to 1440',
        status: 422,
      },
      code: 'INPUT_INVALID',
    },
  ],
  failures: [
    {
      name: 'the picture is withheld',
      code: 'CONTENT_REJECTED_OUTPUT',
      task: (_, token) => task({ token, prompt: 'withheld' }),
    },
    {
      name: 'the prompt is flagged',
      code: 'CONTENT_REJECTED_INPUT',
      task: (_, token) => task({ token, prompt: 'flagged' }),
    },
  ],
  partial: { outputs: 1, task: (_, token) => task({ token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }) },
};

providerContract({
  ...subject,
  supports: { recovery: false, cancellation: true, answersWithOutputs: false },
});
remoteProviderContract(subject);

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
