import type { Generation } from '../../core/generation/generation.js';
import type { Json, JsonObject } from '../../core/json.js';
import { type Finding, finding } from './finding.js';
import { asObject, canonical, textOf } from './values.js';

const RANK: ReadonlyMap<unknown, number> = new Map([
  ['queued', 0],
  ['running', 1],
  ['succeeded', 2],
  ['failed', 2],
  ['cancelled', 2],
]);

export const ENDED_RANK = 2;

/** A status's position in the order of progress; -1 for an unknown status. */
export function rankOf(status: unknown): number {
  return RANK.get(status) ?? -1;
}

/** The members of a generation's view that must not go back. */
export interface Shown {
  readonly rank: number;
  readonly charged: number;
  /** Milliseconds. */
  readonly updatedAt: number;
  /** A text of the members that never change. Absent for a generation that is gone. */
  readonly constant?: string;
  /** A text of the members that no longer change once the generation has ended, except outputs. */
  readonly end: string;
  /** A text of its outputs. Absent where retention may have removed them. */
  readonly delivered?: string;
}

/** A task as a client sees it. Addresses of outputs are signed anew for every read. */
export function shownTask(data: JsonObject): Shown {
  const { status, completed_at: completedAt, charged_credits: charged, outputs, error } = data;
  const delivered = Array.isArray(outputs) ? outputs.map((output) => ({ ...asObject(output), url: undefined })) : [];
  const { estimated_credits: estimated, reserved_credits: reserved, created_at: createdAt } = data;
  return {
    rank: rankOf(status),
    charged: Number(charged),
    updatedAt: Date.parse(textOf(data['updated_at'])),
    constant: canonical([estimated, reserved, createdAt, data['model_key'], data['client_trace_id']]),
    end: canonical([status, completedAt, charged, error]),
    delivered: canonical(delivered),
  };
}

/** A record as clients should see it. */
export function shownRecord(generation: Generation): Shown {
  const { status, createdAt, updatedAt, completedAt, estimatedCredits, reservedCredits, chargedCredits } = generation;
  const { modelKey, clientTraceId, error, outputs } = generation;
  const completed = completedAt === undefined ? undefined : timestamp(completedAt);
  const delivered = outputs.map(({ mediaId, kind, widthPx, heightPx, durationMs }) => ({
    media_id: mediaId,
    media_type: kind,
    width: widthPx,
    height: heightPx,
    duration_ms: durationMs,
  }));
  return {
    rank: rankOf(status),
    charged: chargedCredits,
    updatedAt,
    constant: canonical([estimatedCredits, reservedCredits, timestamp(createdAt), modelKey, clientTraceId]),
    end: canonical([status, completed, chargedCredits, error]),
    delivered: canonical(delivered),
  };
}

function hasOtherOutputs({ delivered }: Shown, other: Shown): boolean {
  return delivered !== undefined && other.delivered !== undefined && delivered !== other.delivered;
}

function timestamp(at: number): string {
  return new Date(at).toISOString();
}

/**
 * Invariants 3 and 15: a client sees what is on record: the members that never change, and, once it has ended, the end.
 */
export function* checkShown(told: string, shown: Shown, record: Shown): Iterable<Finding> {
  if (shown.constant !== record.constant)
    yield finding`3: ${told} showed ${shown.constant}, and ${record.constant} is on record`;
  if (shown.rank !== ENDED_RANK) return;
  if (shown.end !== record.end) yield finding`15: ${told} showed the end ${shown.end}, and ${record.end} is on record`;
  if (hasOtherOutputs(shown, record))
    yield finding`15: ${told} showed outputs ${shown.delivered}, and ${record.delivered} are on record`;
}

/**
 * The invariant (3, 7 or 8) that `after` breaks if a client received it for a request sent when `before` was known.
 */
export function brokenBy(before: Shown, after: Shown): 3 | 7 | 8 | undefined {
  if (before.constant !== undefined && after.constant !== before.constant) return 3;
  const isOver = before.rank === ENDED_RANK && after.rank === ENDED_RANK;
  if (isOver && (after.end !== before.end || hasOtherOutputs(before, after))) return 7;
  return after.rank < before.rank || after.charged < before.charged || after.updatedAt < before.updatedAt
    ? 8
    : undefined;
}

interface Knowledge extends Shown {
  readonly since: number;
  /** Describes the request whose answer showed it. */
  readonly told: string;
}

/**
 * Invariants 3, 7 and 8: what clients know of one generation, from moments on, and views that contradict it. Moments are
 * numbers of one order: places in the order of all events in the simulation, times of clients in fault runs.
 */
export class KnownViews {
  private readonly known: Knowledge[] = [];

  /** `askedAt`: when the request was sent. Either answer of two that overlap may be the newer. */
  *check(told: string, view: Shown, askedAt: number): Iterable<Finding> {
    const before = this.known.findLast(({ since }) => since < askedAt);
    const invariant = before && brokenBy(before, view);
    if (invariant === 3) yield finding`3: ${told} showed ${view.constant}, and before it was ${before?.constant}`;
    else if (invariant !== undefined)
      yield finding`${invariant}: ${told} showed ${view.end}, updated at ${view.updatedAt}; ${before?.told} had shown ${before?.end}, updated at ${before?.updatedAt}`;
  }

  /** From this moment on no client may see less: the furthest status, charge and time of all. */
  learn(told: string, view: Shown, since: number): void {
    const last = this.known.at(-1) ?? { ...view, told };
    this.known.push({
      ...(view.rank > last.rank ? { ...view, told } : last),
      charged: Math.max(last.charged, view.charged),
      updatedAt: Math.max(last.updatedAt, view.updatedAt),
      since,
    });
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const isText = (value: Json | undefined) => typeof value === 'string' && value !== '';
const isId = (value: Json | undefined) => typeof value === 'string' && UUID.test(value);
const isTime = (value: Json | undefined) =>
  typeof value === 'string' && TIMESTAMP.test(value) && new Date(value).toISOString() === value;
const isCount = (value: Json | undefined) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isSize = (value: Json | undefined) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
const isModality = (value: Json | undefined) => value === 'image' || value === 'video';

type Rule = (value: Json | undefined, task: JsonObject) => boolean;

const isOpen = ({ status }: JsonObject) => rankOf(status) < 2;
/** Present and valid exactly when the condition holds. */
const when =
  (condition: (task: JsonObject) => boolean, rule: Rule): Rule =>
  (value, task) =>
    condition(task) ? rule(value, task) : value === undefined;

const TASK: Readonly<Record<string, Rule>> = {
  generation_id: isId,
  status: (value) => rankOf(value) >= 0,
  model_key: isText,
  modality: isModality,
  operation: (value) => value === 'image_generation' || value === 'video_generation',
  created_at: isTime,
  updated_at: (value, { created_at: createdAt }) => isTime(value) && textOf(value) >= textOf(createdAt),
  completed_at: when((task) => !isOpen(task), isTime),
  poll_after_ms: when(isOpen, isCount),
  estimated_credits: isCount,
  reserved_credits: (value, { estimated_credits: estimated }) => isCount(value) && value === estimated,
  charged_credits: (value, task) =>
    isCount(value) &&
    Number(value) <= Number(task['reserved_credits']) &&
    (value === 0 || task['status'] === 'succeeded' || task['status'] === 'cancelled'),
  outputs: (value, { status }) =>
    Array.isArray(value) &&
    value.every(isOutput) &&
    (status === 'succeeded' ? value.length > 0 : status === 'cancelled' || value.length === 0),
  error: when(({ status }) => status === 'failed', isError),
  client_trace_id: (value) => value === undefined || isText(value),
};

const OUTPUT: Readonly<Record<string, Rule>> = {
  media_id: isId,
  media_type: isModality,
  url: isText,
  width: isSize,
  height: isSize,
  duration_ms: when(({ media_type: kind }) => kind === 'video', isCount),
};

const ERROR: Readonly<Record<string, Rule>> = {
  code: isText,
  message: isText,
  retryable: (value) => typeof value === 'boolean',
};

/** The first malformed member of a task as a client sees it, with its value, if any. */
export function taskFault(task: JsonObject): string | undefined {
  return faultIn(task, TASK);
}

function isOutput(value: Json): boolean {
  return isObject(value) && faultIn(value, OUTPUT) === undefined;
}

function isError(value: Json | undefined): boolean {
  return isObject(value) && faultIn(value, ERROR) === undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function faultIn(value: JsonObject, rules: Readonly<Record<string, Rule>>): string | undefined {
  const unknown = Object.keys(value).find((name) => !(name in rules) && value[name] !== undefined);
  const wrong = unknown ?? Object.entries(rules).find(([name, rule]) => !rule(value[name], value))?.[0];
  return wrong === undefined ? undefined : `${wrong} is ${JSON.stringify(value[wrong]) ?? 'not there'}`;
}

/** Bounds on how late something may end, in milliseconds of one clock. */
export interface Calm {
  /** The time after which nothing fails. */
  readonly from: number;
  /** How late something may be after its deadline, or after all faults: leases lapse, recovery runs its passes. */
  readonly slackMs: number;
}

type AtRest = Pick<Generation, 'generationId' | 'status' | 'runDeadlineAt' | 'terms'>;

/**
 * Invariants 6 and 20: at rest a generation has ended and is settled, and both happened in time. Without `calm` only
 * that they happened is checked.
 */
export function* checkEnd(
  generation: AtRest,
  { endedAt, settledAt }: { readonly endedAt: number | undefined; readonly settledAt: number | undefined },
  calm: Calm | undefined,
): Iterable<Finding> {
  const { generationId, status } = generation;
  const deadline = deadlineOf(generation);
  if (rankOf(status) !== ENDED_RANK || endedAt === undefined) {
    yield finding`20: at rest generation ${generationId} is ${status}, and its deadline was ${deadline}`;
    return;
  }
  if (settledAt === undefined) yield finding`6: at rest generation ${generationId} is ${status} and not settled`;
  if (!calm) return;
  const lateMs = endedAt - Math.max(deadline, calm.from);
  if (lateMs > calm.slackMs)
    yield finding`20: generation ${generationId} ended at ${endedAt}, ${Math.round(lateMs)} ms after its deadline ${deadline} and the end of faults`;
  const unsettledMs = (settledAt ?? endedAt) - Math.max(endedAt, calm.from);
  if (unsettledMs > calm.slackMs)
    yield finding`6: the hold of generation ${generationId} was ended ${Math.round(unsettledMs)} ms after it was ${status}`;
}

/** The time by which it must have ended: the queue deadline if it never started, otherwise the run deadline. */
function deadlineOf({ runDeadlineAt, terms }: AtRest): number {
  return runDeadlineAt ?? terms.queueDeadlineAt;
}

/** The tolerance of a video's duration against the requested one. */
const DURATION_OFF_MS = 250;

/** The properties that a request set for its outputs. A member of another type counts as not requested. */
export interface AskedOutputs {
  readonly count: number;
  /** Width and height as in `128x128`. */
  readonly size: Json | undefined;
  readonly durationSeconds: Json | undefined;
  /** Whether outputs of another size or duration are refused; absent means true. */
  readonly isExact?: boolean;
}

/**
 * Invariants 3, 9 and 16: a generation delivers outputs of the requested kind, no more than requested, and no
 * duplicates; with the requested size and duration where the model guarantees them.
 */
export function* checkOutputs(
  { generationId, modality, outputs }: Pick<Generation, 'generationId' | 'modality' | 'outputs'>,
  { count, size, durationSeconds, isExact = true }: AskedOutputs,
): Iterable<Finding> {
  if (outputs.length > count)
    yield finding`3: generation ${generationId} has ${outputs.length} outputs, and ${count} to deliver`;
  const distinct = new Set(outputs.flatMap(({ mediaId, objectKey }) => [mediaId, objectKey]));
  if (distinct.size !== 2 * outputs.length) yield finding`16: generation ${generationId} delivers one output twice`;
  for (const { kind, widthPx, heightPx, durationMs = 0 } of outputs) {
    const isAsked =
      kind === modality &&
      widthPx > 0 &&
      heightPx > 0 &&
      (!isExact || typeof size !== 'string' || size === `${widthPx}x${heightPx}`) &&
      (!isExact ||
        typeof durationSeconds !== 'number' ||
        Math.abs(durationSeconds * 1_000 - durationMs) <= DURATION_OFF_MS);
    if (!isAsked)
      yield finding`9: generation ${generationId} delivers a ${kind} of ${widthPx}x${heightPx} and ${durationMs} ms, and should a ${modality} of ${textOf(size)} and ${textOf(durationSeconds)} s`;
  }
}
