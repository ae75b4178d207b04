import { STATUSES, type GenerationStatus } from '../../../core/generation/generation.js';
import { fieldInvalid } from '../../../core/fields.js';
import { StoreOperator } from '../../operator/store-operator.js';
import { recoverAll } from '../../operator/recover-all.js';
import { Operations } from '../generated/darkroom/v1/operations_pb.js';
import { plain } from '../method.js';
import { readPage } from '../pages.js';
import { STATUS, wordOf } from '../render/enums.js';
import { renderContent, renderRecord } from '../render/generation-record.js';
import { renderProvider } from '../render/providers.js';
import { duration } from '../render/times.js';
import { renderModelCosts } from '../render/usage.js';

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
