import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { cogDriver } from '../../../../adapters/providers/cog/cog-driver.js';
import type { CogProvider } from '../../../../adapters/providers/cog/cog-provider.js';
import { optionsFault } from '../../../../apps/config/option-schema.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderCall, Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { type OpenedProvider, providerContract, WANTED } from '../../../contracts/provider.contract.js';
import { remoteProviderContract, type RemoteProviderSubject } from '../../../contracts/remote-provider.contract.js';
import { collected, inPieces } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { decodedPicture, maskedPicture, maskedReference, pixelAt } from '../../../fixtures/marked-media.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { CogFake } from '../../../providers/fakes/cog-fake.js';
import { isCogReady } from '../../../servers/readiness.js';
import { cogServer, orSkip } from '../../../servers/servers.js';
import { vendorSubject } from '../vendor-subject.js';
import { cogAt, SETTINGS, task } from './opened-cog.js';

/*
 * Goal: provider_settings and options that cannot work are refused in one sentence, and a connection check reports the
 * state of the container.
 * Method: settings with one mistake each; a server that answers as a real container was measured to.
 */

const fault = (settings: JsonObject) => cogDriver.settingsFault?.(settings, IMAGE_PLACE);

describe('settings of a model in a container of Cog', () => {
  it('are refused in one sentence', () => {
    expect(fault(SETTINGS)).to.equal(undefined);
    const wrong: readonly (readonly [JsonObject, RegExp])[] = [
      [{ fields: {} }, /output/],
      [{ ...SETTINGS, output: { media_type: 'video/webm' } }, /^"video\/webm" cannot be delivered/],
      [{ ...SETTINGS, fields: { image: { value: 'x' } } }, /^The field image of the input is given twice\.$/],
      [{ ...SETTINGS, prompt_field: 'weights' }, /^prompt_field must not be weights: users must not write/],
      [{ ...SETTINGS, webhook: 'https://elsewhere.example' }, /webhook/],
    ];
    for (const [settings, sentence] of wrong) {
      expect(fault(settings), JSON.stringify(settings)).to.match(sentence);
      expect(fault(settings)).to.match(/^[^\n]+\.$/);
    }
  });
});

describe('the driver for containers of Cog', () => {
  it('has options that a driver may have', () => {
    expect(optionsFault(cogDriver.options)).to.equal(undefined);
  });

  it('says how the container is', async () => {
    const fake = await CogFake.open();
    const provider = cogAt(fake.base);
    const states: readonly (readonly [object, readonly string[]])[] = [
      [{ status: 'READY' }, []],
      [{ status: 'BUSY' }, []],
      [{ status: 'STARTING' }, ['The model is still being set up.']],
      [{ status: 'SETUP_FAILED' }, ['The setup of the model has failed; see the log of the container.']],
      [{ status: 'UNHEALTHY' }, ['The model is not healthy, and takes no tasks until its container is started again.']],
      [{ state: 'up' }, [`${fake.base} is no container of Cog; check base_url.`]],
    ];
    for (const [health, faults] of states) {
      fake.health = health;
      expect((await provider.check([], WANTED)).faults, JSON.stringify(health)).to.deep.equal(faults);
    }
    expect(fake.server.posts).to.equal(0);
    await provider.close();
    await fake.close();
  });
});

/*
 * Goal: what the provider for containers of Cog relies on holds for the real server, and it makes pictures there.
 * Method: the server that such containers run, with a model for tests, and the shared contract on it.
 */

const ENDLESS = 'endless';

describe('a real container of Cog', () => {
  let url: string;
  let provider: CogProvider;
  before(async function () {
    ({ url } = await orSkip(this, cogServer()));
    provider = cogAt(url);
  });
  // The one before it may still be stopping: it makes one picture at a time.
  beforeEach(() => untilIdle(url));
  after(() => provider?.close());

  it('makes as many pictures as it is asked for, and says how long it took', async () => {
    const answer = await provider.submit(task({ parameters: { n: 3 }, outputCount: 3 }), WANTED);
    const pictures = await picturesOf(answer);
    expect(pictures).to.have.length(3);
    for (const picture of pictures) expect(Buffer.from(picture).subarray(1, 4).toString()).to.equal('PNG');
    expect('cost' in answer ? answer.cost?.computeMs : -1).to.be.at.least(0);
  });

  it('is sent a file and gives it back', async () => {
    const sent = await image('jpeg', 300, 200);
    const open = async () => inPieces(sent, 1_000);
    const reference = { role: 'reference_image', mediaType: 'image/jpeg', byteSize: sent.byteLength, open } as const;
    const [picture] = await picturesOf(await provider.submit(task({ references: [reference] }), WANTED));
    expect(Buffer.from(picture ?? []).equals(sent)).to.equal(true);
  });

  it('is sent the colours and the mask of a masked file', async () => {
    const references = [maskedReference(await maskedPicture().png().toBuffer())];
    const answer = await provider.submit(task({ references, parameters: { n: 2 }, outputCount: 2 }), WANTED);
    const [colours, mask] = await Promise.all((await picturesOf(answer)).map(decodedPicture));
    expect([colours?.channels, mask?.channels]).to.deep.equal([3, 1]);
    for (const x of [0, 12, 23]) {
      const [red, green, blue, alpha] = pixelAt(x, 3);
      expect(colours?.at(x, 3)).to.deep.equal([red, green, blue]);
      expect(mask?.at(x, 3)).to.deep.equal([255 - alpha]);
    }
  });

  it('tells when its model throws, without its words', async () => {
    const answer = await provider.submit(task({ prompt: 'withheld' }), WANTED);
    expect(answer).to.have.nested.property('failure.code', 'CONTENT_REJECTED_OUTPUT');
    expect(JSON.stringify(answer)).to.not.include('different prompt');
  });

  it('refuses for capacity while it makes another one, and stops that when its connection is closed', async () => {
    const abort = new AbortController();
    const running = submitted({ prompt: ENDLESS }, abort);
    await untilBusy(url);
    expect(await provider.submit(task({ token: OTHER }), WANTED)).to.include({ accepted: false, because: 'capacity' });
    expect((await provider.check([], WANTED)).faults).to.deep.equal([]);
    abort.abort();
    expect(await running).to.be.instanceOf(Error);
    await untilIdle(url);
    expect(await picturesOf(await provider.submit(task({ token: OTHER }), WANTED))).to.have.length(1);
  });

  it('does not run a prediction a second time that is under way', async () => {
    const abort = new AbortController();
    const running = submitted({ prompt: ENDLESS }, abort);
    await untilBusy(url);
    expect(await submitted({ prompt: ENDLESS }, WANTED), 'the same token').to.be.instanceOf(Error);
    abort.abort();
    await running;
  });

  it('is checked without making anything', async () => {
    expect(await provider.check([], WANTED)).to.deep.equal({ about: 'Cog 0.23.1', faults: [] });
    const elsewhere = cogAt(`${url}/elsewhere`);
    expect((await elsewhere.check([], WANTED)).faults).to.deep.equal([
      `${url}/elsewhere is no container of Cog (status 404); check base_url.`,
    ]);
    await elsewhere.close();
  });

  function submitted(wish: Partial<Submission>, call: ProviderCall): Promise<unknown> {
    return provider.submit(task(wish), call).catch((error: unknown) => error);
  }
});

describe('a real container of Cog under the contract', () => {
  let url: string;
  before(async function () {
    ({ url } = await orSkip(this, cogServer()));
  });

  providerContract({
    name: 'cog, with the real server',
    open: async (): Promise<OpenedProvider> => {
      await untilIdle(url);
      return {
        provider: cogAt(url),
        quick: (token) => task({ token }),
        endless: (token) => task({ token, prompt: ENDLESS }),
      };
    },
    close: async ({ provider }) => (provider as CogProvider).close(),
    supports: { recovery: false, cancellation: false, answersWithOutputs: true },
  });
});

const OTHER = '0c1f6a53-6d8f-4a31-8f0e-3f4b2f1d9c77';

async function picturesOf(answer: SubmitAnswer): Promise<readonly Uint8Array[]> {
  if (!('outputs' in answer)) throw new Error(`There are no pictures: ${JSON.stringify(answer)}`);
  const pictures: Uint8Array[] = [];
  for (const { bytes } of answer.outputs) pictures.push(await collected(bytes));
  return pictures;
}

async function untilIdle(url: string): Promise<void> {
  while (!(await isCogReady(url))) await sleep(20);
}

async function untilBusy(url: string): Promise<void> {
  while (await isCogReady(url)) await sleep(20);
}

/*
 * Goal: the provider for containers of Cog keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as a real container was measured to.
 */

const subject: RemoteProviderSubject = {
  name: 'cog',
  ...vendorSubject({
    openFake: () => CogFake.open(),
    providerAt: cogAt,
    tasksOf: (fake) => fake.predictions.length,
    task,
  }),
  supports: {
    capabilities: {
      answersWithOutputs: true,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 30_000,
      cancels: 'nothing',
      maxMaskedReferences: 1,
      isPaid: false,
    },
    cost: true,
    checksKey: false,
    readsErrors: true,
  },
  refusals: [
    {
      name: 'it is busy',
      status: 409,
      body: { error: 'At capacity - all prediction slots busy', status: 'failed' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'its model is being set up',
      status: 503,
      body: { error: 'Setup has not finished yet. Wait until it has finished.', status: 'failed' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'an input that does not fit',
      status: 422,
      body: { detail: [{ loc: ['body', 'input', 'n'], msg: 'must be less than or equal to 4', type: 'value_error' }] },
      code: 'INPUT_INVALID',
    },
    { name: 'another server', status: 404, body: {}, code: 'MODEL_UNAVAILABLE', because: 'not-here' },
  ],
  failures: [
    {
      name: 'the picture is withheld',
      code: 'CONTENT_REJECTED_OUTPUT',
      task: (_, token) => task({ token, prompt: 'withheld' }),
    },
    { name: 'the model throws', code: 'INTERNAL_ERROR', task: (_, token) => task({ token, prompt: 'broken' }) },
    { name: 'its process dies', code: 'INTERNAL_ERROR', task: (_, token) => task({ token, prompt: 'crash' }) },
    { name: 'nothing is made', code: 'INTERNAL_ERROR', task: (_, token) => task({ token, prompt: 'nothing' }) },
  ],
  partial: { outputs: 1, task: (_, token) => task({ token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }) },
};

providerContract({ ...subject, supports: { recovery: false, cancellation: false, answersWithOutputs: true } });
remoteProviderContract(subject);
