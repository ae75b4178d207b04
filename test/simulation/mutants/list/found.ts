import type { Mutant } from '../mutant.js';

/** Bugs that the simulation found in core, reintroduced: it must keep finding them. */
export const FOUND_MUTANTS: readonly Mutant[] = [
  {
    name: 'output-kept-in-part-delivered',
    breaks: [16],
    file: 'core/generation/run/collect-outputs.js',
    find: 'if (kept !== byteSize)',
    replace: 'if (false)',
    why: 'A store that kept less than it was given is believed, since what is left still decodes.',
  },
  {
    name: 'outputs-collected-twice-under-one-fence',
    breaks: [16],
    file: 'core/generation/run/collect-outputs.js',
    find: 'return g.fence === this.writtenUnder;',
    replace: 'return false;',
    why: 'A write or a removal that was given up arrives late, at a key that was delivered since.',
  },
  {
    name: 'completion-replayed-from-another-keys-success',
    breaks: [11, 16],
    file: 'core/uploads/complete-upload.js',
    find: 'exists: (_, existing) => Promise.resolve(isFinished(existing)),',
    replace: "exists: async () => (await ownUpload(context, caller, id))?.status === 'ready',",
    why: 'A key is answered with a success while its own request is about to be refused, for another checksum too.',
  },
  {
    name: 'completion-answered-after-a-takeover',
    breaks: [11],
    file: 'core/uploads/complete-upload.js',
    find: "if ((await finishClaim(context, mine, removeAt)) === 'taken-over')",
    replace: "if ((await finishClaim(context, mine, removeAt)) === 'never')",
    why: 'A process that lost its key answers under it all the same, and whoever took it over frees it.',
  },
  {
    name: 'key-freed-in-the-dark',
    breaks: [11],
    file: 'core/idempotency/claims.js',
    find: "return (await claims.remove(mine, mine.version)) === 'applied' ? 'freed' : 'taken-over';",
    replace:
      "return (await claims.remove(mine, mine.version).catch(() => 'applied')) === 'applied' ? 'freed' : 'taken-over';",
    why: 'A refusal is given though the store did not say whether the key was still its own.',
  },
  {
    name: 'credential-trusted-by-the-clock-alone',
    breaks: [18],
    file: 'core/access/authenticate.js',
    find: 'if (this.cache.get(credential)?.cancelTimer === cancelTimer) this.cache.delete(credential);',
    replace: '',
    why: 'A clock that is set back again and again keeps a revoked key alive.',
  },
  {
    name: 'no-grace-after-a-cancel',
    breaks: [3],
    file: 'core/generation/run/run-state.js',
    find: '{ ...state, cancelSeenAt: monotonic }',
    replace: '{ ...state, cancelSeenAt: monotonic - 60_000 }',
    why: 'A worker ends a cancelled task without asking its provider to stop, and drops what was made.',
  },
  {
    name: 'clock-that-leaps-within-a-pass-believed',
    breaks: [11, 16],
    file: 'core/recovery/recover.js',
    find: 'evenIfOthersFail(() => recoverGenerations(context, now, shouldContinue), NOTHING.generations);',
    replace:
      'evenIfOthersFail(() => recoverGenerations(context, now + 7_200_000, shouldContinue), NOTHING.generations);',
    why: 'A pass looks at the clock again once it has begun, and removes what it should not.',
  },
];
