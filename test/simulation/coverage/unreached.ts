/** Ranges of core that no run takes. */
interface Unreached {
  readonly file: string;
  readonly why: string;
  /** How the compiled text of each begins. */
  readonly begins: readonly string[];
  readonly atMost: number;
}

/**
 * Ranges of core that no run is expected to take; a long run must take all others. Runs are hours long, while deliveries
 * are tried for days and kept for weeks. Below each file, why; below that, how the ranges begin. There are as many
 * ranges as beginnings, unless the reason says how many.
 */
const TABLE = `
core/cancellation.ts
  simulated providers do not listen to signals; tested in core, and with real ones
    throw call.reason instanceof Error | get reason() | addEventListener( | removeEventListener( | return;
    callSafely(listener) | function callSafely( | catch { // A bug of the listener
  simulated clients wait for every answer; tested in core and over gRPC
    constructor() { super('The caller no longer waits | if ('isOver' in call) | if (call.isOver)
    throw new CallOver()
core/credits/account-writer.ts
  needs ten thousand accounts in one process
    { for (const [idle, queue] of this.queues)
  needs twelve lost races in a row
    return busy('The account is being changed | ? reject(outcome)
  an assertion failed: the checker ends the run there
    catch (error) { decision = { failed | outcomes.push(decision); | pending.reject(outcome.failed)
core/credits/account.ts
  needs an account that has spent with more keys than its record remembers
    function isPast(
core/credits/decide.ts
  a price that is no amount, or two prices for one id: nobody asks for that
    return { refused: 'AMOUNT_INVALID' } | { assert(open.credits === credits
  needs an account that has spent with more keys than its record remembers
    const dropsCapUses = [ | : { capUse, dropsCapUses }
  needs an account that has spent with more keys than its record remembers
    this.capUses.set(credentialId, undefined) | && this.base.capUses?.has(id) | : { capUsesDropped: dropped.map(
    *values()
core/credits/operate.ts
  accounts are never removed
    throw new ServiceError('DEVELOPER_TOKEN_INVALID')
  input of an operator, and an account removed under their hands
    throw fieldInvalid('/reason', 'An adjustment | throw fieldInvalid('/operation_id'
    throw fieldInvalid('/reason', 'A reason | throw new ServiceError('NOT_FOUND'
core/generation/create-generation.ts
  no client of a run has an address told of one generation
    : { webhookUrl: request.webhookUrl
  no client of a run has an address told of one generation
    : await webhookUrlRefusal( | throw refusedUrl; | : { ...read, webhookUrl }
    : { content, webhookUrl }
  tasks are kept for longer than answers are replayed
    throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED')
  a price that is no amount
    return new ServiceError('INTERNAL_ERROR')
  needs twelve lost races in a row
    return refuse(outcome)
  a store whose driver repeats an insert by itself; the one in memory does not
    return existing;
  every simulated key may read the balance
    ? ', more than the account has available'
  the bound is out of reach, and a property of its own holds it
    const message = \`The content that the account
  no simulated client sends a bound of its own, or asks for outputs that cost nothing
    const message = \`This would reserve | ?? 0
core/generation/create-matched.ts
  needs three generations that are deleted while one request finds them
    || tries >= MAX_DELETED
  what was found has a claim, and whoever is in progress says when to look again
    ?? 0 | ?? 200
  no model of a run delays its creates
    : { requireAllowed }
core/generation/decide.ts
  what the caller has looked at before is looked at again (at most 13)
    ? begun | return { refused: 'FENCE_STALE' } | return { refused: 'NOTHING_TO_DO' } | ? { refused: 'NOTHING_TO_DO' }
    return { refused: 'NOT_ALLOWED' } | return { refused: 'DEADLINE_PASSED' } | : g | ?? reservedCredits
  what has ended says when
    ?? g.updatedAt
  what the caller has looked at before is looked at again (at most 8)
    return { refused: 'NOT_ALLOWED' } | return { refused: 'DEADLINE_PASSED' } | return g; | : g
  an attempt that was refused is still being submitted
    ? undone
  no client of a run requests thumbnails
    case 'thumbnail-made' | function addThumbnail( | return outputs.map(
core/generation/end-generation.ts
  accounts are never removed
    throw new ServiceError('NOT_FOUND'
  needs a record that another process wrote back, or ten lost races in a row
    throw new ServiceError('CONFLICT', 'The generation is not settled yet; | throw changedTooOften()
  no client of a run requests thumbnails
    : { hasThumbnails | await Promise.all(thumbnailKeysOf(
core/generation/events.ts
  needs 500 generations of an App, or a line that breaks while the past is told (at most 3)
    return; | await pause(
  needs ten thousand changes, or a line that is cut for ten minutes
    && !this.waiting.has(generationId) | this.isOverrun = true | ?? 0 | ?? updatedAt | get remembered()
    const before = completeTo - REMEMBERED_MS | this.known.delete(generationId)
  ids are checked by fronts
    function isEventId(text) | return undefined;
core/generation/generation.ts
  no client of a run requests thumbnails
    : sizes.reduce(
core/generation/run/collect-outputs.ts
  an object lost as soon as it was written
    ?? 0 | throw cutShort(key, 0,
  outputs of the simulated provider can be read again; a call aborted in the middle of the pause between two tries
    throw new Error('The output could not be read a second time.') | throw error;
core/generation/run/dispatcher.ts
  needs five hundred generations waiting, or a catalog without the model, or is asked by the health page
    constructor() { super('This worker has | get counts() | : Promise.resolve()
    return Promise.reject(new WorkerBusy()) | done.catch(
  a stop, or another provider of the route, between two steps of one moment (at most 3)
    throw new WorkerStopping() | ?.release
  a task taken up while it is looked up
    return;
core/generation/run/executions.ts
  needs every process without the model until the deadline
    return null; | ? 'MODEL_UNAVAILABLE' | { await settleNowOrSoon(
  every process connects the same providers, and each attempt says where it was made
    return []; | ?? (route.length === 1
core/generation/run/generation-run.ts
  the deadline passes between two looks at it
    return this.finish({ event: 'fail', error: taskError('TASK_TIMEOUT') }) | return 'on';
core/generation/run/model-slots.ts
  a slot given back twice (at most 2)
    return;
  needs a hundred accounts that cannot go on, or one that left its line before
    ?? -1 | return undefined;
core/generation/run/lease.ts
  a record gone under a lease; a timer that fires after it was cancelled
    throw new LeaseLost(this.current) | return;
  a record gone between two reads
    return null;
  the deadline passes between two looks at it
    return giveUp(context, generation, TOO_LATE);
core/generation/run/next-step.ts
  a running generation has a deadline, a lease and an attempt, and the last row of a table applies (at most 9)
    ?? Infinity | ?? 0 | : 0 | ? undefined | throw new Error('Broken invariant
core/generation/run/provider-calls.ts
  something thrown that is no error, or thrown before there is a promise
    : new Error(String(error)) | catch (error) { return Promise.reject(
core/generation/run/run-state.ts
  the simulated provider says what a task costs in its answers to submissions alone
    && report.cost !== undefined | ? { cost: report.cost }
  who asks about an attempt has one
    return begunAt;
core/generation/run/submit-attempt.ts
  the time of a submission passes between two looks at it
    return 'not-started';
  the last byte of a reference comes at the moment when the time is over
    throw new Error('The time of the submission is over.')
  uploads in use are not removed
    throw new Error(\`The bytes of upload
core/generation/settle-generation.ts
  needs ten lost races in a row
    throw changedTooOften() | function changedTooOften()
core/generation/uncharged-sums.ts
  needs ten thousand accounts in one process
    this.sums.delete(oldest)
core/generation/watch.ts
  the stores of a run tell of no writes: that is tested with a store that does
    (change) => this.writtenElsewhere(change) | () => this.hurry() | writtenElsewhere(change) | hurry() {
  asked by tests alone, or needs a thousand generations of an App, or one that opens or is removed while it is looked at
    get followed() | ?? 0 | return; | now.add(id)
core/idempotency/claims.ts
  needs four lost races in a row
    return inProgress(1_000)
core/idempotency/fingerprint.ts
  those that are compared were all delivered (at most 2)
    ?? 0
core/idempotency/process-leases.ts
  whoever waits has a lease
    return false;
core/idempotency/silent-retries.ts
  whoever begins has a key, and whatever has ended a time
    ?? newKey | ?? record.updatedAt
  needs twelve lost races in a row
    throw busy('Equal requests change
core/ids.ts
  asked for Apps that keys are made for; a digest is never empty
    ?? '0' | function isDerivedUuid(
core/media/media-types.ts
  outputs are of known types
    ?? 'bin'
core/providers/provider-gates.ts
  something thrown that is no error; the median of no times is not asked for
    : String(error) | ?? 0
  asked for metrics; every simulated provider bounds its tasks; five lost races in a row
    get tasks() | get waiters() | get slots() | ?? this.limits.maxSubmissionsPerMinute | return; | return false;
  asked for metrics; an entry given back twice
    get seen() | return;
  every process connects the same providers and has the same routes
    return 'configuration'; | : 'route'
core/providers/provider-use.ts
  every simulated provider bounds its tasks
    return wanted;
core/providers/provider-shares.ts
  needs five lost races in a row
    return undefined;
core/recovery/earlier-tasks.ts
  every simulated provider bounds its tasks, and no record is damaged
    return; | log.warn('task of an earlier process not counted'
core/recovery/recover.ts
  needs the thirty days for which deliveries are kept
    : await remove(context | if (outcome) | async function remove(
  an open delivery may always be postponed
    return null;
  comes a day after a deletion; runs are shorter
    await removeOutputs(context, generationId, written);
  the removal of a tombstone fails, which is then looked at again anyway
    return;
  needs ten lost races in a row
    break;
  an upload used or completed between the list and its mark, or a stop between two of them: rare, and no scenario has it (at most 3)
    return; | break;
  settings that were changed after the upload was written
    await context.uploads.replace(withAttention(
core/waiting.ts
  recovery catches what fails within it
    catch { // Reported by the task
core/uploads/complete-upload.ts
  uploads are kept for longer than answers are replayed
    throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED')
core/uploads/manage-uploads.ts
  an upload removed while it is marked
    return undefined;
  needs many lost races in a row
    return busy('An upload is being changed
  an id that is none, which fronts check, or many lost races in a row
    : undefined | ? null | throw busy('The upload is being changed
core/uploads/prepare-upload.ts
  uploads are kept for longer than answers are replayed
    throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED')
  a refusal by the catalog whose key was taken over meanwhile: scenarios have it for create and complete, and tested in core
    throw takenOver()
core/uploads/upload.ts
  the bounds are out of reach, and a property of its own holds them (at most 4)
    { return full(' | function full(
core/usage/project-usage.ts
  needs an account whose rows or entries cannot be read
    this.ports.log.warn('usage not brought up to date'
core/webhooks/decide.ts
  no client of a run replays
    case 'replay'
  needs a message under way while its delivery is closed, or a delivery without its time
    : ended | return { next: ended } | ?? now | ?? from | ?? 0
  needs the three days of ten attempts, or an attempt before the first
    return undefined; | ?? 0
core/webhooks/deliveries.ts
  what is queued is not announced, nor are deliveries older than thirty days cancelled (at most 2)
    return;
  no client of a run has an address told of one generation
    : destinationOf(webhooks | : [single] | ? { url }
  what has ended says when
    ?? g.updatedAt
  needs a delivery removed after its thirty days, or ten lost races in a row
    return null; | throw busy(
core/webhooks/endpoint.ts
  no client of a run has a default secret, or rotates one
    const secret = webhooks?.defaultSecret | && { endpointId, url | ?.number | && now < until | ? until
    return [newest, signingKey(
core/webhooks/manage-endpoints.ts
  needs ten lost races in a row
    throw busy(
core/webhooks/send-delivery.ts
  needs more deliveries at once than a run has, or one removed between two reads (at most 10)
    get counts() | refuse(new Stopping()) | return; | return wakeDelivery( | return this.endpointPaces.nextAt(
    return this.accountPaces.nextAt( | (one) => one.delivery.accountId
    (one) => isSameEndpoint(one.delivery, delivery) | return false;
  needs a receiver that fails for five days, or two that are gone at once
    return undefined; | ? disabledFor(endpoint, 'failing'
  needs hundreds of deliveries at once, or ten thousand destinations of one process
    nextAt(destination | for (const oldest of
  needs a deleted webhook, ten attempts, an address of one generation, or a delivery removed between two reads
    return close(context, delivery, { event: 'cancel' } | return; | return false; | ?? 0 | catch (error) | logGivenUp(
    : 'exhausted' | ? 'exhausted' | function logGivenUp(
`;

export const UNREACHED: readonly Unreached[] = TABLE.trim()
  .split(/\n(?=core)/u)
  .flatMap((section) => {
    const [file = '', ...reasons] = section.split(/\n {2}(?! )/u);
    return reasons.map((reason) => {
      const [first = '', ...lines] = reason.split('\n');
      const [, why = first, atMost] = /^(.*) \(at most (\d+)\)$/u.exec(first) ?? [];
      const begins = lines.flatMap((line) => line.trim().split(' | '));
      return { file, why, begins, atMost: Number(atMost ?? begins.length) };
    });
  });

/**
 * Folders and files of core that only validate input, or only read for people: they are tested elsewhere, and crashes
 * do not affect them. Thumbnails are tested with a crash at each of their calls.
 */
const OUT_OF_SCOPE: readonly string[] = [
  'access/',
  'catalog/',
  'media/',
  'people/',
  'ports/',
  'assert',
  'errors',
  'fields',
  'index',
  'json',
  'log',
  'memory-budget',
  'paging',
  'settings',
  'waiting',
  'credits/verify',
  'generation/events',
  'generation/lasting-calls',
  'generation/queue-positions',
  'generation/quote',
  'generation/thumbnail-flights',
  'generation/thumbnails',
  'generation/wait-for-generation',
  'generation/watch',
  'providers/list-providers',
  'usage/check-usage',
  'usage/read-usage',
  'webhooks/deliveries',
  'webhooks/manage-endpoints',
];

/** Whether a place such as `core/paging.ts:12` is in one of them. */
function isOutOfScope(place: string): boolean {
  return OUT_OF_SCOPE.some((name) => place.startsWith(`core/${name}${name.endsWith('/') ? '' : '.ts'}`));
}

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
 * The ranges that were never taken and should have been: all that the list does not name, or that begin like more
 * ranges than it names.
 */
export function unexpected<S extends Stretch>(neverTaken: readonly S[]): S[] {
  const inScope = neverTaken.filter(({ place }) => !isOutOfScope(place));
  const named = UNREACHED.flatMap(({ file, begins, atMost }) => {
    const meant = inScope.filter(
      ({ place, text }) => place.startsWith(`${file}:`) && begins.some((beginning) => text.startsWith(beginning)),
    );
    return meant.length <= atMost ? meant : [];
  });
  return inScope.filter((stretch) => !named.includes(stretch));
}
