import { Readable } from 'node:stream';
import { requireScope } from '../../../core/access/authenticate.js';
import { ServiceError } from '../../../core/errors.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import { retentionOf } from '../../../core/generation/decide.js';
import { cancelGeneration, deleteGeneration } from '../../../core/generation/end-generation.js';
import { type Generation, type GenerationStatus, isTerminal } from '../../../core/generation/generation.js';
import { listByModality } from '../../../core/generation/list-by-modality.js';
import { getGeneration, outputFilename } from '../../../core/generation/read-generations.js';
import { waitForEndOf } from '../../../core/generation/wait-for-generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { SentFile } from '../../../core/uploads/take-file.js';
import { isForm } from '../host/request.js';
import { sendStoredFile } from '../host/stored-file.js';
import { sendJson } from './answer.js';
import { noSuchRange } from './content.js';
import { createOrFind } from './create.js';
import { ApiRefusal, failureOf } from './errors.js';
import { type Fields, type MappedRequest, parameterNames, sizeOf } from './fields.js';
import { type FileRules, readForm } from './form.js';
import { type ApiContext, type ApiRequest, answerLater, type Endpoint, readFields } from './operation.js';
import { longestAddress, orRemoveUploads, pictureIn, takePicture } from './references.js';

/** Videos: created in the background, polled, downloaded and deleted. */
export const VIDEO_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/videos',
    scope: 'generations:write',
    rate: 'writes',
    async serve(ctx) {
      if (!isForm(ctx.req)) return create(ctx, await readFields(ctx));
      const form = await readForm(ctx, referenceFiles(ctx));
      try {
        const [file] = form.files;
        await create(ctx, form.fields, file === undefined ? undefined : await pictureIn(file, REFERENCE));
      } finally {
        await form.close();
      }
    },
  },
  { method: 'GET', path: '/videos', scope: 'generations:read', rate: 'reads', serve: list },
  {
    method: 'GET',
    path: '/videos/:video_id',
    scope: 'generations:read',
    rate: 'reads',
    serve: async (ctx) => sendVideo(ctx, await ownVideo(ctx)),
  },
  { method: 'GET', path: '/videos/:video_id/content', scope: 'generations:read', rate: 'reads', serve: sendContent },
  { method: 'DELETE', path: '/videos/:video_id', scope: 'generations:write', rate: 'writes', serve: remove },
  // Else edits, extensions and characters, which there are not, would be videos that lack the method.
  {
    method: 'POST',
    path: '/videos/:video_id',
    rate: 'reads',
    serve: () => Promise.reject(new ServiceError('ROUTE_NOT_FOUND')),
  },
];

/** The reference of a video, as JSON has it, and as forms have it. */
const REFERENCE = 'input_reference';
const REFERENCE_FIELDS = [REFERENCE, `${REFERENCE}[image_url]`, `${REFERENCE}[file_id]`];

/** In a form a `data:` address is read as a file: most are longer than other texts may be. */
function referenceFiles({ state }: ApiRequest): FileRules {
  const maxBytes = longestAddress(state.parts.context.settings.maxUploadBytes);
  return { [REFERENCE]: { names: REFERENCE_FIELDS.slice(0, 2), most: 1, maxBytes } };
}

/** Answers at once. A repeated request whose answer was lost is answered with the same video. */
async function create(ctx: ApiRequest, fields: Fields, file?: SentFile): Promise<void> {
  const { context } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  const inFields = await referenceOf(fields);
  const sent = file ?? inFields;
  if (sent !== undefined) requireScope(caller, 'uploads:write');
  const others = Object.fromEntries(Object.entries(fields).filter(([name]) => !REFERENCE_FIELDS.includes(name)));
  const { generation, delivery } = await orRemoveUploads(context, caller, (uploadIds) =>
    createOrFind(ctx, {
      path: '/videos',
      modality: 'video',
      fields: others,
      ...(sent === undefined
        ? {}
        : { files: [sent.sha256], prepare: (mapped) => withReference(ctx, mapped, sent, uploadIds) }),
    }),
  );
  await sendVideo(ctx, generation);
  delivery.answered = generation;
}

/** The picture in the fields. Throws `invalid_value` for one that is elsewhere: no address is fetched. */
async function referenceOf(fields: Fields): Promise<SentFile | undefined> {
  const [whole, address, fileId] = REFERENCE_FIELDS.map((name) => fields[name]);
  const parts = typeof whole === 'object' && !Array.isArray(whole) ? whole : { image_url: whole };
  const { image_url: inner, file_id: innerId, ...others } = parts as Readonly<Record<string, Json | undefined>>;
  const [url, id] = [inner ?? address ?? undefined, innerId ?? fileId ?? undefined];
  if (id !== undefined)
    throw new ApiRefusal('FIELD_INVALID', `${REFERENCE}.file_id is not supported; send the file itself.`, REFERENCE);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const message = `Unknown parameter: ${JSON.stringify(`${REFERENCE}.${unknown}`.slice(0, 100))}.`;
    throw new ApiRefusal('FIELD_INVALID', message, REFERENCE, 'unknown_parameter');
  }
  if (typeof url === 'string') {
    const bytes = Buffer.from(url);
    const read = async ({ from, to }: { from: number; to: number } = { from: 0, to: bytes.byteLength }) =>
      Readable.from([bytes.subarray(from, to)]);
    return pictureIn({ byteSize: bytes.byteLength, read }, REFERENCE);
  }
  if (whole === undefined && url === undefined) return undefined;
  throw new ApiRefusal('FIELD_INVALID', `${REFERENCE} must have an image_url.`, REFERENCE);
}

/** Uploads the picture as the first frame, or as a reference picture of a model that takes no first frame. */
async function withReference(
  ctx: ApiRequest,
  { model, body }: MappedRequest,
  sent: SentFile,
  uploadIds: string[],
): Promise<JsonObject> {
  const { context } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  const { maxReferenceUploads, referenceRoles } = model.limits;
  const roles = ['start_frame', 'reference_image'] as const;
  const role =
    roles.find((one) => model.requiredRoles.includes(one)) ?? roles.find((one) => referenceRoles.includes(one));
  if (role === undefined || maxReferenceUploads === 0)
    throw new ApiRefusal('FIELD_INVALID', `${model.modelKey} takes no ${REFERENCE}.`, REFERENCE);
  // What would be refused anyway stores no file.
  await estimateGeneration(context, caller, body, [role]);
  uploadIds.push(await takePicture(context, caller, model, sent, { role, param: REFERENCE }));
  return { ...body, reference_upload_ids: uploadIds };
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const ORDERS = { desc: 'newest first', asc: 'oldest first' } as const;

async function list(ctx: ApiRequest): Promise<void> {
  const { context } = ctx.state.parts;
  const query = new URLSearchParams(ctx.state.target.query);
  const [limit, order, after] = ['limit', 'order', 'after'].map((name) => query.get(name) ?? undefined);
  const count = Number(limit ?? DEFAULT_LIMIT);
  if (!/^\d{1,3}$/.test(limit ?? '1') || count < 1 || count > MAX_LIMIT)
    throw new ApiRefusal('FIELD_INVALID', `limit must be a whole number from 1 to ${MAX_LIMIT}.`, 'limit');
  if (order !== undefined && !Object.hasOwn(ORDERS, order))
    throw new ApiRefusal('FIELD_INVALID', 'order must be asc or desc.', 'order');
  const { items, hasMore } = await listByModality(context, ctx.state.admission.caller, {
    modality: 'video',
    limit: count,
    order: ORDERS[(order ?? 'desc') as keyof typeof ORDERS],
    ...(after === undefined || after === '' ? {} : { after: generationIdOf(after) }),
  });
  const data = items.map((generation) => renderVideo(context, generation));
  ctx.res.setHeader('Cache-Control', 'no-store');
  await sendJson(ctx, 200, {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  });
}

async function sendContent(ctx: ApiRequest): Promise<void> {
  const variant = new URLSearchParams(ctx.state.target.query).get('variant') ?? 'video';
  if (variant !== 'video')
    throw new ApiRefusal(
      'FIELD_INVALID',
      'variant must be video; there are no thumbnails and spritesheets.',
      'variant',
    );
  const generation = await ownVideo(ctx);
  const { status, outputs, outputsRemovedAt } = generation;
  if (!isTerminal(status)) {
    const message = `The video is ${STATUSES[status]}; its file can be read once it is completed.`;
    throw new ApiRefusal('FIELD_INVALID', message, null, 'video_not_ready');
  }
  const [output] = outputs;
  if (status !== 'succeeded')
    throw new ServiceError('NOT_FOUND', `There is no file: ${failureOf(generation).error.message}`);
  if (output === undefined || outputsRemovedAt !== undefined)
    throw new ServiceError('NOT_FOUND', 'The file is no longer kept: its retention is over.');
  await sendStoredFile(ctx, ctx.state.parts.context.objects, output, {
    filename: outputFilename(generation, 0),
    headers: { 'Cache-Control': 'private, no-cache' },
    unsatisfiable: noSuchRange(output.byteSize),
  });
}

/** How long the deletion of a video waits until it has stopped, in milliseconds. */
const STOP_MS = 10_000;

/** Deletes a video. One that has not ended is cancelled first, as its client could. */
async function remove(ctx: ApiRequest): Promise<void> {
  const { context, access } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  const { generationId, status } = await ownVideo(ctx);
  ctx.state.ids = { generationId };
  const done = async (): Promise<void> => {
    await deleteGeneration(context, caller, generationId);
    await sendJson(ctx, 200, { id: videoIdOf(generationId), object: 'video.deleted', deleted: true });
  };
  if (isTerminal(status)) return done();
  const leave = context.lastingCalls.follow(caller);
  const stopped = await cancelGeneration(context, caller, generationId).catch((error: unknown) => {
    leave();
    throw error;
  });
  answerLater(ctx, leave, async (until) => {
    const hasStopped =
      isTerminal(stopped.status) ||
      (await waitForEndOf(context, generationId, { waitMs: STOP_MS, until })) !== undefined;
    // The credential may have been revoked in the meantime.
    await access.authenticate(ctx);
    if (!hasStopped)
      throw new ServiceError('CONFLICT', 'The video was asked to stop, and has not stopped yet; delete it again.');
    await done();
  });
}

/** The caller's video. Throws TASK_NOT_FOUND for a picture too. */
async function ownVideo(ctx: ApiRequest): Promise<Generation> {
  const { context } = ctx.state.parts;
  const id = generationIdOf(ctx.params['video_id'] ?? '');
  const generation = await getGeneration(context, ctx.state.admission.caller, id);
  if (generation.modality !== 'video') throw new ServiceError('TASK_NOT_FOUND');
  return generation;
}

function videoIdOf(generationId: string): string {
  return `video_${generationId.replaceAll('-', '')}`;
}

/**
 * The generation id in a video id: with or without its dashes, or wrapped by LiteLLM, which adds the provider and the
 * model as base64. Any other text stays as it is, and is the id of nothing.
 */
function generationIdOf(id: string): string {
  const plain = id.startsWith('video_') ? id.slice('video_'.length) : id;
  const [, ...parts] = /^(\w{8})(\w{4})(\w{4})(\w{4})(\w{12})$/.exec(plain) ?? [];
  if (parts.length > 0) return parts.join('-');
  const isWrapped = plain !== id && plain.length <= MAX_WRAPPED_ID && /^[\w+/=-]+$/.test(plain);
  const [, inner] = (isWrapped && /;video_id:([\w-]+)$/.exec(Buffer.from(plain, 'base64').toString())) || [];
  return inner === undefined ? plain : generationIdOf(inner);
}

const MAX_WRAPPED_ID = 1_000;

async function sendVideo(ctx: ApiRequest, generation: Generation): Promise<void> {
  const { context } = ctx.state.parts;
  ctx.res.setHeader('Cache-Control', 'no-store');
  // OpenAI's libraries wait so long between two polls.
  if (!isTerminal(generation.status)) ctx.res.setHeader('openai-poll-after-ms', context.settings.pollAfterMs);
  await sendJson(ctx, 200, renderVideo(context, generation));
}

const STATUSES: Readonly<Record<GenerationStatus, string>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
};

function renderVideo(context: Pick<ApiContext, 'catalog' | 'settings'>, generation: Generation) {
  const { generationId, modelKey, status, prompt, createdAt, completedAt, chargedCredits } = generation;
  const { outputsExpireAt } = retentionOf(generation, context.settings);
  const hasFailed = isTerminal(status) && status !== 'succeeded';
  return {
    id: videoIdOf(generationId),
    object: 'video',
    created_at: seconds(createdAt),
    status: STATUSES[status],
    model: modelKey,
    progress: progressOf(generation),
    // Removed with the content of what was not charged.
    prompt: prompt === '' ? null : prompt,
    ...measuresOf(context, generation),
    completed_at: completedAt === undefined ? null : seconds(completedAt),
    expires_at: status === 'succeeded' ? seconds(outputsExpireAt) : null,
    error: hasFailed ? failureOf(generation).error : null,
    remixed_from_video_id: null,
    darkroom: { generation_id: generationId, charged_credits: chargedCredits },
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** In percent. Only a completed video has 100. */
function progressOf({ status, progress = 0 }: Generation): number {
  if (status === 'succeeded') return 100;
  return status === 'queued' ? 0 : Math.min(99, Math.floor(progress * 100));
}

/** Duration and size as they were requested; where the model has no such parameter, those of the file. */
function measuresOf(
  { catalog }: Pick<ApiContext, 'catalog'>,
  generation: Generation,
): { readonly seconds: string | null; readonly size: string | null } {
  const { modelKey, parameters, outputs } = generation;
  const model = catalog.find(modelKey);
  const name = model === undefined ? 'duration_seconds' : parameterNames(model).seconds;
  const duration = name === undefined ? undefined : parameters[name];
  const measuredMs = outputs[0]?.durationMs;
  return {
    seconds: text(duration) ?? (measuredMs === undefined ? null : String(Math.round(measuredMs / 1_000))),
    size: sizeOf({ catalog }, generation) ?? null,
  };
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
