import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Call, Machine, Money, Work } from '../../core/context.js';
import {
  type Outcomes,
  type Overview,
  readOverview,
  readOverviewRange,
  type Times,
  type WaitingGeneration,
} from '../../core/statistics/read-overview.js';
import { duration, int64s, readTimestamp, STATUS, timestamp } from './enums.js';
import { Operations } from './generated/darkroom/v1/operations_pb.js';
import type {
  GetOverviewResponseSchema,
  OutcomesSchema,
  TimesSchema,
  WaitingGenerationSchema,
} from './generated/darkroom/v1/overview_pb.js';
import { plain, type ServedMethod } from './method.js';

/** The state of the service as a whole, for operators. */
export const OVERVIEW_METHODS: readonly ServedMethod<Money & Work & Machine & Call>[] = [
  plain(Operations.method.getOverview, 'operations:read', async ({ context, request }) => {
    const from = request.from && readTimestamp(request.from, 'from');
    const to = request.to && readTimestamp(request.to, 'to');
    return renderOverview(await readOverview(context, readOverviewRange({ from, to }, context.clock.now())));
  }),
];

function renderOverview(overview: Overview): MessageInitShape<typeof GetOverviewResponseSchema> {
  const { now, from, to, total, halfHours, queue, longestWaiting, nearZero } = overview;
  return {
    time: timestamp(now),
    from: timestamp(from),
    to: timestamp(to),
    total: renderOutcomes(total),
    halfHours: halfHours.map(({ startsAt, outcomes }) => ({
      startTime: timestamp(startsAt),
      outcomes: renderOutcomes(outcomes),
    })),
    queue: queue.map(({ oldestWaitMs, ...counts }) => ({ ...counts, oldestWait: duration(oldestWaitMs) })),
    longestWaiting: longestWaiting.map(renderWaiting),
    accountsNearZero: nearZero.accounts.map(({ account, weekChargedCredits }) => ({
      accountId: account.accountId,
      displayName: account.name,
      ...int64s({
        availableCredits: account.available,
        reservedCredits: account.reserved,
        weekChargedCredits,
      }),
    })),
    accountsIncomplete: !nearZero.isComplete,
  };
}

function renderOutcomes(outcomes: Outcomes): MessageInitShape<typeof OutcomesSchema> {
  const { succeeded, failed, cancelled, failures, accept, result } = outcomes;
  return {
    ...int64s({ succeeded, failed, cancelled }),
    failures: failures.map(([code, count]) => ({ code, ...int64s({ count }) })),
    accept: renderTimes(accept),
    result: renderTimes(result),
  };
}

function renderTimes({ count, medianMs, p95Ms }: Times): MessageInitShape<typeof TimesSchema> {
  return { ...int64s({ count }), medianTime: duration(medianMs), p95Time: duration(p95Ms) };
}

function renderWaiting(waiting: WaitingGeneration): MessageInitShape<typeof WaitingGenerationSchema> {
  const { generation: g, accountName, waitMs } = waiting;
  return {
    generationId: g.generationId,
    accountId: g.accountId,
    accountName,
    status: STATUS[g.status],
    modelKey: g.modelKey,
    createTime: timestamp(g.createdAt),
    waitTime: duration(waitMs),
    ...int64s({ reservedCredits: g.reservedCredits }),
    attempts: g.attemptsMade,
    worker: g.lease?.worker,
    provider: g.attempt?.provider,
  };
}
