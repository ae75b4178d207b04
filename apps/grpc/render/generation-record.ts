import type { MessageInitShape } from '@bufbuild/protobuf';
import type { InspectedGeneration, ShownGeneration } from '../../operator/operator.js';
import type { GenerationContentSchema, GenerationRecordSchema } from '../generated/darkroom/v1/operations_pb.js';
import { OPERATION, STATUS } from './enums.js';
import { renderCost } from './providers.js';
import { timestamp } from './times.js';

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
