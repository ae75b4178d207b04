import type { MessageInitShape } from '@bufbuild/protobuf';
import { fieldInvalid } from '../../core/fields.js';
import { type GenerationStatus, STATUSES } from '../../core/generation/generation.js';
import {
  type AccountStorage,
  type InspectedGeneration,
  recoverAll,
  type ShownGeneration,
} from '../operator/operator.js';
import { StoreOperator } from '../operator/store-operator.js';
import { duration, OPERATION, STATUS, timestamp, wordOf } from './enums.js';
import { Access, type GetAccountStorageResponseSchema } from './generated/darkroom/v1/access_pb.js';
import {
  type GenerationContentSchema,
  type GenerationRecordSchema,
  Operations,
} from './generated/darkroom/v1/operations_pb.js';
import { plain, readPage } from './method.js';
import { renderCost, renderModelCosts, renderProvider } from './render-operator.js';

/** A generation as operators see it. */
export function renderRecord(g: ShownGeneration): MessageInitShape<typeof GenerationRecordSchema> {
  return {
    generationId: g.generationId,
    accountId: g.accountId,
    appId: g.appId,
    status: STATUS[g.status],
    modelKey: g.modelKey,
    operation: OPERATION[g.operation],
    createTime: timestamp(g.createdAt),
    updateTime: timestamp(g.updatedAt),
    ...(g.completedAt === undefined ? {} : { completeTime: timestamp(g.completedAt) }),
    ...(g.cancelRequestedAt === undefined ? {} : { cancelTime: timestamp(g.cancelRequestedAt) }),
    reservedCredits: BigInt(g.reservedCredits),
    chargedCredits: BigInt(g.chargedCredits),
    attempts: g.attemptsMade,
    ...(g.worker === undefined ? {} : { worker: g.worker }),
    ...(g.error === undefined
      ? {}
      : { error: { code: g.error.code, message: g.error.message, retryable: g.error.retryable } }),
    ...(g.clientTraceId === undefined ? {} : { clientTraceId: g.clientTraceId }),
    outputCount: g.outputCount,
    ...(g.provider === undefined ? {} : { provider: g.provider }),
    costs: (g.costs ?? []).map(renderCost),
  };
}

export function renderContent({
  prompt,
  negativePrompt,
  parameters,
  referenceUploadIds,
}: InspectedGeneration): MessageInitShape<typeof GenerationContentSchema> {
  return {
    prompt,
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
    parameters,
    referenceUploadIds: [...referenceUploadIds],
  };
}

const { method } = Operations;

export const OPERATIONS_METHODS = [
  plain(method.runRecovery, {
    scope: 'operations:write',
    async answer({ context }) {
      const total = await recoverAll(context);
      return {
        generationsWoken: BigInt(total.generations_woken),
        generationsEnded: BigInt(total.generations_ended),
        generationsSettled: BigInt(total.generations_settled),
        generationsRetired: BigInt(total.generations_retired),
        holdsReleased: BigInt(total.holds_released),
        holdsSettled: BigInt(total.holds_settled),
        uploadsSwept: BigInt(total.uploads_swept),
        uploadsRemoved: BigInt(total.uploads_removed),
        claimsRemoved: BigInt(total.claims_removed),
        artefactsRemoved: BigInt(total.artefacts_removed),
        deliveriesWoken: BigInt(total.deliveries_woken),
        deliveriesRemoved: BigInt(total.deliveries_removed),
        failed: BigInt(total.failed),
      };
    },
  }),
  plain(method.getRetention, {
    scope: 'operations:read',
    async answer({ context: { settings } }) {
      return {
        outputs: duration(settings.outputRetentionMs),
        generations: duration(settings.taskRetentionMs),
        remnants: duration(settings.tombstoneRetentionMs),
        uploads: duration(settings.uploadRetentionMs),
        replays: duration(settings.replayWindowMs),
        claims: duration(settings.claimRetentionMs),
        unchargedContent: duration(settings.unchargedContentRetentionMs),
      };
    },
  }),
  plain(method.searchGenerations, {
    scope: 'operations:read',
    async answer({ context, request }) {
      const { accountId, appId, statuses } = request;
      const filter = {
        ...(accountId === '' ? {} : { accountId }),
        ...(appId === '' ? {} : { appId }),
        statuses: statuses.map(readStatus),
      };
      const { items, nextCursor = '' } = await new StoreOperator(context).searchGenerations(filter, readPage(request));
      return { generations: items.map(renderRecord), nextPageToken: nextCursor };
    },
  }),
  plain(method.inspectGeneration, {
    scope: 'content:read',
    async answer({ context, request: { generationId } }) {
      const generation = await new StoreOperator(context).inspectGeneration(generationId);
      return { generation: renderRecord(generation), content: renderContent(generation) };
    },
  }),
  plain(method.listProviders, {
    scope: 'operations:read',
    answer: async ({ context }) => ({
      providers: (await new StoreOperator(context).listProviders()).map(renderProvider),
    }),
  }),
  plain(method.getModelCosts, {
    scope: 'operations:read',
    async answer({ context, request: { accountId, from, to } }) {
      const account = accountId === '' ? {} : { accountId };
      const report = await new StoreOperator(context).getModelCosts({ ...account, from, to });
      return { models: report.models.map(renderModelCosts), from: report.from, to: report.to };
    },
  }),
  plain(method.stopGeneration, {
    scope: 'operations:write',
    answer: async ({ context, request: { generationId } }) => ({
      generation: renderRecord(await new StoreOperator(context).cancelGeneration(generationId)),
    }),
  }),
] as const;

function readStatus(number: number): GenerationStatus {
  const word = wordOf(STATUS, number);
  const status = STATUSES.find((known) => known === word);
  if (status === undefined) throw fieldInvalid('/statuses', 'statuses must be statuses that a generation can have.');
  return status;
}

export const STORAGE_METHODS = [
  plain(Access.method.getAccountStorage, {
    scope: 'access:read',
    answer: async ({ context, request }) =>
      renderStorage(await new StoreOperator(context).getStorage(request.accountId, readPage(request))),
  }),
] as const;

function renderStorage({
  uncharged,
  apps,
  limits,
}: AccountStorage): MessageInitShape<typeof GetAccountStorageResponseSchema> {
  return {
    unchargedContent: { generations: BigInt(uncharged.generations), bytes: BigInt(uncharged.bytes) },
    apps: apps.items.map(({ appId, name, uploads, unfinished, bytes }) => ({
      appId,
      displayName: name,
      uploads: BigInt(uploads),
      unfinishedUploads: BigInt(unfinished),
      uploadBytes: BigInt(bytes),
    })),
    limits: {
      unchargedContentBytes: BigInt(limits.unchargedBytes),
      uploads: BigInt(limits.uploads),
      unfinishedUploads: BigInt(limits.unfinished),
      uploadBytes: BigInt(limits.bytes),
    },
    nextPageToken: apps.nextCursor ?? '',
  };
}
