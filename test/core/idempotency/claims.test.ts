import { expect } from 'chai';
import type { Boot } from '../../../core/boot.js';
import { orThrow, ServiceError, StoreUnavailable } from '../../../core/errors.js';
import type { ClaimKey } from '../../../core/idempotency/claim.js';
import {
  claim,
  type Claimed,
  type ClaimTarget,
  freeClaim,
  readIdempotencyKey,
} from '../../../core/idempotency/claims.js';
import type { ClaimStore } from '../../../core/ports/stores.js';
import { DEFAULT_SETTINGS } from '../../../core/settings.js';
import { MemoryClaimStore } from '../../adapters/memory/generation-stores.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { SeededIds } from '../../fixtures/memory-stores.js';
import { expectCode } from '../../harness/core-harness.js';

// Goal: each key has at most one effect, with any concurrent duplicates, slow processes and dead processes; other
// payloads are refused; answers are replayed for the window, and the key stays taken after it.
// Method: `claim` on the memory store, with a plain map as its target; the slow process pauses at a chosen call.

const KEY: ClaimKey = { accountId: 'a', appId: 'p', operation: 'create', key: 'k' };

class ServiceHarness {
  readonly clock = new ManualClock();
  readonly claims = new MemoryClaimStore();
  readonly ids = new SeededIds();
  readonly settings = DEFAULT_SETTINGS;
  boot: Boot = { id: 'first', isExclusive: false };
  /** The effect or the void stored under each subject id. */
  readonly effects = new Map<string, 'effect' | 'void'>();

  readonly target: ClaimTarget = {
    mint: () => this.ids.uuid(),
    exists: async (id) => this.effects.get(id) === 'effect',
    preclude: async (id) => {
      if (!this.effects.has(id)) this.effects.set(id, 'void');
      return this.effects.get(id) === 'effect' ? 'exists' : 'precluded';
    },
  };

  async claim(digest = 'd', key = KEY): Promise<Claimed> {
    return orThrow(await claim(this, { key, digest }, this.target));
  }

  /** Acts as a process with a claim: uses the id if it is free. */
  act(claimed: Claimed): boolean {
    if (!('mine' in claimed) || this.effects.has(claimed.mine.subjectId)) return false;
    this.effects.set(claimed.mine.subjectId, 'effect');
    return true;
  }
}

describe('claim', () => {
  let harness: ServiceHarness;
  beforeEach(() => {
    harness = new ServiceHarness();
  });

  it('gives one of many concurrent duplicates the key, and tells the others to wait', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => harness.claim()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).to.have.property('code', 'IDEMPOTENCY_IN_PROGRESS');
    }
  });

  it('says when to try again, within the lease', async () => {
    await harness.claim();
    harness.clock.jump(DEFAULT_SETTINGS.claimLeaseMs - 500);
    const error = (await harness.claim().catch((refusal: unknown) => refusal)) as ServiceError;
    expect(error.details.retryAfterMs).to.equal(500);
  });

  it('replays the answer of the key, and refuses another payload before and after', async () => {
    const first = await harness.claim();
    await expectCode('IDEMPOTENCY_PAYLOAD_MISMATCH', harness.claim('other'));
    expect(harness.act(first)).to.equal(true);
    expect(await harness.claim()).to.deep.equal({ replayOf: 'mine' in first ? first.mine.subjectId : '' });
    await expectCode('IDEMPOTENCY_PAYLOAD_MISMATCH', harness.claim('other'));
  });

  it('distinguishes keys of other accounts, Apps and operations', async () => {
    for (const change of [{}, { accountId: 'b' }, { appId: 'q' }, { operation: 'prepare' as const }, { key: 'l' }]) {
      expect(await harness.claim('d', { ...KEY, ...change })).to.have.property('mine');
    }
  });

  it('replays through the whole window, then answers that it is over, until the key is free again', async () => {
    harness.act(await harness.claim());
    harness.clock.jump(DEFAULT_SETTINGS.replayWindowMs);
    expect(await harness.claim()).to.have.property('replayOf');
    harness.clock.jump(1);
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', harness.claim());
    expect(await harness.claims.removeExpired(harness.clock.now(), 10)).to.equal(0);
    harness.clock.jump(DEFAULT_SETTINGS.claimRetentionMs - DEFAULT_SETTINGS.replayWindowMs - 1);
    expect(await harness.claims.removeExpired(harness.clock.now(), 10)).to.equal(1);
    expect(await harness.claim()).to.have.property('mine');
  });

  it('precludes the first id before a key is taken over, so that a late first process has no effect', async () => {
    const first = await harness.claim();
    harness.clock.jump(DEFAULT_SETTINGS.claimLeaseMs - 1);
    await expectCode('IDEMPOTENCY_IN_PROGRESS', harness.claim());
    harness.clock.jump(1);
    const second = await harness.claim();
    expect([harness.act(first), harness.act(second)]).to.deep.equal([false, true]);
    expect([...harness.effects.values()].filter((effect) => effect === 'effect')).to.have.length(1);
  });

  it('hands the key to one of many who find the lease lapsed', async () => {
    const first = await harness.claim();
    harness.clock.jump(DEFAULT_SETTINGS.claimLeaseMs);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => harness.claim()));
    const effects = outcomes.filter((outcome) => outcome.status === 'fulfilled' && harness.act(outcome.value));
    expect(effects).to.have.length(1);
    expect(harness.act(first)).to.equal(false);
  });

  it('replays for a whole window after a takeover, however late it was', async () => {
    await harness.claim();
    harness.clock.jump(2 * DEFAULT_SETTINGS.replayWindowMs);
    harness.act(await harness.claim());
    harness.clock.jump(1_000);
    await expectCode('OK', harness.claim());
  });

  it('frees a key for its owner only: a late process cannot free a newer claim', async () => {
    const first = await harness.claim();
    harness.clock.jump(DEFAULT_SETTINGS.claimLeaseMs);
    const second = await harness.claim();
    if (!('mine' in first) || !('mine' in second)) expect.fail('both had the key');
    await freeClaim(harness, second.mine);
    const third = await harness.claim();
    harness.act(third);
    await freeClaim(harness, first.mine);
    await freeClaim(harness, second.mine);
    expect(await harness.claim()).to.deep.equal({ replayOf: 'mine' in third ? third.mine.subjectId : '' });
  });

  it('returns no refusal when the store does not say whether the key was freed', async () => {
    const claimed = await harness.claim();
    if (!('mine' in claimed)) expect.fail('somebody had the key');
    const claims = {
      ...bound(harness.claims),
      remove: () => Promise.reject(new StoreUnavailable('It did not answer in time.')),
    };
    expect(await freeClaim({ claims }, claimed.mine).catch((error: unknown) => error)).to.be.instanceOf(
      StoreUnavailable,
    );
  });
});

function bound(claims: MemoryClaimStore): ClaimStore {
  return {
    insert: (claim_) => claims.insert(claim_),
    read: (key) => claims.read(key),
    replace: (next, version) => claims.replace(next, version),
    remove: (key, version) => claims.remove(key, version),
    removeExpired: (now, limit) => claims.removeExpired(now, limit),
    removeOfAccount: (accountId, limit) => claims.removeOfAccount(accountId, limit),
  };
}

// Goal: an Idempotency-Key is one header of 1 to 255 visible ASCII characters.
// Method: every single character, both lengths at the edge, no header and two.

function keyRefusal(values: readonly string[]): string | undefined {
  try {
    readIdempotencyKey(values);
    return undefined;
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}

describe('readIdempotencyKey', () => {
  it('requires a key if there is none, and a single one if there are two', () => {
    expect(keyRefusal([])).to.equal('IDEMPOTENCY_KEY_REQUIRED');
    expect(keyRefusal(['a', 'a'])).to.equal('IDEMPOTENCY_KEY_INVALID');
  });

  it('accepts 1 to 255 characters', () => {
    expect([
      keyRefusal(['']),
      keyRefusal(['a']),
      keyRefusal(['a'.repeat(255)]),
      keyRefusal(['a'.repeat(256)]),
    ]).to.deep.equal(['IDEMPOTENCY_KEY_INVALID', undefined, undefined, 'IDEMPOTENCY_KEY_INVALID']);
  });

  it('accepts each visible ASCII character and no other', () => {
    for (let code = 0; code < 300; code += 1) {
      const isVisible = code >= 33 && code <= 126;
      expect(keyRefusal([`a${String.fromCharCode(code)}`]), `code ${code}`).to.equal(
        isVisible ? undefined : 'IDEMPOTENCY_KEY_INVALID',
      );
    }
  });
});
