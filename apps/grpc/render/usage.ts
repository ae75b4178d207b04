import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ModelCosts } from '../../../core/usage/model-costs.js';
import type { Usage, UsageGroup } from '../../../core/usage/read-usage.js';
import type { UsageBy as Word } from '../../../core/usage/usage-request.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import {
  UsageBy,
  type GetAccountUsageResponseSchema,
  type UsageRowSchema,
  type UsageSumsSchema,
} from '../generated/darkroom/v1/credits_pb.js';
import type { ModelCostsSchema } from '../generated/darkroom/v1/operations_pb.js';

export const USAGE_BY: Readonly<Record<Word, UsageBy>> = {
  day: UsageBy.DAY,
  model: UsageBy.MODEL,
  key: UsageBy.KEY,
  client_trace_id: UsageBy.CLIENT_TRACE_ID,
};

/** Its cursor is the token of the next page already. */
export function renderUsage({
  request: { from, to },
  groups,
  total,
  nextCursor = '',
}: Usage): Omit<MessageInitShape<typeof GetAccountUsageResponseSchema>, '$typeName'> {
  return { rows: groups.map(renderUsageRow), total: renderSums(total), from, to, nextPageToken: nextCursor };
}

export function renderModelCosts({ modelKey, money, ...sums }: ModelCosts): MessageInitShape<typeof ModelCostsSchema> {
  return {
    modelKey,
    generations: BigInt(sums.generations),
    chargedCredits: BigInt(sums.chargedCredits),
    withoutMoney: BigInt(sums.withoutMoney),
    inputTokens: BigInt(sums.inputTokens),
    outputTokens: BigInt(sums.outputTokens),
    computeMs: BigInt(sums.computeMs),
    money: money.map(({ currency, micros }) => ({ currency, micros: BigInt(micros) })),
  };
}

function renderSums(sums: UsageSums): MessageInitShape<typeof UsageSumsSchema> {
  return {
    generations: BigInt(sums.generations),
    failed: BigInt(sums.failed),
    reservedCredits: BigInt(sums.reservedCredits),
    chargedCredits: BigInt(sums.chargedCredits),
    releasedCredits: BigInt(sums.releasedCredits),
  };
}

function renderUsageRow({ group, credentialName, ...sums }: UsageGroup): MessageInitShape<typeof UsageRowSchema> {
  return { group, ...(credentialName === undefined ? {} : { credentialName }), sums: renderSums(sums) };
}
