/*
 * Goal: the fake of Replicate answers as Replicate's own client expects it, so that what is proved with the fake is not proved
 * with a shape of ours.
 * Method: the official client runs, awaits, cancels and fails predictions at the fake, and uploads a file to it.
 */
import { expect } from 'chai';
import Replicate from 'replicate';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';

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
