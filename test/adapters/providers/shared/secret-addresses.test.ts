/*
 * Goal: an address at another host that an answer gives, of a result or of a task, may give access to whoever has it. Neither its path
 * nor its query is in any error or line of the log.
 * Method: each provider that takes such addresses is given one that cannot be called, with a token in its path and its query; what it
 * throws is written to the log as core writes it. Without the rule, each line has the path.
 */
import { expect } from 'chai';
import { createLogger, logTo } from '../../../../apps/logging/logging.js';
import type { Log } from '../../../../core/log.js';
import type { Provider, Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { OpenAiFake } from '../../../providers/fakes/openai-fake.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { falAt, SETTINGS as FAL, task as falTask } from '../fal/opened-fal.js';
import { AUTH, httpJsonAt, mapping, task as httpJsonTask } from '../http-json/opened-http-json.js';
import { openAiAt, task as openAiTask } from '../openai/opened-openai.js';
import { failureOf } from '../opened-vendor.js';
import { replicateAt, SETTINGS as REPLICATE, task as replicateTask } from '../replicate/opened-replicate.js';
import { closeAnswers, outputsOf } from '../sample-task.js';

const TOKEN = 'T0KEN';
/** Names of a local network are refused before anything is sent. */
const HOST = 'files.internal';
const secret = (name: string) => `https://${HOST}/${TOKEN}/${name}?X-Signature=${TOKEN}`;

describe('addresses of other hosts in answers', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  let lines: string[];
  let log: Log;
  beforeEach(() => {
    lines = [];
    log = logTo(createLogger({ level: 'debug', format: 'json' }, { write: (line) => void lines.push(line) }));
  });
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));
  afterEach(closeAnswers);

  const kept = <T extends { close(): Promise<unknown> }>(one: T): T => {
    opened.push(one);
    return one;
  };

  /** Logs what work throws, and holds all that was logged against the token. */
  async function keepsSecret(work: Promise<unknown>, shown = `GET https://${HOST}: `): Promise<void> {
    const error = await failureOf(work);
    expect(error).to.be.instanceOf(Error);
    log.warn('outputs not collected', { error });
    expect(lines.join('')).to.include(shown).and.to.not.include(TOKEN);
  }

  async function outputFails(provider: Provider, submission: Submission): Promise<void> {
    const reference = await submitted(provider, submission);
    const report = (await reportsUntilOver(provider, reference, submission)).at(-1);
    expect(report).to.have.property('state', 'succeeded');
    await keepsSecret(provider.output(reference, 0, submission.settings, WANTED));
  }

  it('stay secret as results of fal', async () => {
    const fake = kept(await FalFake.open());
    fake.ending = { ends: 'result', result: { images: [{ url: secret('0.png') }] } };
    await outputFails(kept(falAt(fake.base, { output_hosts: [HOST] }, log)), falTask({ settings: FAL }));
  });

  it('stay secret as results of Replicate', async () => {
    const fake = kept(await ReplicateFake.open());
    fake.ending = { ends: 'succeeded', output: [secret('0.png')] };
    const provider = kept(replicateAt(fake.base, { output_hosts: [HOST] }, log));
    await outputFails(provider, replicateTask({ settings: REPLICATE }));
  });

  it('stay secret as results of the API of OpenAI', async () => {
    const fake = kept(await OpenAiFake.open('sglang'));
    fake.images.address = secret('0.png');
    const settings = { preset: 'sglang', response_format: 'url', result_hosts: [HOST] };
    const provider = kept(openAiAt(fake.base, {}, log));
    const [output] = await outputsOf(provider.submit(openAiTask({ settings, prompt: 'by address' }), WANTED));
    await keepsSecret(collected(output!.bytes));
  });

  it('stay secret as results of another HTTP API', async () => {
    const fake = kept(await FalFake.open('k'));
    fake.ending = { ends: 'result', result: { images: [{ url: secret('0.png') }] } };
    const options = { auth: AUTH.fal, api_key: 'k', output_hosts: [HOST] };
    await outputFails(kept(httpJsonAt(fake.base, options, log)), httpJsonTask({ settings: mapping('fal') }));
  });

  it('stay secret where a task of another HTTP API is followed and stopped', async () => {
    const fake = kept(await FalFake.open('k'));
    fake.addressOf = secret;
    const settings = mapping('fal');
    const options = { auth: AUTH.fal, api_key: 'k', answer_hosts: [HOST] };
    const provider = kept(httpJsonAt(fake.base, options, log));
    const reference = await submitted(provider, httpJsonTask({ settings }));
    expect(reference).to.include(TOKEN);
    await keepsSecret(provider.poll(reference, settings, WANTED));
    await keepsSecret(provider.cancel(reference, settings, WANTED), `PUT https://${HOST}: `);
  });
});
