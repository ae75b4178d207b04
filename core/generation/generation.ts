import type { CountedUnits, MeasuredRate } from '../catalog/price.js';
import type { JsonObject } from '../json.js';
import type { AiMark } from '../media/ai-mark.js';

/** Reasons for a failed generation, reported as the task's own `error.code`. A failed generation is not charged. */
export const TASK_ERRORS = {
  CONTENT_REJECTED_INPUT: { retryable: false, message: 'The prompt or a reference was refused by the content policy.' },
  CONTENT_REJECTED_OUTPUT: { retryable: false, message: 'The result was withheld by the content policy.' },
  INPUT_INVALID: { retryable: false, message: 'The provider could not use this input.' },
  PROVIDER_REJECTED: { retryable: false, message: 'The provider refused the task.' },
  MODEL_UNAVAILABLE: { retryable: false, message: 'The model is no longer offered.' },
  PROVIDER_UNAVAILABLE: { retryable: true, message: 'The provider did not say what became of the task.' },
  PROVIDER_TIMEOUT: { retryable: true, message: 'The provider did not answer in time.' },
  TASK_TIMEOUT: { retryable: true, message: 'The generation did not finish before its deadline.' },
  OUTPUT_INVALID: { retryable: true, message: 'The provider delivered something that cannot be used.' },
  OUTPUT_STORE_FAILED: { retryable: true, message: 'The result could not be stored.' },
  INTERNAL_ERROR: { retryable: true, message: 'Something went wrong on our side.' },
} as const satisfies Record<string, { retryable: boolean; message: string }>;

export type TaskErrorCode = keyof typeof TASK_ERRORS;

/** The codes that only the service gives. */
const OWN_ERRORS: readonly string[] = [
  'TASK_TIMEOUT',
  'OUTPUT_INVALID',
  'OUTPUT_STORE_FAILED',
] satisfies TaskErrorCode[];

/** The codes that a provider's adapter can report. */
export const PROVIDER_ERRORS = (Object.keys(TASK_ERRORS) as TaskErrorCode[]).filter(
  (code) => !OWN_ERRORS.includes(code),
);

export interface TaskError {
  readonly code: TaskErrorCode;
  readonly message: string;
  readonly retryable: boolean;
}

export function taskError(code: TaskErrorCode, message: string = TASK_ERRORS[code].message): TaskError {
  return { code, message, retryable: TASK_ERRORS[code].retryable };
}

/** The states in which a generation ends; nothing leads out of them. */
export const END_STATUSES = ['succeeded', 'failed', 'cancelled'] as const;
export const STATUSES = ['queued', 'running', ...END_STATUSES] as const;
export type GenerationStatus = (typeof STATUSES)[number];
export const MODALITIES = ['image', 'video'] as const;
export type Modality = (typeof MODALITIES)[number];
export const OPERATIONS = ['image_generation', 'video_generation'] as const;
export type Operation = (typeof OPERATIONS)[number];
/** Of a prompt and of a negative prompt, in code points. */
export const MAX_PROMPT_LENGTH = 8_000;

/** The longest JSON text of one character, in bytes: two escapes of six, such as `\ud83d\ude00`. */
const ESCAPED_BYTES = 12;
const BYTES_STEP = 64 * 1024;

/**
 * The largest request, in bytes: two prompts of the greatest length, each character escaped, and at least 64 KiB for
 * everything else, most of it the parameters of the model. The catalog accepts no model whose texts could exceed it;
 * a text or a list for which the model states no length is bounded by it.
 */
export const MAX_REQUEST_BYTES = Math.ceil((2 * MAX_PROMPT_LENGTH * ESCAPED_BYTES) / BYTES_STEP + 1) * BYTES_STEP;

/** The most bytes that the texts of a model's parameters may have in a request, each character escaped. */
export const MAX_PARAMETER_BYTES = 60 * 1024;

/** The bytes of a text of this many code points in JSON, at most. */
export function escapedBytes(length: number): number {
  return length * ESCAPED_BYTES;
}

export const REFERENCE_ROLES = ['reference_image', 'start_frame', 'end_frame'] as const;
export type ReferenceRole = (typeof REFERENCE_ROLES)[number];

/** A request has at most one file of each role of a frame. */
export function isFrame(role: ReferenceRole): boolean {
  return role !== 'reference_image';
}

/** A reference file as it was when the generation was accepted. The object at `objectKey` cannot change any more. */
export interface Reference {
  readonly uploadId: string;
  readonly role: ReferenceRole;
  readonly objectKey: string;
  readonly mediaType: string;
  /** The size and the digest of the whole object. */
  readonly byteSize: number;
  readonly sha256: string;
  /** The length of the picture, if other bytes follow it in the object. Providers receive the picture alone. */
  readonly contentBytes?: number;
  /** Present where the picture has transparent areas, which the provider has to generate anew. */
  readonly isMasked?: true;
}

/** The longer side of a thumbnail, in pixels; one of a smaller output is as large as the output. */
export const THUMBNAIL_SIDES_PX = [320, 640, 1280] as const;
export type ThumbnailSide = (typeof THUMBNAIL_SIDES_PX)[number];

/** One delivered result, in our own object store and checked. */
export interface Output {
  readonly mediaId: string;
  readonly kind: Modality;
  readonly objectKey: string;
  /** The MIME type we serve it with, decided by us. */
  readonly contentType: string;
  readonly byteSize: number;
  readonly sha256: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly durationMs?: number;
  /**
   * The mark that the file has, or would have if a provider's manifest did not take its place; absent where none was to be
   * written.
   */
  readonly mark?: AiMark;
  /**
   * The sizes in bytes of its thumbnails, by their longer side. Recorded before the thumbnail is stored, so that no object is
   * unknown to the record; one that is missing is made again.
   */
  readonly thumbnailBytes?: Readonly<Partial<Record<ThumbnailSide, number>>>;
}

/** The time one worker may act on a generation. Every write of its holder carries `fence`. */
export interface Lease {
  readonly worker: string;
  readonly fence: number;
  /** When its holder last renewed it, by the holder's clock. */
  readonly renewedAt: number;
  readonly expiresAt: number;
  /** Boot id of the process that took the lease; absent in records of earlier releases. */
  readonly bootId?: string;
}

/** An output that a provider included in its answer to the submission: stored under a separate key, not yet checked. */
export interface DeliveredObject {
  readonly objectKey: string;
  readonly byteSize: number;
  readonly sha256: string;
  /** The mark for `Output.mark`. */
  readonly mark?: AiMark;
}

/**
 * The operator's cost of a task, as far as the provider reports it. Values are whole numbers of at least 0, and absent
 * if they are not reported.
 */
export interface ProviderCost {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** The time of its machines, in milliseconds. */
  readonly computeMs?: number;
  /** In millionths of one unit of the currency, which is three capital letters of ISO 4217. */
  readonly money?: { readonly micros: number; readonly currency: string };
  /** Millionths of the unit that the provider bills this model in, such as a second; at most a thousand million units. */
  readonly billedUnitMicros?: number;
}

/** One try at a provider. `submitting` means that acceptance is unknown. */
export interface Attempt {
  readonly number: number;
  readonly phase: 'submitting' | 'submitted';
  /** The connected provider that it was made at; the first of the model's route in what earlier releases wrote. */
  readonly provider?: string;
  /** The idempotency token that is passed to the provider, and later used to look up the task. */
  readonly token: string;
  /** For a submitted attempt, either the provider's name for the task or the outputs it delivered at once. */
  readonly reference?: string;
  readonly delivered?: readonly DeliveredObject[];
  /** The earliest time at which its submission started; it lasts no longer than the longest provider call from then. */
  readonly startedAt: number;
  /** When our own call is known to have ended without an answer. */
  readonly endedAt?: number;
  /** Boot id of the process that submits it; absent in records of earlier releases. */
  readonly bootId?: string;
}

/** The operator's cost of one attempt, as its provider reported it. */
export interface AttemptCost extends ProviderCost {
  readonly attempt: number;
  readonly provider: string;
}

/** The model's terms when the generation was accepted; a later catalog does not change them. */
export interface FrozenTerms {
  readonly priceVersion: string;
  /** Credits for 0, 1, … n delivered outputs; never decreasing. The last one is the price that was reserved. */
  readonly creditsByOutputs: readonly number[];
  /**
   * For a price by megapixel or second: how outputs of another size or duration are priced. Absent for other units, and in
   * what earlier releases accepted; then the table alone counts.
   */
  readonly measuredRate?: MeasuredRate;
  /** The units that the price counts, to compare them with those that the provider bills; absent in generations that earlier releases accepted. */
  readonly units?: CountedUnits;
  /** Credits charged when a submitted generation is cancelled, at least; never above the reserved ones. */
  readonly cancelFloorCredits: number;
  readonly queueDeadlineAt: number;
  /** How long it may run once started, in milliseconds. */
  readonly runTimeoutMs: number;
  /** The most attempts, and the most submissions that a provider may have taken. */
  readonly maxAttempts: number;
}

/** A generation as it is stored. All times are milliseconds since the epoch, all amounts whole credits. */
export interface Generation {
  readonly kind: 'generation';
  readonly generationId: string;
  readonly accountId: string;
  readonly appId: string;
  /**
   * The key that created it, or `service:` and the name of an internal service; absent in what releases before this one
   * accepted.
   */
  readonly credentialId?: string;
  /** Grows by one with every change; a change applies only onto the version it was decided on. */
  readonly version: number;
  readonly status: GenerationStatus;
  readonly modelKey: string;
  readonly modality: Modality;
  readonly operation: Operation;
  /** Empty where the request had none, and once its content is removed. */
  readonly prompt: string;
  readonly negativePrompt?: string;
  readonly parameters: JsonObject;
  readonly references: readonly Reference[];
  readonly clientTraceId?: string;
  /** URL that is notified of the end, in addition to the App's endpoints. */
  readonly webhookUrl?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly completedAt?: number;
  readonly estimatedCredits: number;
  readonly reservedCredits: number;
  readonly chargedCredits: number;
  readonly terms: FrozenTerms;
  /** The last fence given; only ever grows. */
  readonly fence: number;
  readonly lease?: Lease;
  readonly attempt?: Attempt;
  readonly attemptsMade: number;
  /**
   * Submissions that a provider may have taken, over all attempts, runs and providers; never more than
   * `terms.maxAttempts`. Absent in what earlier releases wrote: as many as attempts.
   */
  readonly submissionsMade?: number;
  /** When the next attempt may start, while the generation waits for it. */
  readonly retryAt?: number;
  /** Providers of the route that cannot make it: they lack the model, or do not serve the operator. */
  readonly notHere?: readonly string[];
  /** One entry for each attempt whose provider reported its cost. */
  readonly costs?: readonly AttemptCost[];
  readonly runDeadlineAt?: number;
  /**
   * Until when a worker may still poll and download, once the run's deadline has passed and a result may be ready at the
   * provider. Set once.
   */
  readonly lastPollBy?: number;
  /** 0 to 1, as the provider last reported it. */
  readonly progress?: number;
  readonly cancelRequestedAt?: number;
  readonly outputs: readonly Output[];
  readonly error?: TaskError;
  /** When the account's hold for this generation was ended. */
  readonly settledAt?: number;
  readonly outputsRemovedAt?: number;
  /**
   * Bytes that its content counts, from an end without charge until the content is removed. The store sums this field
   * for each account.
   */
  readonly unchargedBytes?: number;
  /** When prompts, parameters and references were removed because nothing was charged; they are empty since then. */
  readonly contentRemovedAt?: number;
  /** When its client deleted it. From then on it is not shown to anybody, and recovery completes the deletion. */
  readonly deletedAt?: number;
  /** A provider's report after the end. It changes neither status nor credits. */
  readonly lateReport?: { readonly state: string; readonly at: number };
  /** When recovery should examine it, unless a worker has done so before: the one field that recovery searches by. */
  readonly dueAt: number;
}

/**
 * The record at a generation's id if there is no generation. `void`: none can ever be created there, because a retry or
 * a recovery pass took the id first. `expired`: a generation existed and its retention is over.
 */
export interface Tombstone {
  readonly kind: 'void' | 'expired';
  readonly generationId: string;
  readonly accountId: string;
  readonly appId: string;
  readonly version: number;
  readonly createdAt: number;
  /**
   * For a deleted generation: the last fence under which workers may have written outputs, how many, and whether it had
   * thumbnails. What was written after the deletion is removed when the tombstone first becomes due.
   */
  readonly written?: { readonly fence: number; readonly outputs: number; readonly hasThumbnails?: true };
  readonly dueAt: number;
}

export type GenerationRecord = Generation | Tombstone;

/** The bytes of all thumbnails of a generation; undefined if it has none. */
export function thumbnailBytesOf({ outputs }: Pick<Generation, 'outputs'>): number | undefined {
  const sizes = outputs.flatMap(({ thumbnailBytes }) => Object.values(thumbnailBytes ?? {}));
  return sizes.length === 0 ? undefined : sizes.reduce((sum, one) => sum + one, 0);
}

export function isTerminal(status: GenerationStatus): boolean {
  return (END_STATUSES as readonly GenerationStatus[]).includes(status);
}

/**
 * What a generation that has not ended does, for all processes alike. `queued`: it was never started, and waits for a
 * worker, for a slot of its model, or for a provider that is paused or at its limit. `requeued`: it was started, and waits
 * for its next attempt, or for a worker to continue it. `running`: a worker has its lease, perhaps one that died a moment
 * ago.
 */
export const OPEN_STATES = ['queued', 'requeued', 'running'] as const;
export type OpenState = (typeof OPEN_STATES)[number];

/** Undefined once it has ended. */
export function openStateOf({ status, lease }: Pick<Generation, 'status' | 'lease'>): OpenState | undefined {
  if (isTerminal(status)) return undefined;
  if (status === 'queued') return 'queued';
  return lease === undefined ? 'requeued' : 'running';
}

/** When a worker first started it; undefined while it is queued, and if it was never started. */
export function startedAtOf({ runDeadlineAt, terms }: Generation): number | undefined {
  return runDeadlineAt === undefined ? undefined : runDeadlineAt - terms.runTimeoutMs;
}

/** How many submissions a provider may have taken. */
export function submissionsMadeOf({ submissionsMade, attemptsMade }: Generation): number {
  return submissionsMade ?? attemptsMade;
}

/** Whether a provider may have its result: it accepted the task, or has delivered it with its response. */
export function mayHaveResult({ attempt }: Pick<Generation, 'attempt'>): boolean {
  return attempt?.reference !== undefined || attempt?.delivered !== undefined;
}

/** When a run ends whatever its provider reports: at its deadline, or after the period for a last poll. */
export function runEndsAt({ runDeadlineAt = Infinity, lastPollBy = runDeadlineAt }: Generation): number {
  return lastPollBy;
}

/**
 * The longest time that a generation takes besides its queue and its run, in milliseconds: to be cancelled, stored and
 * settled.
 */
export const BEYOND_RUN_MS = 3_600_000;

/** When a generation ends at the latest, unless the stores or all workers are down for longer. */
export function endsBy({ terms, runDeadlineAt = terms.queueDeadlineAt + terms.runTimeoutMs }: Generation): number {
  return runDeadlineAt + BEYOND_RUN_MS;
}

/** How many outputs its price is for; further ones are not delivered. */
export function outputCountOf({ terms }: Pick<Generation, 'terms'>): number {
  return terms.creditsByOutputs.length - 1;
}

export interface OutputView {
  readonly output: Output;
  /** Signed on each read; valid for the operator's `outputUrlMs`. */
  readonly url: string;
  /** The name that the file is served under. */
  readonly filename: string;
}

/** A generation as a front shows it: with an address for each output. */
export interface GenerationView {
  readonly generation: Generation;
  readonly outputs: readonly OutputView[];
  /** Present exactly while it has not ended, in milliseconds. */
  readonly pollAfterMs?: number;
}
