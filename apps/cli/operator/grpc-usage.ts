import type { Usage, UsageGroup } from '../../../core/usage/read-usage.js';
import { USAGE_BY as WORDS, type SentUsage } from '../../../core/usage/usage-request.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import type {
  GetAccountUsageResponse,
  UsageRow,
  UsageSums as SumsMessage,
} from '../../grpc/generated/darkroom/v1/credits_pb.js';
import { UsageBy } from '../../grpc/generated/darkroom/v1/credits_pb.js';
import type { GetModelCostsResponse } from '../../grpc/generated/darkroom/v1/operations_pb.js';
import { USAGE_BY } from '../../grpc/render/usage.js';
import type { CostReport } from '../../operator/operator.js';
import { present } from './grpc-values.js';

// What a server answers of usage and costs, as the commands show it.

export function usageByOf(by: string | undefined): UsageBy {
  const word = WORDS.find((known) => known === by);
  return word === undefined ? UsageBy.UNSPECIFIED : USAGE_BY[word];
}

export function daysOf({ from, to }: SentUsage): { readonly from?: string; readonly to?: string } {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

export function usageOf({ rows, total, from, to, nextPageToken }: GetAccountUsageResponse, sentBy = 'day'): Usage {
  const by = WORDS.find((known) => known === sentBy) ?? 'day';
  return {
    request: { by, from, to },
    groups: rows.map(groupOf),
    total: sumsOf(total),
    ...(nextPageToken === '' ? {} : { nextCursor: nextPageToken }),
  };
}

function groupOf({ group, credentialName, sums }: UsageRow): UsageGroup {
  return { group, ...(credentialName === undefined ? {} : { credentialName }), ...sumsOf(sums) };
}

function sumsOf(message: SumsMessage | undefined): UsageSums {
  const { generations, failed, reservedCredits, chargedCredits, releasedCredits } = present(message);
  return {
    generations: Number(generations),
    failed: Number(failed),
    reservedCredits: Number(reservedCredits),
    chargedCredits: Number(chargedCredits),
    releasedCredits: Number(releasedCredits),
  };
}

export function costReportOf({ models, from, to }: GetModelCostsResponse): CostReport {
  return {
    from,
    to,
    models: models.map(({ modelKey, money, ...sums }) => ({
      modelKey,
      generations: Number(sums.generations),
      chargedCredits: Number(sums.chargedCredits),
      withoutMoney: Number(sums.withoutMoney),
      inputTokens: Number(sums.inputTokens),
      outputTokens: Number(sums.outputTokens),
      computeMs: Number(sums.computeMs),
      money: money.map(({ currency, micros }) => ({ currency, micros: Number(micros) })),
    })),
  };
}
