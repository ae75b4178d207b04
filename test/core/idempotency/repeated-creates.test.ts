// Goal: a repeated request never buys again what an earlier one has bought and nobody has got: not if the store's answer
// about the repetition is lost, and not if the process of the earlier one has just died.
// Method: creates without a key over stores in memory, whose answers are lost or whose process stops at a chosen moment.
import { expect } from 'chai';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createMatched, type Matched, type MatchedRequest } from '../../../core/generation/create-matched.js';
import { cancelGeneration, deleteGeneration } from '../../../core/generation/end-generation.js';
import type { Generation } from '../../../core/generation/generation.js';
import { change, type CreateState, MATCH_AFTER_END_MS } from '../../../core/idempotency/fingerprint.js';
import { pause } from '../../../core/waiting.js';
import { SilentRetries } from '../../../core/idempotency/silent-retries.js';
import type { FingerprintStore } from '../../../core/ports/stores.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { imageModel } from '../../fixtures/models.js';
import { Gate, intercepted } from '../../fixtures/intercepted.js';
import { CoreHarness } from '../../harness/core-harness.js';

const HOUR_MS = 3_600_000;

function requestOf(harness: CoreHarness, idempotencyKey?: string): MatchedRequest {
  return { content: { a: 1 }, idempotencyKey, isRetry: false, prepare: async () => harness.body() };
}

describe('a repeated create', () => {
  it('is found again after the answer of the store about an earlier repetition was lost', async () => {
    const harness = await CoreHarness.open();
    let isLost = false;
    const context = harness.process(async (call) => {
      const answer = await call.proceed();
      if (isLost && call.name === 'fingerprints.replace' && answer === 'applied') {
        isLost = false;
        throw new StoreUnavailable('The answer was lost.');
      }
      return answer;
    });
    const create = () => harness.clock.run(createMatched(context, harness.caller, requestOf(harness)));
    const first = await create();
    first.place?.leave();
    await harness.clock.advance(1_000);
    isLost = true;
    expect(await create().catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    await harness.clock.advance(60_000);
    expect((await create()).generation.generationId).to.equal(first.generation.generationId);
  });

  it('is forgotten if it was refused, so that the next one creates', async () => {
    const harness = await CoreHarness.open();
    const refused = { ...requestOf(harness), prepare: async () => ({}) };
    const create = (request: MatchedRequest) =>
      harness.clock.run(createMatched(harness.context, harness.caller, request));
    expect(await codeOf(create(refused))).to.equal('FIELD_REQUIRED');
    const { fingerprints } = harness.ports;
    // A write that was given up may still arrive, and must find another version.
    expect(await fingerprints.removeExpired(harness.clock.now(), 10)).to.equal(0);
    expect(await fingerprints.removeExpired(harness.clock.now() + 300_000, 10)).to.equal(1);
    expect((await create(requestOf(harness))).replayed).to.equal(false);
  });

  it('is bought once where the first client left while its files were taken', async () => {
    const harness = await CoreHarness.open();
    const { clock, context, caller } = harness;
    const gate = new Gate();
    let isGone = false;
    const first = createMatched(context, caller, {
      ...requestOf(harness),
      prepare: async () => {
        await gate.wait();
        return harness.body();
      },
      requireConnected: () => {
        if (isGone) throw new ServiceError('BODY_INVALID');
      },
    });
    await clock.advance(10);
    isGone = true;
    const { generation } = await clock.run(createMatched(context, caller, requestOf(harness)));
    gate.open();
    expect(await codeOf(clock.run(first))).to.equal('BODY_INVALID');
    expect((await harness.generations()).map(({ generationId }) => generationId)).to.deep.equal([
      generation.generationId,
    ]);
  });

  it('takes its files once, also where the generation that it was matched with is deleted meanwhile', async () => {
    const harness = await CoreHarness.open();
    const { clock, caller } = harness;
    let deleted: string | undefined;
    const context = harness.process(async (call) => {
      const answer = await call.proceed();
      const id = deleted;
      if (id !== undefined && call.name === 'fingerprints.replace' && answer === 'applied') {
        deleted = undefined;
        await cancelGeneration(harness.context, caller, id);
        await deleteGeneration(harness.context, caller, id);
      }
      return answer;
    });
    let taken = 0;
    const request: MatchedRequest = {
      ...requestOf(harness),
      prepare: async () => {
        taken += 1;
        return harness.body();
      },
    };
    const first = await clock.run(createMatched(context, caller, request));
    first.place?.leave();
    await clock.advance(10);
    [taken, deleted] = [0, first.generation.generationId];
    const second = await clock.run(createMatched(context, caller, request));
    expect([second.replayed, taken]).to.deep.equal([false, 1]);
  });

  it('takes a create with a generation first, then one with a claimed key, then one without a claim', () => {
    const creates = ['none', 'begun', 'succeeded'].map((key) => ({ key, createdAt: 1, waits: [] }));
    const facts = {
      now: 2,
      isAlive: () => false,
      stateOf: ({ key }: { readonly key: string }) => key as CreateState,
    };
    const begin = { kind: 'begin', wait: { bootId: 'b', number: 1 }, isRetry: false, key: 'new' } as const;
    const given = (count: number) => change(creates.slice(0, count), begin, facts).key;
    expect([3, 2, 1, 0].map(given)).to.deep.equal(['succeeded', 'begun', 'none', 'new']);
  });

  it('is matched while its generation runs, however long ago that was answered', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: 4 * HOUR_MS })] });
    const { clock, ports, context, caller } = harness;
    const create = async (): Promise<Matched> => {
      await ports.fingerprints.removeExpired(clock.now(), 10);
      const made = await clock.run(createMatched(context, caller, { ...requestOf(harness), isRetry: true }));
      made.place?.deliver(made.generation);
      await clock.advance(10);
      return made;
    };
    const { generation } = await create();
    clock.jump(3 * HOUR_MS);
    expect((await create()).generation.generationId).to.equal(generation.generationId);
  });

  for (const [what, status, keptMs] of [
    ['has succeeded', 'succeeded', MATCH_AFTER_END_MS],
    ['runs', 'running', HOUR_MS + MATCH_AFTER_END_MS],
  ] as const)
    it(`is kept for ${keptMs / 60_000} minutes after the delivery of one that ${what}, and no longer`, async () => {
      const harness = await CoreHarness.open();
      const { clock, ports } = harness;
      const { place, generation } = await clock.run(createMatched(harness.context, harness.caller, requestOf(harness)));
      place?.deliver({ ...generation, status, runDeadlineAt: clock.now() });
      await clock.advance(10);
      expect(await ports.fingerprints.removeExpired(clock.now() + keptMs - 100, 10)).to.equal(0);
      expect(await ports.fingerprints.removeExpired(clock.now() + keptMs, 10)).to.equal(1);
    });

  it('with a key is refused after the replay window, as in the first interface', async () => {
    const harness = await CoreHarness.open();
    const create = () => harness.clock.run(createMatched(harness.context, harness.caller, requestOf(harness, 'key')));
    await create();
    expect((await create()).replayed).to.equal(true);
    harness.clock.jump(harness.settings.replayWindowMs + 1);
    expect(await codeOf(create())).to.equal('IDEMPOTENCY_REPLAY_EXPIRED');
  });

  it('with a key waits 10 minutes for one in progress, and no longer', async () => {
    const harness = await CoreHarness.open({ settings: { claimLeaseMs: HOUR_MS } });
    const { clock, ports, context, caller } = harness;
    const [now, { boot, digests, settings }] = [clock.now(), context];
    await ports.claims.insert({
      accountId: caller.accountId,
      appId: caller.appId,
      operation: 'create-compatible',
      key: 'key',
      version: 1,
      digest: digests.ofJson({ a: 1 }),
      subjectId: ports.ids.uuid(),
      createdAt: now,
      leaseExpiresAt: now + settings.claimLeaseMs,
      bootId: boot.id,
      removeAt: now + settings.claimRetentionMs,
    });
    expect(await codeOf(clock.run(createMatched(context, caller, requestOf(harness, 'key'))))).to.equal(
      'IDEMPOTENCY_IN_PROGRESS',
    );
    expect(clock.now() - now).to.be.within(600_000, 600_200);
  });

  /** Two processes, of which one may die, and an equal request of each: that of the other one is still open. */
  async function twoProcesses(behindMs = 0, readMs = 0) {
    const harness = await CoreHarness.open();
    const { clock, ports } = harness;
    const { accountId, appId } = harness.caller;
    const request = { accountId, appId, fingerprint: 'a'.repeat(64), isRetry: false };
    const processOf = (fingerprints: FingerprintStore, aheadMs = 0) =>
      new SilentRetries({
        ...ports,
        fingerprints,
        settings: harness.settings,
        boot: { id: ports.ids.uuid(), isExclusive: false },
        clock: {
          now: () => clock.now() + aheadMs,
          monotonic: () => clock.monotonic(),
          after: (ms, then) => clock.after(ms, then),
        },
      });
    const state = { isDead: false };
    const dying = processOf(
      intercepted('fingerprints', ports.fingerprints, (call) =>
        state.isDead ? new Promise(() => undefined) : call.proceed(),
      ),
    );
    const slow = intercepted('fingerprints', ports.fingerprints, async (call) => {
      const answer = await call.proceed();
      if (call.name === 'fingerprints.readLease') await pause(clock, readMs);
      return answer;
    });
    const living = processOf(slow, -behindMs);
    const first = await clock.run(dying.begin(request));
    await clock.advance(3_000);
    const begin = () => clock.run(living.begin(request));
    // While it lives, an equal request is another one.
    const other = await begin();
    expect(other.key.key).to.not.equal(first.key.key);
    return { clock, first, other, begin, die: () => void (state.isDead = true) };
  }

  it('is another one where the process of the first lives, however slowly its lease is read', async () => {
    await twoProcesses(0, 1_500);
  });

  for (const [afterMs, behindMs] of [
    [0, 0],
    [500, 0],
    [2_500, 0],
    [2_500, 1_000],
    [10_000, 0],
  ] as const)
    it(`takes the place of one whose process died ${afterMs} ms ago, at a process ${behindMs} ms behind`, async () => {
      const { clock, first, other, begin, die } = await twoProcesses(behindMs);
      other.deliver({ status: 'succeeded' } as Generation);
      // Then the last renewal that the process has seen is too old.
      await clock.advance(5_000);
      die();
      await clock.advance(afterMs);
      expect((await begin()).key).to.deep.equal(first.key);
    });

  it('finds the create of a process that was taken for dead, though the request that took it was refused', async () => {
    const { clock, first, other, begin, die } = await twoProcesses();
    other.deliver({ status: 'succeeded' } as Generation);
    die();
    await clock.advance(10_000);
    const refused = await begin();
    refused.withdraw();
    await clock.advance(1_000);
    // The process was asleep: it still creates under this key.
    expect((await begin()).key).to.deep.equal(first.key);
  });

  it('does not wait for the lease of a process that it has seen alive within 2 seconds', async () => {
    const { clock, first, begin, die } = await twoProcesses();
    const keys = new Set([first.key.key]);
    for (let n = 0; n < 50; n += 1) {
      await clock.advance(n * 37);
      const startedAt = clock.monotonic();
      keys.add((await begin()).key.key);
      expect(clock.monotonic() - startedAt).to.equal(0);
    }
    expect(keys.size).to.equal(51);
    die();
    await clock.advance(2_000);
    expect((await begin()).key).to.deep.equal(first.key);
  });
});
