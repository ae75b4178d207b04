/*
 * Goal: the provider for sd-server keeps the provider contract, and bears whatever its server does.
 * Method: the shared contracts against the fake, and the first of them against a real sd-server, which makes a small
 * picture for each task.
 */
import { expect } from 'chai';
import type { JsonObject } from '../../../../core/json.js';
import { providerContract, reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { halfMasked, keptOf } from '../../../fixtures/marked-media.js';
import { HELD_STEPS, SdcppFake } from '../../../providers/fakes/sdcpp-fake.js';
import { orSkip, sdServer } from '../../../servers/servers.js';
import { CAPABILITIES, proveContracts, refusalsOf, vendorSubject } from '../vendor-subject.js';
import { KEY, sdcppAt, SETTINGS, task } from './opened-sdcpp.js';

const HELD = { parameters: { steps: HELD_STEPS } };

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
    name: 'sdcpp, with the real server',
    open: async () => ({
      provider: sdcppAt(url),
      quick: (token: string) => task({ token }),
      endless: (token: string) => task({ token, ...HELD }),
    }),
    close: ({ provider }) => provider.close(),
    supports: { recovery: false, cancellation: false },
  });
});

const { fakeOf, ...opening } = vendorSubject({
  openFake: () => SdcppFake.open(),
  providerAt: sdcppAt,
  tasksOf: (fake) => fake.jobs.size,
  task,
  key: KEY,
  endless: HELD,
  queued: (fake) => {
    fake.jobs.pause();
    return {};
  },
});
proveContracts({
  name: 'sdcpp',
  ...opening,
  supports: {
    capabilities: {
      ...CAPABILITIES,
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
  refusals: refusalsOf([
    ['a full queue', 429, { error: 'job queue is full' }, 'PROVIDER_UNAVAILABLE', 'capacity'],
    ['values that it cannot use', 400, { error: 'invalid generation parameters' }, 'MODEL_UNAVAILABLE'],
    ['a model for videos', 400, { error: 'loaded model does not support img_gen' }, 'MODEL_UNAVAILABLE', 'not-here'],
    ['a body that is none', 400, { error: 'invalid json', message: '[json.exception]' }, 'INPUT_INVALID'],
    ['a key that a proxy refuses', 401, {}, 'PROVIDER_REJECTED', 'not-here'],
    ['a request that is too large for a proxy', 413, {}, 'INPUT_INVALID'],
    ['anything else', 405, {}, 'PROVIDER_REJECTED'],
  ]),
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
