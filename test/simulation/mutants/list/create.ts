import type { Mutant } from '../mutant.js';

const CREATE = 'core/generation/create-generation.js';
const STEPS = 'core/generation/stepwise-acceptances.js';

/** Possible mistakes on the way from a request to an accepted generation. */
export const CREATE_MUTANTS: readonly Mutant[] = [
  {
    name: 'no-hold',
    breaks: [4, 13],
    file: CREATE,
    find: 'const outcome = await accountWriter.accept(holdOf(planned, generation.generationId, settings), acceptance);',
    replace:
      'if (!claimStands) { const claimed = await context.claims.insert(mine); if (!claimed.inserted) return "taken"; } ' +
      'const made = await context.generations.insert(generation); const outcome = made.inserted ? {} : { existing: made.existing };',
    why: 'The price is checked somewhere else, so the generation is inserted without holding it.',
  },
  {
    name: 'hold-attributed-to-the-app',
    breaks: [1],
    file: CREATE,
    find: 'attribution: { credentialId: caller.credentialId,',
    replace: 'attribution: { credentialId: caller.appId,',
    why: 'Credits are attributed to the App instead of the API key that sent the request.',
  },
  {
    name: 'hold-after-insert',
    breaks: [4, 13],
    file: STEPS,
    find:
      "if ((await this.stores.accounts.apply(change)) === 'conflict') return { outcome: 'conflict', claimsStand: true }; " +
      'const inserted = await settled(generations.map(async (one) => this.stores.generations.insert(one)));',
    replace:
      'const inserted = await settled(generations.map(async (one) => this.stores.generations.insert(one))); ' +
      "if ((await this.stores.accounts.apply(change)) === 'conflict') return { outcome: 'conflict', claimsStand: true };",
    why: 'The generation is inserted first, so that there is something to hold the price for.',
  },
  {
    name: 'insert-after-a-conflict',
    breaks: [4, 13],
    file: STEPS,
    find: "if ((await this.stores.accounts.apply(change)) === 'conflict')",
    replace: 'await this.stores.accounts.apply(change); if (false)',
    why: 'The generations are inserted although their holds were not written.',
  },
  {
    name: 'hold-before-the-claim',
    breaks: [4, 11],
    file: STEPS,
    find: "if (taken.length > 0) return { outcome: 'taken', taken, claimsStand: true };",
    replace:
      "if (taken.length > 0) { await this.stores.accounts.apply(change); return { outcome: 'taken', taken, claimsStand: true }; }",
    why: 'The price is held although another request has the key.',
  },
  {
    name: 'twins-in-one-batch',
    breaks: [11],
    file: 'core/credits/account-writer.js',
    find: 'if (twins.length === 0) return batch;',
    replace: 'if (twins.length >= 0) return batch;',
    why: 'Two requests with one key are accepted by the same write.',
  },
  {
    name: 'refused-before-the-key-is-read',
    breaks: [11],
    file: CREATE,
    find: 'if ((await context.claims.read(key)) === null) return first;',
    replace: 'return first;',
    why: 'A repeated request is refused for what it would need if it were new.',
  },
  {
    name: 'claim-freed-after-a-lost-hold',
    breaks: [12],
    file: CREATE,
    find: 'await accountWriter.accept(holdOf(planned, generation.generationId, settings), acceptance);',
    replace:
      'await accountWriter.accept(holdOf(planned, generation.generationId, settings), acceptance).catch(async (error) => { ' +
      'await context.claims.remove(mine, mine.version).catch(() => undefined); throw error; });',
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
    file: 'core/idempotency/claims.js',
    find: "return (await freeClaim(context, mine)) === 'taken-over' ? takenOver() : refusal;",
    replace: 'await freeClaim(context, mine); return refusal;',
    why: 'A process so slow that its key was taken over still gives its own refusal.',
  },
  {
    name: 'insert-taken-for-granted',
    breaks: [12],
    file: CREATE,
    find: "if ('existing' in outcome)",
    replace: 'if (false)',
    why: 'An id minted just now cannot be taken, so what the insert says is not looked at.',
  },
  {
    name: 'goes-on-under-a-new-id',
    breaks: [11, 12],
    file: CREATE,
    find: "if ('existing' in outcome) return adoptOrRelease(context, mine, outcome.existing);",
    replace:
      "if ('existing' in outcome) { if (outcome.existing.kind === 'generation') return outcome.existing; " +
      'const again = { ...generation, generationId: context.ids.uuid() }; ' +
      "await accountWriter.execute(mine.accountId, { kind: 'settle', generationId: mine.subjectId, charge: 0 }); " +
      'await accountWriter.execute(mine.accountId, { ...holdOf(planned, again.generationId, settings), maxOpenHolds: Infinity }); ' +
      'await context.generations.insert(again); return again; }',
    why: 'A process whose id was ruled out goes on under a new one, as if the key were still its own.',
  },
  {
    name: 'looked-at-only-at-the-deadline',
    breaks: [12],
    file: 'core/generation/create-generation.js',
    find: 'dueAt: Math.min(now + recoveryGraceMs, queueDeadlineAt),',
    replace: 'dueAt: queueDeadlineAt,',
    why: 'Recovery looks at a queued generation only at its deadline, so that a lost wake-up ends it.',
  },
];
