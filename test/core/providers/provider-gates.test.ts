// Goal: a submission that was taken and never made is there for the next one; after a pause one task at a time is tried, which
// does not hold the others up for as long as a slow answer takes; calls that were under way when a pause began do not lengthen it.
// Method: the gates of one process over one provider, a manual clock.
import { expect } from 'chai';
import type { ProviderGates } from '../../../core/providers/provider-gates.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import { connectedProviders } from '../../fixtures/connected-providers.js';
import { imageModel } from '../../fixtures/core-models.js';
import { PROMISES, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../harness/core-harness.js';

const FULL = { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true } as const;

async function open(limits: ProviderLimits) {
  const provider = new ScriptedProvider();
  const harness = await CoreHarness.open({
    models: [imageModel({ route: [{ provider: 'p', settings: {}, weight: 1 }] })],
    ports: { providers: connectedProviders({ p: provider }, { p: limits }) },
  });
  const { providerGates } = harness.context;
  return { harness, provider, gates: providerGates, clock: harness.clock };
}

/** Enters as soon as there is room, which is asked for. */
async function entered(gates: ProviderGates, clock: CoreHarness['clock']) {
  let entry = gates.enter(['p']);
  gates.waitFor(new Map([['p', 1]]));
  await clock.until(() => (entry ??= gates.enter(['p'])) !== undefined, 'there is room');
  gates.waitFor(new Map());
  return entry!;
}

describe('the gates of a process', () => {
  it('have the submission again that an entry took and did not make, as long as its share is valid', async () => {
    const { gates, clock } = await open({ maxSubmissionsPerMinute: 2 });
    const unused = await entered(gates, clock);
    expect(gates.enter(['p']), 'one is given at a time').to.equal(undefined);
    unused.release();
    unused.release();
    const used = gates.enter(['p'])!;
    used.submitting();
    used.release();
    expect(gates.enter(['p']), 'that one was made').to.equal(undefined);
  });

  it('do not have it again once its share has expired', async () => {
    const { gates, clock, harness } = await open({ maxSubmissionsPerMinute: 2 });
    const unused = await entered(gates, clock);
    await clock.advance(30_000);
    await gates.report();
    const before = await harness.ports.providerUses.read('p');
    unused.release();
    expect(gates.enter(['p'])).to.equal(undefined);
    expect(before?.shares).to.have.length(1);
  });

  it('let one in after a pause, and the others once it was taken, or was not refused for 5 seconds', async () => {
    for (const [how, waitMs] of [
      ['taken', 0],
      ['under way', 5_000],
    ] as const) {
      const { gates, clock } = await open({});
      const refused = gates.enter(['p'])!;
      refused.full(FULL);
      refused.release();
      expect(gates.enter(['p']), 'paused').to.equal(undefined);
      await clock.advance(1_000);
      const tried = gates.enter(['p'])!;
      tried.submitting();
      expect(gates.enter(['p']), 'one is tried').to.equal(undefined);
      if (how === 'taken') tried.answered(20);
      let hasRoom = 0;
      gates.onRoom(() => (hasRoom += 1));
      gates.waitFor(new Map([['p', 1]]));
      await clock.advance(waitMs);
      expect(gates.enter(['p']), how).to.not.equal(undefined);
      expect(hasRoom, 'those who wait are told').to.equal(how === 'taken' ? 0 : 1);
    }
  });

  it('are paused no longer by calls that were under way when the pause began', async () => {
    const { gates, clock } = await open({});
    const entries = Array.from({ length: 12 }, () => gates.enter(['p'])!);
    for (const entry of entries) entry.failed(new Error('No answer.'));
    await clock.advance(1_000);
    expect(gates.enter(['p'])).to.not.equal(undefined);
  });

  it('take the slots of a lapsed share no sooner than a submission that answers with outputs may last', async () => {
    const { gates, provider, clock, harness } = await open({ maxConcurrent: 1 });
    provider.promised = { ...PROMISES, answersWithOutputs: true };
    await entered(gates, clock);
    await gates.leave();
    const other = harness.process().providerGates;
    const beganAt = clock.now();
    await entered(other, clock);
    const { runTimeoutMs } = harness.models[0]!;
    expect(clock.now() - beganAt).to.be.within(runTimeoutMs, runTimeoutMs + 90_000);
    expect(runTimeoutMs).to.be.above(harness.settings.providerCallMs);
  });
});
