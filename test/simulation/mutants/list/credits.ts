import { type Mutant, mutantsIn } from '../mutant.js';

/** Possible mistakes on the way from a request to an accepted generation. */
export const CREATE_MUTANTS: readonly Mutant[] = mutantsIn(`
no-hold: 4 13, core/generation/create-generation.js, seed 1
The price is checked somewhere else, so the generation is inserted without holding it.
- const outcome = await accountWriter.accept(hold, acceptance);
+ if (!claimStands) { const claimed = await context.claims.insert(mine); if (!claimed.inserted) return "taken"; } const made = await
+ context.generations.insert(generation); const outcome = made.inserted ? {} : { existing: made.existing };

hold-attributed-to-the-app: 1, core/generation/create-generation.js, seed 1
Credits are attributed to the App instead of the API key that sent the request.
- attribution: { credentialId: caller.credentialId,
+ attribution: { credentialId: caller.appId,

hold-after-insert: 4 13, core/generation/stepwise-acceptances.js, seed 2
The generation is inserted first, so that there is something to hold the price for.
- if ((await this.stores.accounts.apply(change)) === 'conflict') return { outcome: 'conflict', claimsStand: true }; const inserted = await
- settled(generations.map(async (one) => this.stores.generations.insert(one)));
+ const inserted = await settled(generations.map(async (one) => this.stores.generations.insert(one))); if ((await this.stores.accounts.apply(change))
+ === 'conflict') return { outcome: 'conflict', claimsStand: true };

insert-after-a-conflict: 4 13, core/generation/stepwise-acceptances.js, seed 12
The generations are inserted although their holds were not written.
- if ((await this.stores.accounts.apply(change)) === 'conflict')
+ await this.stores.accounts.apply(change); if (false)

hold-before-the-claim: 4 11, core/generation/stepwise-acceptances.js, seed 2
The price is held although another request has the key.
- if (taken.length > 0) return { outcome: 'taken', taken, claimsStand: true };
+ if (taken.length > 0) { await this.stores.accounts.apply(change); return { outcome: 'taken', taken, claimsStand: true }; }

twins-in-one-batch: 11, core/credits/account-writer.js, seed 18
Two requests with one key are accepted by the same write.
- if (twins.length === 0) return batch;
+ if (twins.length >= 0) return batch;

refused-before-the-key-is-read: 11, core/generation/create-generation.js, seed 5
A repeated request is refused for what it would need if it were new.
- if ((await context.claims.read(key)) === null) throw first;
+ throw first;

claim-freed-after-a-lost-hold: 12, core/generation/create-generation.js, seed 37
A lost answer to the hold is taken for a refusal, and the key is freed while the hold may stand.
- await accountWriter.accept(hold, acceptance);
+ await accountWriter.accept(hold, acceptance).catch(async (error) => { await
+ context.claims.remove(mine, mine.version).catch(() => undefined); throw error; });

takeover-without-tombstone: 11, core/generation/create-generation.js, seed 2
That nothing stands at the old id yet is taken for a promise that nothing ever will.
- await voidGeneration(context, { generationId: id, accountId: caller.accountId, appId: caller.appId });
+ await context.generations.read(id);

refusal-after-a-takeover: 11, core/idempotency/claims.js, seed 37
A process so slow that its key was taken over still gives its own refusal.
- return (await freeClaim(context, mine)) === 'taken-over' ? takenOver() : refusal;
+ await freeClaim(context, mine); return refusal;

insert-taken-for-granted: 12, core/generation/create-generation.js, seed 64
An id minted just now cannot be taken, so what the insert says is not looked at.
- if ('existing' in outcome)
+ if (false)

goes-on-under-a-new-id: 11 12, core/generation/create-generation.js, seed 64
A process whose id was ruled out goes on under a new one, as if the key were still its own.
- if ('existing' in outcome) return adoptOrRelease(context, mine, outcome.existing);
+ if ('existing' in outcome) { if (outcome.existing.kind === 'generation') return outcome.existing; const again = { ...generation, generationId:
+ context.ids.uuid() }; await accountWriter.execute(mine.accountId, { kind: 'settle', generationId: mine.subjectId, charge: 0 }); await
+ accountWriter.execute(mine.accountId, { ...hold, generationId: again.generationId, maxOpenHolds: Infinity }); await
+ context.generations.insert(again); return again; }

looked-at-only-at-the-deadline: 12, core/generation/create-generation.js, seed 14
Recovery looks at a queued generation only at its deadline, so that a lost wake-up ends it.
- dueAt: Math.min(now + recoveryGraceMs, queueDeadlineAt),
+ dueAt: queueDeadlineAt,
`);

/** Possible mistakes about idempotency keys. */
export const KEY_MUTANTS: readonly Mutant[] = mutantsIn(`
digest-not-compared: 11, core/idempotency/claims.js, seed 1
A key that comes with another payload is answered as if it were the same request.
- if (existing.digest !== request.digest)
+ if (existing.digest === undefined)

key-forgotten-after-its-replay-window: 11, core/idempotency/claims.js, seed 1
A key that is not replayed any more is removed, so that the request is carried out again.
- removeAt: now + settings.claimRetentionMs,
+ removeAt: now + settings.replayWindowMs,

replay-without-end: 11, core/idempotency/claims.js, seed 42
The replay window is taken for the retention of the key.
- if (now > existing.createdAt + settings.replayWindowMs)
+ if (now > existing.removeAt)

claim-versions-start-at-one: 11, core/idempotency/claims.js, seed 23
A key that was freed and claimed again has the version that a late process knows, which then frees it.
- version: ids.random(6).reduce((version, byte) => version * 256 + byte, 0),
+ version: ids.random(6) && 1,

takeover-keeps-the-id: 11 12, core/idempotency/claims.js, seed 2
Whoever takes a key over goes on under the id that was just ruled out.
- const next = { ...fresh, version: existing.version + 1 };
+ const next = { ...fresh, subjectId: existing.subjectId, version: existing.version + 1 };

key-shared-by-apps: 11 17, core/generation/create-generation.js, seed 1
Keys are kept by account alone, so that one App meets the key of another.
- const key = { accountId: caller.accountId, appId: caller.appId, operation, key: idempotencyKey };
+ const key = { accountId: caller.accountId, appId: caller.accountId, operation, key: idempotencyKey };

target-given-again-after-its-end: 11, core/uploads/prepare-upload.js, seed 9
A repeated prepare is answered with a signed address that no longer works.
- record.status === 'removing' || context.clock.now() >= record.expiresAt
+ record.status === 'removing'

upload-takeover-without-tombstone: 11, core/uploads/prepare-upload.js, seed 41
A lapsed key of prepare gets a new upload while the first one may still be inserted.
- const outcome = await context.uploads.insert({ kind: 'void', uploadId, accountId, appId, version: 1, createdAt: now, dueAt });
+ const existing = await context.uploads.read(uploadId); const outcome = { inserted: existing === null, existing };
`);

/** Possible mistakes about money. */
export const CREDIT_MUTANTS: readonly Mutant[] = mutantsIn(`
settle-without-hold: 5 12, core/credits/decide.js, seed 2
A charge that finds no hold is taken from the balance, so that it cannot be lost.
- if (!open) return { done: true }; const { charge } = command;
+ const { charge } = command; if (!open) return charge === 0 ? { done: true } : { moves: [moveOf('charge', 'available', 'spent', charge)] };

rest-of-a-hold-kept: 4, core/credits/decide.js, seed 7
Either the charge or the release is written, and a part delivered leaves the rest reserved.
- if (rest > 0 || charge === 0)
+ if (charge === 0)

adjustment-takes-what-there-is: 1, core/credits/decide.js, seed 10
An adjustment below zero is cut down to the balance instead of being refused.
- if (account.available + credits < 0) return { refused: 'CREDITS_INSUFFICIENT' };
+ if (account.available + credits < 0) return { moves: [moveOf('adjustment', 'available', 'issued', account.available)] };

overdraft: 2 13, core/credits/decide.js, seed 1
The price is compared with what was ever issued, not with what is left; only an assertion stands behind it.
- if (account.available < credits) return { refused: 'CREDITS_INSUFFICIENT' };
+ if (account.issued < credits) return { refused: 'CREDITS_INSUFFICIENT' };

open-generations-unbounded: 20, core/credits/decide.js, seed 7
The cap on open generations is not applied.
- if (account.holds.size >= command.maxOpenHolds)
+ if (account.holds.size < 0)

grant-given-again: 1 12, core/credits/decide.js, seed 32
That an operation was done before is not looked up, so that a repeated grant counts twice.
- const before = account.operations.get(operationId);
+ const before = undefined;

conflict-taken-for-applied: 1 4, core/credits/account-writer.js, seed 1
What the store says to a write is not looked at, and a lost race is answered as done.
- return outcome === 'applied' ? { outcome: 'accepted', existing: [] } : { outcome, claimsStand: false };
+ return { outcome: 'accepted', existing: [] };

refusal-on-an-old-state: 4 13, core/credits/account-writer.js, seed 1
A refusal, or that a hold is gone, is believed of a state that another process has moved on from.
- if (!isFresh && !('moves' in decision))
+ if (!isFresh && 'failed' in decision)

batch-does-not-see-itself: 4 5, core/credits/decide.js, seed 2
Two commands of one write on the same hold are each decided as if they were alone.
- this.holds = new Overlay(base.holds);
+ this.holds = Object.assign(new Overlay(base.holds), { get: (id) => base.holds.get(id) });

balance-counts-what-is-held: 1, core/credits/operate.js, seed 6
A client is shown what was not spent yet instead of what it can still reserve.
- availableCredits: account.available,
+ availableCredits: account.available + account.reserved,

price-rounded-twice: 2 3, core/catalog/price.js, seed 1
The price of the units is rounded up before it is multiplied, and then again.
- let amount = cost + BigInt(microcreditsPerMegapixel) * BigInt(pixels);
+ let amount = ((cost + MICRO * UNIT - 1n) / (MICRO * UNIT)) * MICRO * UNIT;

first-megapixel-at-the-common-rate: 3, core/catalog/price.js, seed 1
The first megapixel of an output costs what the others cost.
- const first = units < UNIT ? units : UNIT;
+ const first = 0n;

listed-sizes-ignored: 9, core/catalog/price.js, seed 31
The table of sizes is not read, so an output of another size is delivered, though the model refuses it.
- if (sizeTable !== undefined) {
+ if (sizeTable === null) {

settled-before-the-money-moves: 4, core/generation/settle-generation.js, seed 1
The generation says that it is settled while its hold is still open.
- await Promise.all([paid, announceState(context, generation)]); const retention = retentionOf(generation, context.settings); const changed = await
- tryChange(context, generation, { event: 'settle', ...retention });
+ paid.catch(() => undefined); await announceState(context, generation); const retention = retentionOf(generation, context.settings); const changed =
+ await tryChange(context, generation, { event: 'settle', ...retention }); await paid;

waiting-charge-taken-for-made: 4, core/generation/settle-generation.js, seed 1
The generation says that it is settled while its charge waits to be written with others.
- await Promise.all([paid, announceState(context, generation)]);
+ paid.catch(() => undefined); await Promise.all([mayWait ? undefined : paid, announceState(context, generation)]);
`);

/** Possible mistakes about spending caps. */
export const CAP_MUTANTS: readonly Mutant[] = mutantsIn(`
cap-not-applied: 24, core/credits/decide.js, seed 4
What the key has used is counted, and never compared with its cap.
- if (!(used <= cap.credits)) return 'over';
+

cap-compared-before-the-hold: 24, core/credits/decide.js, seed 4
A key that has anything left of its cap may spend more than that.
- if (!(used <= cap.credits)) return 'over';
+ if (!(used - credits < cap.credits)) return 'over';

cap-not-given-back: 24, core/credits/decide.js, seed 8
What was held and not charged stays counted for the rest of the month.
- if (attribution?.capPeriod === undefined || rest === 0) return {};
+ return {};

cap-given-back-whole: 24, core/credits/decide.js, seed 5
The end of a hold gives the whole hold back to the cap, also what was charged.
- ...countRelease(account, open, rest) }
+ ...countRelease(account, open, open.credits) }

cap-of-a-batch-not-seen: 24, core/credits/decide.js, seed 6
Holds that are written together each see the use before all of them.
- this.capUses = new Overlay(base.capUses ?? NONE);
+ this.capUses = Object.assign(new Overlay(base.capUses ?? NONE), { get: (id) => base.capUses?.get(id) });
`);
