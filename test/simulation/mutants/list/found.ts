import { type Mutant, mutantsIn } from '../mutant.js';

/** Bugs that the simulation found in core, reintroduced: it must keep finding them. */
export const FOUND_MUTANTS: readonly Mutant[] = mutantsIn(`
output-kept-in-part-delivered: 16, core/generation/run/collect-outputs.js, seed 10
A store that kept less than it was given is believed, since what is left still decodes.
- if (kept !== byteSize)
+ if (false)

outputs-collected-twice-under-one-fence: 16, core/generation/run/collect-outputs.js, seed 146
A write or a removal that was given up arrives late, at a key that was delivered since.
- return g.fence === this.writtenUnder;
+ return false;

completion-replayed-from-another-keys-success: 11 16, core/uploads/complete-upload.js, seed 22
A key is answered with a success while its own request is about to be refused, for another checksum too.
- exists: (_, existing) => Promise.resolve(isFinished(existing)),
+ exists: async () => (await ownUpload(context, caller, id))?.status === 'ready',

completion-answered-after-a-takeover: 11, core/uploads/complete-upload.js, seed 1
A process that lost its key answers under it all the same, and whoever took it over frees it.
- if ((await finishClaim(context, mine, removeAt)) === 'taken-over')
+ if ((await finishClaim(context, mine, removeAt)) === 'never')

key-freed-in-the-dark: 11, core/idempotency/claims.js, seed 44
A refusal is given though the store did not say whether the key was still its own.
- return (await claims.remove(mine, mine.version)) === 'applied' ? 'freed' : 'taken-over';
+ return (await claims.remove(mine, mine.version).catch(() => 'applied')) === 'applied' ? 'freed' : 'taken-over';

credential-trusted-by-the-clock-alone: 18, core/access/authenticate.js, seed 1
A clock that is set back again and again keeps a revoked key alive.
- if (this.cache.get(credential)?.cancelTimer === cancelTimer) this.cache.delete(credential);
+

no-grace-after-a-cancel: 3, core/generation/run/run-state.js, seed 7
A worker ends a cancelled task without asking its provider to stop, and drops what was made.
- { ...state, cancelSeenAt: monotonic }
+ { ...state, cancelSeenAt: monotonic - 60_000 }

clock-that-leaps-within-a-pass-believed: 11 16, core/recovery/recover.js, seed 1
A pass looks at the clock again once it has begun, and removes what it should not.
- evenIfOthersFail(() => recoverGenerations(context, now, shouldContinue), NOTHING.generations);
+ evenIfOthersFail(() => recoverGenerations(context, now + 7_200_000, shouldContinue), NOTHING.generations);
`);
