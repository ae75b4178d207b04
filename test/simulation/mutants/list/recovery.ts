import type { Mutant } from '../mutant.js';

const GENERATIONS = 'core/recovery/recover.js';
const HOLDS = 'core/recovery/recover.js';

/** Possible mistakes and omissions of recovery. */
export const RECOVERY_MUTANTS: readonly Mutant[] = [
  {
    name: 'hold-released-without-ruling-out',
    breaks: [4, 12],
    file: HOLDS,
    find: "const standing = known ?? (await voidGeneration(context, { generationId, accountId, appId: '' }));",
    replace: "const standing = known ?? { kind: 'void' };",
    why: 'A hold without a generation is released while the generation may still be inserted.',
  },
  {
    name: 'lost-hold-never-released',
    breaks: [6],
    file: HOLDS,
    find: "await context.accountWriter.execute(accountId, { kind: 'settle', generationId, charge: 0 }); return 'released';",
    replace: "return 'released';",
    why: 'The id of a create that was cut is ruled out, and its hold forgotten.',
  },
  {
    name: 'tombstone-goes-at-once',
    breaks: [4, 11],
    file: 'core/generation/create-generation.js',
    find: 'dueAt: now + settings.tombstoneRetentionMs };',
    replace: 'dueAt: now };',
    why: 'A tombstone is taken for rubbish, and a slow create finds its id free again.',
  },
  {
    name: 'ended-not-settled',
    breaks: [4, 6],
    file: GENERATIONS,
    find: "await settleGeneration(context, record); return 'settled';",
    replace: "return 'settled';",
    why: 'Recovery leaves settling to the worker that ended the generation, which may be gone.',
  },
  {
    name: 'nobody-is-woken',
    breaks: [12],
    file: GENERATIONS,
    find: 'if (mayBeTakenOver(g, now, context.boot)) wakeAgain(context, g);',
    replace: '',
    why: 'A lost wake-up is noticed and not sent again.',
  },
  {
    name: 'queued-never-given-up',
    breaks: [6, 20],
    file: 'core/generation/run/executions.js',
    find: 'if (context.clock.now() <= deadlineOf(g)) return null;',
    replace: "if (g.status === 'queued' || context.clock.now() <= deadlineOf(g)) return null;",
    why: 'What waits for a place past its deadline is left to the worker that has no place for it.',
  },
  {
    name: 'outputs-removed-when-looked-at',
    breaks: [9, 16],
    file: 'core/recovery/recover.js',
    find: 'if (mayHaveOutputs(g) && now >= outputsExpireAt) {',
    replace: 'if (mayHaveOutputs(g)) {',
    why: 'Whatever recovery looks at once it is settled is taken to be past its retention.',
  },
  {
    name: 'content-removed-when-looked-at',
    breaks: [7],
    file: 'core/recovery/recover.js',
    find: 'if (hasUnchargedContent(g) && now >= contentExpiresAt && now < taskExpiresAt) {',
    replace: 'if (hasUnchargedContent(g) && now < taskExpiresAt) {',
    why: 'The content of whatever recovery looks at once it is settled goes at once, when nothing was charged.',
  },
  {
    name: 'target-swept-while-it-is-good',
    breaks: [16],
    file: 'core/uploads/upload.js',
    find: 'return expiresAt + settings.claimLeaseMs + settings.recoveryGraceMs;',
    replace: 'return expiresAt - settings.uploadRetentionMs;',
    why: 'What was sent to a target is removed before it can be completed.',
  },
  {
    name: 'leap-of-the-clock-believed',
    breaks: [7, 11, 16],
    file: 'core/recovery/recover.js',
    find: 'if (hasLeapt)',
    replace: 'if (hasLeapt && this.lastPassAt === 0)',
    why: 'A clock that is hours ahead for a moment has retention remove what nobody can bring back.',
  },
];
