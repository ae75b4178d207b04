/*
 * Goal: the provider for sd-server keeps the provider contract, and bears whatever its server does.
 * Method: the shared contracts against the fake, and the first of them against a real sd-server, which makes a small
 * picture for each task.
 */
import { expect } from 'chai';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import {
  type OpenedProvider,
  providerContract,
  reportsUntilOver,
  submitted,
  WANTED,
} from '../../../contracts/provider.contract.js';
import { type OpenedRemoteProvider, remoteProviderContract } from '../../../contracts/remote-provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { halfMasked, keptOf } from '../../../fixtures/marked-media.js';
import { HELD_STEPS, SdcppFake } from '../../../providers/fakes/sdcpp-fake.js';
import { orSkip, sdServer } from '../../../servers/servers.js';
import { KEY, sdcppAt, SETTINGS, task } from './opened-sdcpp.js';

const TASKS = {
  quick: (token: string) => task({ token }),
  endless: (token: string) => task({ token, parameters: { steps: HELD_STEPS } }),
};
const fakes = new WeakMap<OpenedProvider, SdcppFake>();
const closers = new WeakMap<OpenedProvider, () => Promise<unknown>>();
const close = async (opened: OpenedProvider) => void (await closers.get(opened)?.());

providerContract({
  name: 'sdcpp on its fake',
  open: async () => {
    const fake = await SdcppFake.open();
    const provider = sdcppAt(fake.url);
    const opened: OpenedProvider = { ...TASKS, provider };
    closers.set(opened, () => Promise.all([provider.close(), fake.close()]));
    return opened;
  },
  close,
  supports: { recovery: false, cancellation: false },
});

describe('with a real sd-server', () => {
  let url: string;

  before(async function () {
    ({ url } = await orSkip(this, sdServer()));
  });

  it('finds nothing wrong with names that the server has', async () => {
    const fields = {
      'output_format': { parameter: 'format', type: 'string', enum: ['png', 'jpeg', 'webp'] },
      'sample_params.sample_method': { value: 'euler_a' },
      'sample_params.scheduler': { value: 'karras' },
    };
    const provider = sdcppAt(url);
    expect(await provider.check([{ fields }], WANTED)).to.have.deep.property('faults', []);
    await provider.close();
  });

  it('makes anew what is transparent in a reference, and keeps the rest', async () => {
    const provider = sdcppAt(url);
    const fields = { ...(SETTINGS['fields'] as JsonObject), strength: { value: 1 } };
    const submission = task({ settings: { ...SETTINGS, fields }, references: [await halfMasked()] });
    const reference = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1);
    expect(last).to.have.property('state', 'succeeded');
    const { left, right, all } = await keptOf(
      await collected(await provider.output(reference, 0, submission.settings, WANTED)),
    );
    expect(right).to.equal(all);
    expect(left).to.be.lessThan(all / 10);
    await provider.close();
  });

  providerContract({
    name: 'sdcpp',
    open: async () => {
      const provider = sdcppAt(url);
      const opened: OpenedProvider = { ...TASKS, provider };
      closers.set(opened, () => provider.close());
      return opened;
    },
    close,
    supports: { recovery: false, cancellation: false },
  });
});

remoteProviderContract({
  name: 'sdcpp',
  open: async () => {
    const fake = await SdcppFake.open();
    const lines: string[] = [];
    const noted = (message: string, facts?: object) => void lines.push(`${message} ${JSON.stringify(facts)}`);
    const log: Log = { info: noted, warn: noted };
    const made: { close(): Promise<void> }[] = [fake];
    const connected = (url: string, options = {}) => {
      const provider = sdcppAt(url, { api_key: KEY, ...options }, log);
      made.push(provider);
      return provider;
    };
    const opened: OpenedRemoteProvider = {
      ...TASKS,
      provider: connected(fake.url),
      server: fake.server,
      tasks: () => fake.jobs.size,
      secret: KEY,
      reopened: () => connected(fake.url),
      openedAt: (origin) => connected(origin, { connect_timeout_seconds: 1 }),
      queued: (token) => {
        fake.jobs.pause();
        return task({ token });
      },
      withReference: (token, reference) => task({ token, references: [reference] }),
      logged: () => lines.join('\n'),
    };
    fakes.set(opened, fake);
    closers.set(opened, () => Promise.all(made.map((one) => one.close())));
    return opened;
  },
  close,
  supports: {
    capabilities: {
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'queued',
      keepsResultsMs: 600_000,
      maxMaskedReferences: 1,
      isPaid: false,
    },
    cost: true,
    checksKey: false,
    readsErrors: true,
    hasStatusWord: true,
  },
  refusals: [
    {
      name: 'a full queue',
      status: 429,
      body: { error: 'job queue is full' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'values that it cannot use',
      status: 400,
      body: { error: 'invalid generation parameters' },
      code: 'MODEL_UNAVAILABLE',
    },
    {
      name: 'a model for videos',
      status: 400,
      body: { error: 'loaded model does not support img_gen' },
      code: 'MODEL_UNAVAILABLE',
      because: 'not-here',
    },
    {
      name: 'a body that is none',
      status: 400,
      body: { error: 'invalid json', message: '[json.exception]' },
      code: 'INPUT_INVALID',
    },
    { name: 'a key that a proxy refuses', status: 401, body: {}, code: 'PROVIDER_REJECTED', because: 'not-here' },
    { name: 'a request that is too large for a proxy', status: 413, body: {}, code: 'INPUT_INVALID' },
    { name: 'anything else', status: 405, body: {}, code: 'PROVIDER_REJECTED' },
  ],
  failures: [
    {
      name: 'the server fails',
      code: 'INTERNAL_ERROR',
      task: (opened, token) => {
        fakeOf(opened).failsWith = 'generate_image returned no results';
        return task({ token });
      },
    },
  ],
  partial: {
    outputs: 1,
    task: (opened, token) => {
      fakeOf(opened).deliversAtMost = 1;
      return task({ token, outputCount: 2 });
    },
  },
});

function fakeOf(opened: OpenedProvider): SdcppFake {
  const fake = fakes.get(opened);
  if (fake === undefined) throw new Error('It has no fake.');
  return fake;
}
