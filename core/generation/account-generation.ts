import type { Call, Files, Machine, Models, Webhooks, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../ids.js';
import type { Json, JsonObject } from '../json.js';
import { extensionOf } from '../media/media-types.js';
import type { Settings } from '../settings.js';
import type { Delivery } from '../webhooks/delivery.js';
import { deliveriesOf } from '../webhooks/deliveries.js';
import { type Attempt, type Generation, type Reference, startedAtOf } from './generation.js';

/**
 * One generation of an account. Throws TASK_NOT_FOUND alike for an unknown id, a malformed one and that of another account's
 * generation, and GENERATION_JOB_NOT_FOUND for one that was deleted or is past its retention.
 */
export async function getAccountGeneration(
  { generations, call }: Work & Call,
  accountId: string,
  generationId: string,
): Promise<Generation> {
  const record = isUuid(generationId) ? await generations.read(generationId.toLowerCase(), call) : null;
  if (record?.accountId !== accountId || record.kind === 'void') throw new ServiceError('TASK_NOT_FOUND');
  if (record.kind === 'generation' && record.deletedAt === undefined) return record;
  throw new ServiceError('GENERATION_JOB_NOT_FOUND');
}

/** Whether the people of its account see the request of a generation: the operator allows it, and it is still stored. */
export function isRequestShown({ showsRequests }: Settings, { contentRemovedAt, deletedAt }: Generation): boolean {
  return showsRequests && contentRemovedAt === undefined && deletedAt === undefined;
}

export interface ShownReference {
  readonly reference: Reference;
  /** Signed; absent once the file is no longer stored. */
  readonly url?: string;
}

/** The request that created a generation. */
export interface ShownRequest {
  readonly prompt: string;
  readonly negativePrompt?: string;
  /** With the defaults of the model. */
  readonly parameters: JsonObject;
  /** Names of parameters that have the default of the model as it is in the catalog now. */
  readonly defaults: readonly string[];
  readonly references: readonly ShownReference[];
}

/** In the order in which they come; those at the end may be in another order. */
export const TIMELINE_EVENTS = [
  'created',
  'started',
  'attempt',
  'retry',
  'cancel_requested',
  'completed',
  'settled',
  'outputs_removed',
  'content_removed',
] as const;
export type TimelineEvent = (typeof TIMELINE_EVENTS)[number];

/** Something that the record of a generation has a time of. */
export interface TimelineEntry {
  readonly event: TimelineEvent;
  /** In milliseconds; for `retry` it may be in the future. */
  readonly at: number;
  /** The last attempt, which is the only one that is stored. */
  readonly attempt?: Pick<Attempt, 'number' | 'phase'>;
}

/** A movement of credits of one generation. */
export interface Movement {
  readonly kind: 'reserved' | 'charged' | 'released';
  readonly credits: number;
  readonly at: number;
}

/** A generation as the people of its account see it by itself. */
export interface GenerationDetail {
  /** Null where it is not shown, or no longer stored. */
  readonly request: ShownRequest | null;
  readonly timeline: readonly TimelineEntry[];
  readonly movements: readonly Movement[];
  /** Webhook deliveries of the last 30 days, to the App's endpoints and to the generation's own URL. */
  readonly deliveries: readonly Delivery[];
}

export async function detailOf(
  context: Work & Files & Models & Webhooks & Machine & Call,
  generation: Generation,
): Promise<GenerationDetail> {
  const isShown = isRequestShown(context.settings, generation);
  const [request, deliveries] = await Promise.all([
    isShown ? requestOf(context, generation) : null,
    deliveriesOf(context, generation),
  ]);
  return { request, timeline: timelineOf(generation), movements: movementsOf(generation), deliveries };
}

async function requestOf(context: Files & Models & Machine, g: Generation): Promise<ShownRequest> {
  const { prompt, negativePrompt, parameters } = g;
  const references = await Promise.all(g.references.map((reference) => shownReference(context, g, reference)));
  return {
    prompt,
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
    parameters,
    defaults: defaultsOf(context, g),
    references,
  };
}

/** A reference outlives its upload only in the record: the file is removed with the upload. */
async function shownReference(
  { uploads, objects, clock, settings }: Files & Machine,
  { appId, accountId }: Generation,
  reference: Reference,
): Promise<ShownReference> {
  const { uploadId, objectKey: key, mediaType } = reference;
  const upload = await uploads.read(uploadId);
  const isKept = upload?.kind === 'upload' && upload.status === 'ready' && upload.objectKey === key;
  if (!isKept || upload.appId !== appId || upload.accountId !== accountId) return { reference };
  const filename = `${uploadId}.${extensionOf(mediaType)}`;
  const expiresAt = clock.now() + settings.outputUrlMs;
  return { reference, url: (await objects.signGet({ key, mediaType, filename, expiresAt })).url };
}

function defaultsOf({ catalog, digests }: Models & Machine, { modelKey, parameters }: Generation): readonly string[] {
  const schema = catalog.models().find((model) => model.modelKey === modelKey)?.inputSchema;
  const properties = (schema?.['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
  const isDefault = (name: string, value: Json): boolean => {
    const wanted = Object.hasOwn(properties, name) ? properties[name]?.['default'] : undefined;
    return wanted !== undefined && digests.ofJson(wanted) === digests.ofJson(value);
  };
  return Object.entries(parameters).flatMap(([name, value]) => (isDefault(name, value) ? [name] : []));
}

function timelineOf(g: Generation): readonly TimelineEntry[] {
  const { attempt } = g;
  const times: Readonly<Record<TimelineEvent, number | undefined>> = {
    created: g.createdAt,
    started: startedAtOf(g),
    attempt: attempt?.startedAt,
    retry: g.retryAt,
    cancel_requested: g.cancelRequestedAt,
    completed: g.completedAt,
    settled: g.settledAt,
    outputs_removed: g.outputsRemovedAt,
    content_removed: g.contentRemovedAt,
  };
  return TIMELINE_EVENTS.flatMap((event) => {
    const at = times[event];
    if (at === undefined) return [];
    return event === 'attempt' && attempt !== undefined
      ? [{ event, at, attempt: { number: attempt.number, phase: attempt.phase } }]
      : [{ event, at }];
  }).toSorted((a, b) => a.at - b.at);
}

/** Derives the ledger entries of a generation from its record, as the ledger has no index by generation. */
function movementsOf(g: Generation): readonly Movement[] {
  const { createdAt, settledAt, reservedCredits, chargedCredits } = g;
  const ended: readonly Movement[] =
    settledAt === undefined
      ? []
      : [
          { kind: 'charged', credits: chargedCredits, at: settledAt },
          { kind: 'released', credits: reservedCredits - chargedCredits, at: settledAt },
        ];
  const reserved: Movement = { kind: 'reserved', credits: reservedCredits, at: createdAt };
  return [reserved, ...ended].filter(({ credits }) => credits > 0);
}
