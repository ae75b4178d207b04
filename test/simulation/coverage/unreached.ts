import { isOutOfScope } from './out-of-scope.js';
import { UNREACHED_OF_READERS } from './unreached-readers.js';
import { UNREACHED_OF_WEBHOOKS, type Unreached } from './unreached-webhooks.js';

/** Every other stretch must be taken in a long run. */
export const UNREACHED: readonly Unreached[] = [
  ...UNREACHED_OF_WEBHOOKS,
  ...UNREACHED_OF_READERS,
  {
    file: 'core/credits/account-writer.ts',
    begins: ['this.forgetIdleLane()', 'forgetIdleLane()'],
    atMost: 2,
    why: 'needs ten thousand accounts in one process',
  },
  {
    file: 'core/credits/account-writer.ts',
    begins: ["return new ServiceError('SERVICE_UNAVAILABLE'", '? reject(outcome)'],
    atMost: 2,
    why: 'needs twelve lost races in a row',
  },
  {
    file: 'core/credits/account-writer.ts',
    begins: ['catch (error) { return { failed', 'return decision;', 'pending.reject(outcome.failed)'],
    atMost: 3,
    why: 'an assertion failed: the checker ends the run there',
  },
  {
    file: 'core/credits/decide.ts',
    begins: ["return { refused: 'AMOUNT_INVALID' }", '{ assert(open.credits === credits'],
    atMost: 2,
    why: 'a price that is no amount, or two prices for one id: nobody asks for that',
  },
  {
    file: 'core/credits/operate.ts',
    begins: ["throw new ServiceError('DEVELOPER_TOKEN_INVALID')"],
    atMost: 1,
    why: 'accounts are never removed',
  },
  {
    file: 'core/credits/operate.ts',
    begins: [
      "throw fieldInvalid('/reason', 'An adjustment",
      "throw fieldInvalid('/operation_id'",
      "throw fieldInvalid('/reason', 'A reason",
      "throw new ServiceError('NOT_FOUND'",
    ],
    atMost: 4,
    why: 'input of an operator, and an account removed under their hands',
  },
  {
    file: 'core/generation/end-generation.ts',
    begins: ["throw new ServiceError('NOT_FOUND'"],
    atMost: 1,
    why: 'accounts are never removed',
  },
  {
    file: 'core/generation/settle-generation.ts',
    begins: ['return changedTooOften()', 'function changedTooOften()', 'throw changed;'],
    atMost: 3,
    why: 'needs ten lost races in a row',
  },
  {
    file: 'core/generation/end-generation.ts',
    begins: ["throw new ServiceError('CONFLICT', 'The generation is not settled yet;", 'throw changedTooOften()'],
    atMost: 2,
    why: 'needs a record that another process wrote back, or ten lost races in a row',
  },
  {
    file: 'core/recovery/recover.ts',
    begins: ['await removeOutputs(context, generationId, written);'],
    atMost: 1,
    why: 'comes a day after a deletion; runs are shorter',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ["return new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED')"],
    atMost: 1,
    why: 'tasks are kept for longer than answers are replayed',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ["return new ServiceError('INTERNAL_ERROR')"],
    atMost: 1,
    why: 'a price that is no amount',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ['return refuse(outcome)'],
    atMost: 1,
    why: 'needs twelve lost races in a row',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ['return existing;'],
    atMost: 1,
    why: 'a store whose driver repeats an insert by itself; the one in memory does not',
  },
  {
    file: 'core/generation/decide.ts',
    begins: [
      '? begun',
      "return { refused: 'FENCE_STALE' }",
      "return { refused: 'NOTHING_TO_DO' }",
      "? { refused: 'NOTHING_TO_DO' }",
      "return { refused: 'NOT_ALLOWED' }",
      "return { refused: 'DEADLINE_PASSED' }",
      ': g',
      '?? reservedCredits',
    ],
    atMost: 13,
    why: 'what the caller has looked at before is looked at again',
  },
  {
    file: 'core/generation/run/collect-outputs.ts',
    begins: ['?? 0', 'throw cutShort(key, 0,'],
    atMost: 2,
    why: 'an object lost as soon as it was written',
  },
  {
    file: 'core/generation/run/dispatcher.ts',
    begins: [
      "constructor() { super('This worker has",
      'get counts()',
      ': Promise.resolve()',
      'return Promise.reject(new WorkerBusy())',
      'done.catch(',
    ],
    atMost: 5,
    why: 'needs five hundred generations waiting, or a catalog without the model, or is asked by the health page',
  },
  {
    file: 'core/generation/run/generation-run.ts',
    begins: ["return this.finish({ event: 'fail', error: taskError('TASK_TIMEOUT') })", "return 'on';"],
    atMost: 2,
    why: 'the deadline passes between two looks at it',
  },
  {
    file: 'core/generation/run/next-step.ts',
    begins: ['?? Infinity', '?? 0', ': 0', '? undefined', "throw new Error('Broken invariant"],
    atMost: 9,
    why: 'a running generation has a deadline, a lease and an attempt, and the last row of a table applies',
  },
  {
    file: 'core/generation/run/provider-calls.ts',
    begins: [': new Error(String(error))', 'catch (error) { return Promise.reject('],
    atMost: 2,
    why: 'something thrown that is no error, or thrown before there is a promise',
  },
  {
    file: 'core/generation/run/lease.ts',
    begins: ['throw new LeaseLost(this.current)', 'return;'],
    atMost: 2,
    why: 'a record gone under a lease; a timer that fires after it was cancelled',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ["? ', more than the account has available'"],
    atMost: 1,
    why: 'every simulated key may read the balance',
  },
  {
    file: 'core/generation/uncharged-sums.ts',
    begins: ['this.sums.delete(oldest)'],
    atMost: 1,
    why: 'needs ten thousand accounts in one process',
  },
  {
    file: 'core/uploads/manage-uploads.ts',
    begins: ['return undefined;'],
    atMost: 1,
    why: 'an upload removed while it is marked',
  },
  {
    file: 'core/uploads/manage-uploads.ts',
    begins: ["throw new ServiceError('SERVICE_UNAVAILABLE'"],
    atMost: 1,
    why: 'needs many lost races in a row',
  },
  {
    file: 'core/uploads/manage-uploads.ts',
    begins: [': undefined', '? null', "throw new ServiceError('SERVICE_UNAVAILABLE'"],
    atMost: 3,
    why: 'an id that is none, which fronts check, or many lost races in a row',
  },
  {
    file: 'core/ids.ts',
    begins: ["?? '0'", 'function isDerivedUuid('],
    atMost: 2,
    why: 'asked for Apps that keys are made for; a digest is never empty',
  },
  {
    file: 'core/cancellation.ts',
    begins: [
      'throw call.reason instanceof Error',
      'get reason()',
      'addEventListener(',
      'removeEventListener(',
      'return;',
      'callSafely(listener)',
      'function callSafely(',
      'catch { // A bug of the listener',
    ],
    atMost: 8,
    why: 'simulated providers do not listen to signals; tested in core, and with real ones',
  },
  {
    file: 'core/cancellation.ts',
    begins: [
      "constructor() { super('The caller no longer waits",
      "if ('isOver' in call)",
      'if (call.isOver)',
      'throw new CallOver()',
    ],
    atMost: 4,
    why: 'simulated clients wait for every answer; tested in core and over gRPC',
  },
  {
    file: 'core/repetition.ts',
    begins: ['catch { // Reported by the task'],
    atMost: 1,
    why: 'recovery catches what fails within it',
  },
  { file: 'core/generation/run/lanes.ts', begins: ['return;'], atMost: 2, why: 'a place given back twice' },
  {
    file: 'core/generation/run/lease.ts',
    begins: ['return null;'],
    atMost: 1,
    why: 'a record gone between two reads',
  },
  {
    file: 'core/generation/run/executions.ts',
    begins: ['return null;', "? 'MODEL_UNAVAILABLE'", '{ await settleNowOrSoon('],
    atMost: 3,
    why: 'needs every process without the model until the deadline',
  },
  { file: 'core/generation/decide.ts', begins: ['?? g.updatedAt'], atMost: 1, why: 'what has ended says when' },
  { file: 'core/media/media-types.ts', begins: ["?? 'bin'"], atMost: 1, why: 'outputs are of known types' },
  {
    file: 'core/idempotency/claims.ts',
    begins: ['return inProgress(1_000)'],
    atMost: 1,
    why: 'needs four lost races in a row',
  },
  {
    file: 'core/recovery/recover.ts',
    begins: ['return;'],
    atMost: 1,
    why: 'the removal of a tombstone fails, which is then looked at again anyway',
  },
  { file: 'core/recovery/recover.ts', begins: ['break;'], atMost: 1, why: 'needs ten lost races in a row' },
  {
    file: 'core/recovery/recover.ts',
    begins: ['return;', 'break;'],
    atMost: 3,
    why: 'an upload used or completed between the list and its mark, or a stop between two of them: rare, and no scenario has it',
  },
  {
    file: 'core/recovery/recover.ts',
    begins: ['await context.uploads.replace(withAttention('],
    atMost: 1,
    why: 'settings that were changed after the upload was written',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ['const message = `The content that the account'],
    atMost: 1,
    why: 'the bound is out of reach, and a property of its own holds it',
  },
  {
    file: 'core/uploads/usage.ts',
    begins: ["{ return full('", 'function full('],
    atMost: 4,
    why: 'the bounds are out of reach, and a property of its own holds them',
  },
  {
    file: 'core/uploads/complete-upload.ts',
    begins: ['return request;'],
    atMost: 1,
    why: 'no client of a run sends a faulty body with a completion',
  },
  {
    file: 'core/uploads/complete-upload.ts',
    begins: ["return new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED')"],
    atMost: 1,
    why: 'uploads are kept for longer than answers are replayed',
  },
  {
    file: 'core/uploads/prepare-upload.ts',
    begins: ["return new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED')"],
    atMost: 1,
    why: 'uploads are kept for longer than answers are replayed',
  },
  {
    file: 'core/uploads/prepare-upload.ts',
    begins: ['return takenOver()'],
    atMost: 1,
    why: 'a refusal by the catalog whose key was taken over meanwhile: scenarios have it for create and complete, and tested in core',
  },
  {
    file: 'core/usage/project-usage.ts',
    begins: ["this.ports.log.warn('usage not brought up to date'"],
    atMost: 1,
    why: 'needs an account whose rows or entries cannot be read',
  },
  {
    file: 'core/credits/account.ts',
    begins: ['function isPast('],
    atMost: 1,
    why: 'needs an account that has spent with more keys than its record remembers',
  },
  {
    file: 'core/credits/decide.ts',
    begins: ['const dropsCapUses = [', ': { capUse, dropsCapUses }'],
    atMost: 2,
    why: 'needs an account that has spent with more keys than its record remembers',
  },
  {
    file: 'core/credits/decide.ts',
    begins: [
      'this.changedUses.set(credentialId, undefined)',
      '&& this.base.capUses?.has(id)',
      ': { capUsesDropped: dropped.map(',
      'capUses.delete(credentialId)',
      '*values()',
    ],
    atMost: 5,
    why: 'needs an account that has spent with more keys than its record remembers',
  },
  {
    file: 'core/generation/decide.ts',
    begins: ["return { refused: 'NOT_ALLOWED' }", "return { refused: 'DEADLINE_PASSED' }", 'return g;', ': g'],
    atMost: 8,
    why: 'what the caller has looked at before is looked at again',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: ['const message = `This would reserve', '?? 0'],
    atMost: 2,
    why: 'no simulated client sends a bound of its own, or asks for outputs that cost nothing',
  },
  {
    file: 'core/generation/decide.ts',
    begins: ['? undone'],
    atMost: 1,
    why: 'an attempt that was refused is still being submitted',
  },
  {
    file: 'core/generation/run/collect-outputs.ts',
    begins: ["throw new Error('The output could not be read a second time.')", 'throw error;'],
    atMost: 2,
    why: 'outputs of the simulated provider can be read again; a call aborted in the middle of the pause between two tries',
  },
  {
    file: 'core/generation/run/dispatcher.ts',
    begins: ['throw new WorkerStopping()', '?.release'],
    atMost: 3,
    why: 'a stop, or another provider of the route, between two steps of one moment',
  },
  {
    file: 'core/generation/run/lanes.ts',
    begins: ['?? -1', 'return undefined;'],
    atMost: 2,
    why: 'needs a hundred accounts that cannot go on, or one that left its line before',
  },
  {
    file: 'core/generation/run/dispatcher.ts',
    begins: ['return;'],
    atMost: 1,
    why: 'a task taken up while it is looked up',
  },
  {
    file: 'core/generation/run/run-state.ts',
    begins: ['&& report.cost !== undefined', '? { cost: report.cost }'],
    atMost: 2,
    why: 'the simulated provider says what a task costs in its answers to submissions alone',
  },
  {
    file: 'core/generation/run/generation-run.ts',
    begins: ["return 'not-begun';"],
    atMost: 1,
    why: 'the time of a submission passes between two looks at it',
  },
  {
    file: 'core/generation/run/run-state.ts',
    begins: ['return begunAt;'],
    atMost: 1,
    why: 'who asks about an attempt has one',
  },
  {
    file: 'core/generation/run/provider-calls.ts',
    begins: ["throw new Error('The time of the submission is over.')"],
    atMost: 1,
    why: 'the last byte of a reference comes at the moment when the time is over',
  },
  {
    file: 'core/generation/run/executions.ts',
    begins: ['return [];', '?? (route.length === 1'],
    atMost: 2,
    why: 'every process connects the same providers, and each attempt says where it was made',
  },
  {
    file: 'core/providers/provider-gates.ts',
    begins: [': String(error)', '?? 0'],
    atMost: 2,
    why: 'something thrown that is no error; the median of no times is not asked for',
  },
  {
    file: 'core/providers/provider-gates.ts',
    begins: ['get tasks()', 'get waiters()', 'get slots()', '?? maxSubmissionsPerMinute', 'return;', 'return false;'],
    atMost: 6,
    why: 'asked for metrics; every simulated provider bounds its tasks; five lost races in a row',
  },
  {
    file: 'core/providers/provider-gates.ts',
    begins: ['get seen()', 'return;'],
    atMost: 2,
    why: 'asked for metrics; an entry given back twice',
  },
  {
    file: 'core/providers/provider-use.ts',
    begins: ['return wanted;'],
    atMost: 1,
    why: 'every simulated provider bounds its tasks',
  },
  {
    file: 'core/providers/share-renewals.ts',
    begins: ['return undefined;'],
    atMost: 1,
    why: 'needs five lost races in a row',
  },
  {
    file: 'core/recovery/orphaned-tasks.ts',
    begins: ['return;', "log.warn('task of an earlier process not counted'", '?? (route.length === 1'],
    atMost: 3,
    why: 'every simulated provider bounds its tasks, no record is damaged, and each attempt says where it was made',
  },
  {
    file: 'core/providers/missing-providers.ts',
    begins: ["return 'configuration';", ": 'route'"],
    atMost: 2,
    why: 'every process connects the same providers and has the same routes',
  },
  {
    file: 'core/generation/run/provider-calls.ts',
    begins: ['throw new Error(`The bytes of upload'],
    atMost: 1,
    why: 'uploads in use are not removed',
  },
  {
    file: 'core/generation/run/lease.ts',
    begins: ['return giveUp(context, generation, TOO_LATE);'],
    atMost: 1,
    why: 'the deadline passes between two looks at it',
  },
];

/** Rows of the table of a run's steps that no simulated run takes, and why. */
export const UNREACHED_ROWS: ReadonlyMap<string, string> = new Map([
  ['last poll was made', 'needs a write of the end that the store refuses'],
  [
    'no attempt is left',
    'needs a record of an earlier release: what is counted always leaves one for an undone attempt',
  ],
]);

interface Stretch {
  readonly place: string;
  readonly text: string;
}

/**
 * Of what was never taken, what should have been: all that is named nowhere, or that begins like more than are named.
 */
export function unexpected<S extends Stretch>(neverTaken: readonly S[]): S[] {
  const inScope = neverTaken.filter(({ place }) => !isOutOfScope(place));
  const named = UNREACHED.flatMap((one) => {
    const meant = inScope.filter(
      ({ place, text }) =>
        place.startsWith(`${one.file}:`) && one.begins.some((beginning) => text.startsWith(beginning)),
    );
    return meant.length <= one.atMost ? meant : [];
  });
  return inScope.filter((stretch) => !named.includes(stretch));
}
