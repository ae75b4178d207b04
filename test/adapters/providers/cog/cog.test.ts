import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { cogDriver } from '../../../../adapters/providers/cog/cog-driver.js';
import type { CogProvider } from '../../../../adapters/providers/cog/cog-provider.js';
import type { ProviderCall, Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { type OpenedProvider, providerContract, WANTED } from '../../../contracts/provider.contract.js';
import { collected, inPieces } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { decodedPicture, maskedPicture, maskedReference, pixelAt } from '../../../fixtures/marked-media.js';
import { CogFake } from '../../../providers/fakes/cog-fake.js';
import { isCogReady } from '../../../servers/readiness.js';
import { cogServer, orSkip } from '../../../servers/servers.js';
import {
  CAPABILITIES,
  expectChecked,
  expectRefused,
  failuresOf,
  halfOf,
  proveContracts,
  refusalsOf,
  settingsFaultOf,
  vendorSubject,
} from '../vendor-subject.js';
import { cogAt, SETTINGS, task } from './opened-cog.js';

/*
 * Goal: provider_settings and options that cannot work are refused in one sentence, and a connection check reports the
 * state of the container.
 * Method: settings with one mistake each; a server that answers as a real container was measured to.
 */

const fault = settingsFaultOf(cogDriver);

describe('settings of a model in a container of Cog', () => {
  it('are refused in one sentence', () => {
    expect(fault(SETTINGS)).to.equal(undefined);
    expectRefused(fault, [
      [{ fields: {} }, /output/],
      [{ ...SETTINGS, output: { media_type: 'video/webm' } }, /^"video\/webm" cannot be delivered/],
      [{ ...SETTINGS, fields: { image: { value: 'x' } } }, 'The field image of the input is given twice.'],
      [{ ...SETTINGS, prompt_field: 'weights' }, /^prompt_field must not be weights: users must not write/],
      [{ ...SETTINGS, webhook: 'https://elsewhere.example' }, /webhook/],
    ]);
  });
});

describe('the driver for containers of Cog', () => {
  it('says how the container is', async () => {
    const fake = await CogFake.open();
    for (const [health, faults] of [
      [{ status: 'READY' }, []],
      [{ status: 'BUSY' }, []],
      [{ status: 'STARTING' }, ['The model is still being set up.']],
      [{ status: 'SETUP_FAILED' }, ['The setup of the model has failed; see the log of the container.']],
      [{ status: 'UNHEALTHY' }, ['The model is not healthy, and takes no tasks until its container is started again.']],
      [{ state: 'up' }, [`${fake.base} is no container of Cog; check base_url.`]],
    ] as const) {
      fake.health = health;
      await expectChecked(fake, cogAt, [[fake.base, {}, [], faults]]);
    }
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

proveContracts({
  name: 'cog',
  ...vendorSubject({
    openFake: () => CogFake.open(),
    providerAt: cogAt,
    tasksOf: (fake) => fake.predictions.length,
    task,
  }),
  supports: {
    capabilities: {
      ...CAPABILITIES,
      answersWithOutputs: true,
      settleMs: 30_000,
      maxMaskedReferences: 1,
      isPaid: false,
    },
    cost: true,
    checksKey: false,
    readsErrors: true,
  },
  refusals: refusalsOf([
    [
      'it is busy',
      409,
      { error: 'At capacity - all prediction slots busy', status: 'failed' },
      'PROVIDER_UNAVAILABLE',
      'capacity',
    ],
    [
      'its model is being set up',
      503,
      { error: 'Setup has not finished yet. Wait until it has finished.', status: 'failed' },
      'PROVIDER_UNAVAILABLE',
      'capacity',
    ],
    [
      'an input that does not fit',
      422,
      { detail: [{ loc: ['body', 'input', 'n'], msg: 'must be less than or equal to 4', type: 'value_error' }] },
      'INPUT_INVALID',
    ],
    ['another server', 404, {}, 'MODEL_UNAVAILABLE', 'not-here'],
    ['a payment is required', 402, {}, 'PROVIDER_REJECTED'],
  ]),
  failures: failuresOf(task, [
    ['withheld', 'CONTENT_REJECTED_OUTPUT', 'the picture is withheld'],
    ['broken', 'INTERNAL_ERROR', 'the model throws'],
    ['crash', 'INTERNAL_ERROR', 'its process dies'],
    ['nothing', 'INTERNAL_ERROR', 'nothing is made'],
  ]),
  partial: halfOf(task),
});
