import type { Call, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../../../core/context.js';
import {
  detailOf,
  type GenerationDetail,
  getAccountGeneration,
  isRequestShown,
  type ShownRequest,
} from '../../../core/generation/account-generation.js';
import {
  type AccountFilter,
  listAccountGenerations,
  MAX_LISTED_CREDENTIAL,
  nameGenerations,
  type NamedGeneration,
  readAccountFilter,
  readSearchQuery,
  searchAccountGenerations,
} from '../../../core/generation/account-generations.js';
import { retentionOf } from '../../../core/generation/decide.js';
import { type Generation, isTerminal } from '../../../core/generation/generation.js';
import { MAX_LISTED_MODEL_KEY } from '../../../core/generation/read-generations.js';
import { thumbnailsOf } from '../../../core/generation/thumbnails.js';
import { requireNotSuspended } from '../../../core/people/sessions.js';
import { pageByToken } from '../../page-token.js';
import { readQuery, readText, readTime, readWhole } from '../host/request.js';
import { renderTask } from '../render/generation.js';
import { renderDelivery } from '../render/webhook.js';
import { type ConsoleOperation, get, shownTime } from './console-operation.js';

type GenerationContext = Money & Work & Files & Identity & Models & Webhooks & Machine & Call;

const DEFAULT_LIMIT = 24;
const MAX_LIMIT = 50;
const MAX_CURSOR = 2_000;
const MAX_TEXT = 100;
const PARAMETERS = [
  'app_id',
  'status',
  'model_key',
  'credential_id',
  'modality',
  'created_after',
  'created_before',
  'q',
  'limit',
  'cursor',
] as const;

/** The generations of the account, over all its Apps: those of keys, of connected programs and of the page itself. */
export const GENERATION_OPERATIONS: readonly ConsoleOperation<GenerationContext>[] = [
  /** Newest first, those that a query finds if it has one. A page may have fewer than its limit, although there are more. */
  get('/generations', async ({ context }, { ctx, signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const { accountId } = person;
    const query = readQuery(ctx.state.target.query, PARAMETERS);
    const filter = filterOf(query);
    const q = query['q'] === undefined ? undefined : readSearchQuery(query['q']);
    const mayReadPrompts = context.settings.showsRequests;
    const { items, nextCursor } = await pageByToken(
      pageOf(query),
      `generations of account ${accountId} ${context.digests.ofJson({ ...filter, q: q ?? null })}`,
      (page) =>
        q === undefined
          ? listAccountGenerations(context, accountId, filter, page)
          : searchAccountGenerations(context, accountId, { ...filter, query: q, mayReadPrompts }, page),
      'cursor',
    );
    const named = await nameGenerations(context, accountId, items);
    return { generations: named.map((one) => renderNamed(context, one)), next_cursor: nextCursor };
  }),
  get('/generations/:generation_id', async ({ context }, { ctx, signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const { accountId } = person;
    const generation = await getAccountGeneration(context, accountId, ctx.params['generation_id'] ?? '');
    const [named] = await nameGenerations(context, accountId, [generation]);
    const detail = await detailOf(context, generation);
    return {
      ...(named === undefined ? {} : renderNamed(context, named)),
      app_id: generation.appId,
      ...renderDetail(detail),
      ...renderFiles(context, generation),
    };
  }),
];

type Query = Readonly<Record<string, string>>;

function pageOf(query: Query) {
  const limit = readWhole(query, 'limit', { min: 1, max: MAX_LIMIT, absent: DEFAULT_LIMIT });
  const cursor = readText(query, 'cursor', MAX_CURSOR);
  return { limit, ...(cursor === undefined ? {} : { cursor }) };
}

/** Throws FIELD_INVALID, and NOT_FOUND for what cannot be the id of an App. */
function filterOf(query: Query): AccountFilter {
  return readAccountFilter({
    appId: readText(query, 'app_id', MAX_TEXT),
    status: readText(query, 'status', MAX_TEXT),
    modelKey: readText(query, 'model_key', MAX_LISTED_MODEL_KEY),
    credentialId: readText(query, 'credential_id', MAX_LISTED_CREDENTIAL),
    modality: readText(query, 'modality', MAX_TEXT),
    createdFrom: readTime(query, 'created_after'),
    createdBefore: readTime(query, 'created_before'),
  });
}

/** The task as the API has it, and what only the people of the account see. */
function renderNamed(machine: Machine, { view, app, creator }: NamedGeneration): object {
  const { generation } = view;
  const isShown = isRequestShown(machine.settings, generation);
  return {
    ...renderTask(view),
    app: { id: app.appId, name: app.name ?? null },
    creator,
    prompt: isShown ? generation.prompt : null,
    negative_prompt: isShown ? generation.negativePrompt : undefined,
    thumbnails: renderThumbnailPaths(machine, generation),
    outputs_removed_at: shownTime(generation.outputsRemovedAt),
    content_removed_at: shownTime(generation.contentRemovedAt),
  };
}

/** Renders addresses as paths, because the page may be open under another name of this computer. */
export function renderThumbnailPaths(machine: Machine, generation: Generation) {
  return thumbnailsOf(machine, generation).map(({ mediaId, urls }) => ({
    media_id: mediaId,
    small: urls[320],
    medium: urls[640],
    large: urls[1280],
  }));
}

function renderDetail({ request, timeline, movements, deliveries }: GenerationDetail): object {
  return {
    request: request === null ? null : renderRequest(request),
    timeline: timeline.map(({ event, at, attempt }) => ({ event, at: shownTime(at), attempt })),
    ledger: movements.map(({ kind, credits, at }) => ({ kind, credits, at: shownTime(at) })),
    deliveries: deliveries.map((delivery) => ({ webhook_id: delivery.endpointId, ...renderDelivery(delivery) })),
  };
}

/** The sizes of stored outputs, and until when they are kept. */
function renderFiles({ settings }: Machine, generation: Generation): object {
  const { status, outputs, outputsRemovedAt } = generation;
  if (!isTerminal(status) || outputsRemovedAt !== undefined || outputs.length === 0) return { files: [] };
  return {
    files: outputs.map(({ mediaId, byteSize }) => ({ media_id: mediaId, byte_size: byteSize })),
    outputs_expire_at: shownTime(retentionOf(generation, settings).outputsExpireAt),
  };
}

function renderRequest({ prompt, negativePrompt, parameters, defaults, references }: ShownRequest): object {
  return {
    prompt,
    negative_prompt: negativePrompt,
    parameters,
    defaults,
    references: references.map(({ reference: { uploadId, role, mediaType, byteSize }, url }) => ({
      upload_id: uploadId,
      role,
      media_type: mediaType,
      byte_size: byteSize,
      url,
    })),
  };
}
