import type { MessageInitShape } from '@bufbuild/protobuf';
import type { UsageGroup } from '../../../core/usage/read-usage.js';
import type { UsageBy as Word } from '../../../core/usage/usage-request.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import { UsageBy, type UsageRowSchema, type UsageSumsSchema } from '../generated/darkroom/v1/credits_pb.js';

export const USAGE_BY: Readonly<Record<Word, UsageBy>> = {
  day: UsageBy.DAY,
  model: UsageBy.MODEL,
  key: UsageBy.KEY,
  client_trace_id: UsageBy.CLIENT_TRACE_ID,
};

export function renderSums(sums: UsageSums): MessageInitShape<typeof UsageSumsSchema> {
  return {
    generations: BigInt(sums.generations),
    failed: BigInt(sums.failed),
    reservedCredits: BigInt(sums.reservedCredits),
    chargedCredits: BigInt(sums.chargedCredits),
    releasedCredits: BigInt(sums.releasedCredits),
  };
}

export function renderUsageRow({
  group,
  credentialName,
  ...sums
}: UsageGroup): MessageInitShape<typeof UsageRowSchema> {
  return { group, ...(credentialName === undefined ? {} : { credentialName }), sums: renderSums(sums) };
}
