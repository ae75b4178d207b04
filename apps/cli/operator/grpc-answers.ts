import type { App } from '../../../core/access/credential.js';
import type { TaskError } from '../../../core/generation/task-errors.js';
import type { ApiKey, App as AppMessage } from '../../grpc/generated/darkroom/v1/access_pb.js';
import type { Account } from '../../grpc/generated/darkroom/v1/accounts_pb.js';
import type { Entry, GrantCreditsResponse } from '../../grpc/generated/darkroom/v1/credits_pb.js';
import type { GenerationContent, GenerationRecord } from '../../grpc/generated/darkroom/v1/operations_pb.js';
import { BOOK, KIND } from '../../grpc/render/credits.js';
import { OPERATION, STATUS } from '../../grpc/render/enums.js';
import { costOf } from './grpc-providers.js';
import { present, timeOf, wordOf } from './grpc-values.js';
import type {
  InspectedGeneration,
  Operated,
  ShownAccount,
  ShownEntry,
  ShownGeneration,
  ShownKey,
} from '../../operator/operator.js';

// What a server answers, as the commands show it.

export function accountOf(account: Account | undefined): ShownAccount {
  const { accountId, displayName: name, currency, createTime, suspendTime, credits } = present(account);
  const { issued, available, reserved, spent, openHolds } = present(credits);
  return {
    accountId,
    name,
    currency,
    createdAt: timeOf(createTime),
    openHolds,
    ...(suspendTime === undefined ? {} : { suspendedAt: timeOf(suspendTime) }),
    issued: Number(issued),
    available: Number(available),
    reserved: Number(reserved),
    spent: Number(spent),
  };
}

export function operatedOf({ account, earlierTime }: Pick<GrantCreditsResponse, 'account' | 'earlierTime'>): Operated {
  return { account: accountOf(account), ...(earlierTime === undefined ? {} : { earlierAt: timeOf(earlierTime) }) };
}

export function appOf(app: AppMessage | undefined): App {
  const { appId, accountId, displayName: name, createTime } = present(app);
  return { appId, accountId, name, createdAt: timeOf(createTime) };
}

export function keyOf(apiKey: ApiKey | undefined): ShownKey {
  const {
    keyId,
    accountId,
    appId,
    displayName: name,
    scopes,
    createTime,
    expireTime,
    revokeTime,
    lastUseTime,
    monthlyCap,
  } = present(apiKey);
  return {
    keyId,
    accountId,
    appId,
    name,
    scopes,
    createdAt: timeOf(createTime),
    ...(expireTime === undefined ? {} : { expiresAt: timeOf(expireTime) }),
    ...(revokeTime === undefined ? {} : { revokedAt: timeOf(revokeTime) }),
    ...(lastUseTime === undefined ? {} : { lastUsedAt: timeOf(lastUseTime) }),
    ...(monthlyCap === undefined ? {} : { monthlyCap: Number(monthlyCap) }),
  };
}

export function entryOf({
  sequence,
  kind,
  fromBook,
  toBook,
  credits,
  createTime,
  availableAfter,
  generationId,
  operationId,
  reason,
}: Entry): ShownEntry {
  return {
    sequence: Number(sequence),
    kind: wordOf(KIND, kind),
    from: wordOf(BOOK, fromBook),
    to: wordOf(BOOK, toBook),
    credits: Number(credits),
    at: timeOf(createTime),
    availableAfter: Number(availableAfter),
    ...(generationId === undefined ? {} : { generationId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(reason === undefined ? {} : { reason }),
  };
}

export function generationOf(record: GenerationRecord | undefined): ShownGeneration {
  const {
    generationId,
    accountId,
    appId,
    status,
    modelKey,
    operation,
    createTime,
    updateTime,
    completeTime,
    cancelTime,
    ...rest
  } = present(record);
  const { reservedCredits, chargedCredits, attempts, worker, error, clientTraceId, outputCount, provider, costs } =
    rest;
  return {
    generationId,
    accountId,
    appId,
    status: wordOf(STATUS, status),
    modelKey,
    operation: wordOf(OPERATION, operation),
    createdAt: timeOf(createTime),
    updatedAt: timeOf(updateTime),
    ...(completeTime === undefined ? {} : { completedAt: timeOf(completeTime) }),
    ...(cancelTime === undefined ? {} : { cancelRequestedAt: timeOf(cancelTime) }),
    reservedCredits: Number(reservedCredits),
    chargedCredits: Number(chargedCredits),
    attemptsMade: attempts,
    outputCount,
    ...(worker === undefined ? {} : { worker }),
    ...(provider === undefined ? {} : { provider }),
    ...(costs.length === 0 ? {} : { costs: costs.map(costOf) }),
    // The codes may be those of a newer server; they are only shown.
    ...(error === undefined
      ? {}
      : { error: { code: error.code, message: error.message, retryable: error.retryable } as TaskError }),
    ...(clientTraceId === undefined ? {} : { clientTraceId }),
  };
}

export function inspectedOf(
  record: GenerationRecord | undefined,
  content: GenerationContent | undefined,
): InspectedGeneration {
  const { prompt, negativePrompt, parameters = {}, referenceUploadIds } = present(content);
  return {
    ...generationOf(record),
    prompt,
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
    parameters,
    referenceUploadIds,
  };
}
