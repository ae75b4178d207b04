// Goal: a holder can continue under a new fence, which shuts out every write sent under the old one; a holder that was
// overtaken, or does not know which fence counts, writes nothing any more.
// Method: one holder on memory adapters, overtaken or with the answer of its write lost; the record is read again.
import { expect } from 'chai';
import type { Context } from '../../../../core/context.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import { LeaseHolder, LeaseLost, takeLease } from '../../../../core/generation/run/lease.js';
import { changeGeneration } from '../../../../core/generation/settle-generation.js';
import { CoreHarness } from '../../../harness/core-harness.js';

describe('a lease that is taken again by its holder', () => {
  let harness: CoreHarness;
  let generationId: string;
  let holder: LeaseHolder;
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  async function hold(context: Context): Promise<void> {
    const taken = await takeLease(context, 'first', generationId, 'scripted');
    if (taken === null || 'needsRoom' in taken) expect.fail('there is a lease to take');
    holder = new LeaseHolder(context, taken.generation, taken.leasedAt, () => undefined);
  }

  beforeEach(async () => {
    harness = await CoreHarness.open();
    ({ generationId } = await harness.create());
  });
  afterEach(() => holder.end());

  it('has the next fence and its whole time; the old fence is invalid, and the holder renews the new one', async () => {
    await hold(harness.context);
    harness.clock.jump(5_000);
    const g = await holder.reLease();
    const { leaseMs } = harness.settings;
    const {
      clock,
      context: { boot },
    } = harness;
    expect([g.fence, g.lease]).to.deep.equal([
      2,
      { worker: 'first', fence: 2, renewedAt: clock.now(), expiresAt: clock.now() + leaseMs, bootId: boot.id },
    ]);
    expect(await changeGeneration(harness.context, g, { event: 'renew', leaseMs, fence: 1 })).to.have.property(
      'refused',
      'FENCE_STALE',
    );
    await harness.clock.advance(3 * leaseMs);
    expect((await harness.generation(generationId)).lease).to.include({ worker: 'first', fence: 2 });
    expect(await holder.write({ event: 'accepted', reference: 'r' })).to.not.have.property('refused');
  });

  it('is refused to an overtaken holder, which then can write nothing', async () => {
    await hold(harness.context);
    harness.clock.jump(harness.settings.leaseMs);
    await takeLease(harness.context, 'second', generationId, 'scripted');
    const before = await harness.generation(generationId);
    expect(before.lease).to.include({ worker: 'second', fence: 2 });
    expect(await failure(holder.reLease())).to.be.instanceOf(LeaseLost);
    // What the holder knows now is the newest version; the fence it may use is still its own.
    expect(await failure(holder.reLease())).to.be.instanceOf(LeaseLost);
    expect(await failure(holder.write({ event: 'accepted', reference: 'r' }))).to.be.instanceOf(LeaseLost);
    expect(await harness.generation(generationId)).to.deep.equal(before);
  });

  it('shows an overtaken holder no version of the next one', async () => {
    await hold(harness.context);
    harness.clock.jump(harness.settings.leaseMs);
    await takeLease(harness.context, 'second', generationId, 'scripted');
    expect(holder.generation.fence).to.equal(1);
    await harness.clock.advance(harness.settings.leaseMs);
    expect(() => holder.generation).to.throw(LeaseLost);
  });

  it('permits no write when the answer was lost', async () => {
    let isLost = false;
    await hold(
      harness.process(async (call) => {
        const answer = await call.proceed();
        if (call.name !== 'generations.replace' || isLost || (call.args[0] as { fence: number }).fence !== 2)
          return answer;
        isLost = true;
        throw new StoreUnavailable('The answer was lost.');
      }),
    );
    expect(await failure(holder.reLease())).to.be.instanceOf(StoreUnavailable);
    const before = await harness.generation(generationId);
    expect(before.fence).to.equal(2);
    expect(await failure(holder.write({ event: 'accepted', reference: 'r' }))).to.be.instanceOf(LeaseLost);
    expect(await harness.generation(generationId)).to.deep.equal(before);
  });

  for (const isOvertaken of [false, true]) {
    it(`is ${isOvertaken ? "not taken for the holder's that was overtaken" : 'found by its holder'}, when the answer was lost and it asks again`, async () => {
      let isLost = false;
      await hold(
        harness.process(async (call) => {
          const answer = await call.proceed();
          if (isLost || call.name !== 'generations.replace' || (call.args[0] as { fence: number }).fence !== 2)
            return answer;
          isLost = true;
          throw new StoreUnavailable('The answer was lost.');
        }),
      );
      expect(await failure(holder.reLease())).to.be.instanceOf(StoreUnavailable);
      // Renewals meanwhile do not take it for lost.
      await harness.clock.advance(harness.settings.leaseMs / 2);
      if (isOvertaken) {
        harness.clock.jump(harness.settings.leaseMs);
        await takeLease(harness.context, 'second', generationId, 'scripted');
        expect(await failure(holder.reLease())).to.be.instanceOf(LeaseLost);
        return;
      }
      expect((await holder.reLease()).fence).to.equal(2);
      expect(await holder.write({ event: 'accepted', reference: 'r' })).to.not.have.property('refused');
    });
  }
});
