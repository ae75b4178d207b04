// Goal: a key with a spending cap creates and estimates up to its cap, whatever its account has; what is not charged can
// be spent again, other keys are not concerned, and the refusal says that it is the cap.
// Method: the use cases on memory adapters with keys of one App; a generation that fails gives everything back.
import { expect } from 'chai';
import { Authenticator } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import { createKey } from '../../../core/access/manage.js';
import { createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

describe('a key with a spending cap', () => {
  let harness: CoreHarness;
  let capped: Caller;
  let keys = 0;

  /** A caller as authentication gives it. */
  async function withCap(monthlyCap?: number): Promise<Caller> {
    const { appId } = harness.caller;
    const cap = monthlyCap === undefined ? {} : { monthlyCap };
    const { secret } = await createKey(harness.context, { appId, name: 'key', ...cap });
    return new Authenticator(harness.context).authenticate(secret);
  }
  const create = (caller: Caller, count = 1) => {
    keys += 1;
    return createGeneration(harness.context, caller, `key-${keys}`, harness.body({ count }));
  };
  const estimate = (caller: Caller, count = 1) => estimateGeneration(harness.context, caller, harness.body({ count }));

  beforeEach(async () => {
    harness = await CoreHarness.open();
    capped = await withCap(25);
  });

  it('creates and estimates up to its cap', async () => {
    await create(capped);
    expect((await estimate(capped)).estimatedCredits).to.equal(10);
    await create(capped);
    expect(await codeOf(create(capped))).to.equal('CREDITS_INSUFFICIENT');
    expect(await codeOf(estimate(capped))).to.equal('CREDITS_INSUFFICIENT');
  });

  it('is refused with a sentence about its cap, and not about the balance', async () => {
    for (const work of [create(capped, 3), estimate(capped, 3)]) {
      const error = await work.catch((thrown: unknown) => thrown);
      expect(error).to.have.property(
        'message',
        "This would reserve 30 credits, which is more than is left of the credential's spending cap of 25 credits a month (UTC).",
      );
    }
  });

  it('can spend again what was not charged', async () => {
    const { generation } = await create(capped, 2);
    expect(await codeOf(create(capped))).to.equal('CREDITS_INSUFFICIENT');
    await cancelGeneration(harness.context, capped, generation.generationId);
    await create(capped, 2);
  });

  it('does not concern other keys of the App, nor is it concerned by them', async () => {
    const [other, free] = [await withCap(10), await withCap()];
    await create(capped, 2);
    await create(other);
    await create(free, 3);
    expect(await codeOf(create(other))).to.equal('CREDITS_INSUFFICIENT');
  });

  it('spends nothing under a cap of nothing', async () => {
    expect(await codeOf(create(await withCap(0)))).to.equal('CREDITS_INSUFFICIENT');
  });

  it('has its whole cap again in the next month', async () => {
    await create(capped, 2);
    harness.clock.jump(31 * 86_400_000);
    await create(capped, 2);
    expect(await codeOf(create(capped))).to.equal('CREDITS_INSUFFICIENT');
  });

  it('accepts exactly what fits of creates at once', async () => {
    const key = await withCap(70);
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => codeOf(create(key))));
    expect(outcomes.filter((code) => code === 'OK')).to.have.lengthOf(7);
    expect(new Set(outcomes)).to.deep.equal(new Set(['OK', 'CREDITS_INSUFFICIENT']));
  });

  it('gets the answer of its first create again, though its cap is used up', async () => {
    const key = await withCap(10);
    const body = harness.body();
    const first = await createGeneration(harness.context, key, 'same', body);
    const again = await createGeneration(harness.context, key, 'same', body);
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, first.generation.generationId]);
  });

  it('has a cap of whole credits, 0 at least', async () => {
    for (const cap of [-1, 1.5, 2 ** 53, Number.NaN])
      expect(await codeOf(withCap(cap)), String(cap)).to.equal('FIELD_INVALID');
  });
});
