import { type Mutant, mutantsIn } from '../mutant.js';

/** Possible mistakes in the rules of repeated creates. Invariant 11 is that of keys: a repeated create has one effect. */
export const REPETITION_MUTANTS: readonly Mutant[] = mutantsIn(`
unheard-by-the-header-alone: 11, core/idempotency/fingerprint.js, seed 11
A client without the header buys again what nobody has got.
- const found = findUnheard(creates, facts) ??
+ const found = (isRetry ? findUnheard(creates, facts) : undefined) ??

header-ignored: 11, core/idempotency/fingerprint.js, seed 23
What was delivered and lost behind a proxy is bought again.
- (isRetry ? findRepeatable(creates, facts) : undefined)
+ undefined

repeatable-for-everybody: 11, core/idempotency/fingerprint.js, seed 11
Two honest equal requests are one generation.
- (isRetry ? findRepeatable(creates, facts) : undefined)
+ findRepeatable(creates, facts)

delivered-counts-as-unheard: 11, core/idempotency/fingerprint.js, seed 18
An honest equal request gets what another one has received.
- return deliveredAt === undefined && !waits.some(isAlive);
+ return !waits.some(isAlive);

waited-for-counts-as-unheard: 11, core/idempotency/fingerprint.js, seed 11
An equal request gets what another one waits for.
- return deliveredAt === undefined && !waits.some(isAlive);
+ return deliveredAt === undefined;

leave-delivers: 11, core/idempotency/fingerprint.js, seed 11
A cut answer counts as delivered.
- return { creates: creates.map((create) => without(create, made.wait)) };
+ return { creates: creates.map((create) => isWaitedForBy(create, made.wait) ? delivered(create, { ...made, isFailure: false }, facts.now) : create) };

withdraw-keeps-the-create: 11, core/idempotency/fingerprint.js, seed 11
A refused request leaves its create.
- return isUnused ? [] : [left];
+ return [left];

unheard-pruned: 11, core/idempotency/fingerprint.js, seed 11
A create that nobody waits for is forgotten.
- return facts.stateOf(create) === 'over' ? [] : [{ ...create, waits }];
+ return facts.stateOf(create) !== 'open' ? [] : [{ ...create, waits }];

end-of-wait-decided-without-the-record: 11, core/idempotency/silent-retries.js, seed 11
After an outage the end of a wait is never stored.
- queue.known ?? (isBegun ? null : await fingerprints.read(owner.fingerprint));
+ queue.known ?? null;

end-of-wait-not-retried: 11, core/idempotency/silent-retries.js, seed 11
The end of a wait is stored if the store answers at once, or never.
- await pause(this.parts.clock, backoffMs(this.parts.settings, tries));
+ return;

conflict-ignored: 11, core/idempotency/silent-retries.js, seed 11
A decision counts although another process has changed the record.
- === 'applied') {
+ !== 'x') {

void-counts-as-open: 11, core/idempotency/silent-retries.js, seed 33
A deleted generation counts as one that may still come.
- record.kind !== 'generation' || record.deletedAt !== undefined
+ record.kind !== 'generation'

earlier-boot-alive: 11, core/idempotency/process-leases.js, seed 32
An earlier boot of an exclusive store counts as alive.
- if (boot.isExclusive) return false;
+ if (boot.isExclusive) return true;

recent-lease-counts: 11, core/idempotency/process-leases.js, seed 24
A process that died right after a renewal counts as alive.
- if (wasAlive(seen, askedAt)) return true;
+ return true;

seen-once-counts-for-ever: 11, core/idempotency/process-leases.js, seed 448
A process that was seen counts as alive long after its death.
- return at - aliveAt < SILENT_MS;
+ return aliveAt > 0;

skew-counts-as-death: 11, core/idempotency/process-leases.js, seed 68
A process whose clock is behind counts as dead.
- ageMs > LEASE_MS + MAX_CLOCK_SKEW_MS ||
+ ageMs > LEASE_MS ||

lease-not-renewed: 11, core/idempotency/process-leases.js, seed 11
A process renews its lease no more.
- await this.renew().catch(() => undefined);
+ await Promise.resolve();

no-lease: 11, core/idempotency/process-leases.js, seed 19
A process with waits has no lease.
- await this.renew(); }
+ }

refusal-leaves-its-place: 11, core/generation/create-matched.js, seed 11
A refusal leaves its place as if it had been cut.
- else place.withdraw();
+ else place.leave();

key-of-another-body: 11, core/generation/create-matched.js, seed 24
A key answers another request too.
- if (claim !== null && claim.digest !== digest) throw new ServiceError('IDEMPOTENCY_PAYLOAD_MISMATCH');
+ if (false) throw new ServiceError('IDEMPOTENCY_PAYLOAD_MISMATCH');

key-in-progress-refused: 11, core/generation/create-matched.js, seed 23
A create in progress is refused and not waited for.
- if (!isInProgress || context.clock.monotonic() - startedAt >= MAX_WAIT_MS) throw error;
+ throw error;
`);
