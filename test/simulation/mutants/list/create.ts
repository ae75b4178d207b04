import type { Mutant } from '../mutant.js';

const CREATE = 'core/generation/create-generation.js';

/** What can be got wrong on the way from a request to an accepted generation. */
export const CREATE_MUTANTS: readonly Mutant[] = [
  {
    name: 'no-hold',
    breaks: [4, 13],
    file: CREATE,
    find: 'await hold(context, caller, mine, quote, request);',
    replace: '',
    why: 'The price is checked somewhere else, so the generation is inserted without holding it.',
  },
  {
    name: 'hold-attributed-to-the-app',
    breaks: [1],
    file: CREATE,
    find: 'credentialId: caller.credentialId,',
    replace: 'credentialId: caller.appId,',
    why: 'Credits are attributed to the App instead of the API key that sent the request.',
  },
  {
    name: 'hold-after-insert',
    breaks: [4, 13],
    file: CREATE,
    find: 'await hold(context, caller, mine, quote, request); }',
    replace:
      'const made = await insertOrRelease(context, caller, request, mine, quote); await hold(context, caller, mine, quote, request); return made; }',
    why: 'The generation is inserted first, so that there is something to hold the price for.',
  },
  {
    name: 'claim-freed-after-a-lost-hold',
    breaks: [12],
    file: CREATE,
    find: 'if (quote && !(error instanceof ServiceError)) throw error;',
    replace: '',
    why: 'A lost answer to the hold is taken for a refusal, and the key is freed while the hold may stand.',
  },
  {
    name: 'takeover-without-tombstone',
    breaks: [11],
    file: CREATE,
    find: 'await voidGeneration(context, { generationId: id, accountId: caller.accountId, appId: caller.appId });',
    replace: 'await context.generations.read(id);',
    why: 'That nothing stands at the old id yet is taken for a promise that nothing ever will.',
  },
  {
    name: 'refusal-after-a-takeover',
    breaks: [11],
    file: CREATE,
    find: "if ((await freeClaim(context, mine)) === 'taken-over') return 'taken-over';",
    replace: 'await freeClaim(context, mine);',
    why: 'A process so slow that its key was taken over still gives its own refusal.',
  },
  {
    name: 'insert-taken-for-granted',
    breaks: [12],
    file: CREATE,
    find: 'if (outcome.inserted) {',
    replace: 'if (outcome !== undefined) {',
    why: 'An id minted just now cannot be taken, so what the insert says is not looked at.',
  },
  {
    name: 'goes-on-under-a-new-id',
    breaks: [11, 12],
    file: CREATE,
    find:
      "if (outcome.existing.kind === 'generation') return outcome.existing; await accountWriter.execute(mine.accountId, " +
      "{ kind: 'settle', generationId: mine.subjectId, charge: 0 }); return 'taken-over';",
    replace:
      "if (outcome.existing.kind === 'generation') return outcome.existing; const again = { ...generation, generationId: context.ids.uuid() }; " +
      "await accountWriter.execute(mine.accountId, { kind: 'settle', generationId: mine.subjectId, charge: 0 }); " +
      "await accountWriter.execute(mine.accountId, { kind: 'hold', generationId: again.generationId, credits: quote.credits, maxOpenHolds: Infinity }); " +
      'await generations.insert(again); return again;',
    why: 'A process whose id was ruled out goes on under a new one, as if the key were still its own.',
  },
  {
    name: 'looked-at-only-at-the-deadline',
    breaks: [12],
    file: 'core/generation/accept.js',
    find: 'dueAt: Math.min(now + recoveryGraceMs, queueDeadlineAt),',
    replace: 'dueAt: queueDeadlineAt,',
    why: 'Recovery looks at a queued generation only at its deadline, so that a lost wake-up ends it.',
  },
];
