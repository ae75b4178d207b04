import type { Caller } from '../access/credential.js';
import type { Generation, Reference } from './generation.js';
import type { Plan } from './plan.js';
import type { GenerationRequest } from './request.js';
import type { Upload } from '../uploads/upload.js';
import { assert } from '../assert.js';

/** The generation a plan becomes once its price is held: queued, reserved, nothing charged. */
export function acceptGeneration(generationId: string, caller: Caller, request: GenerationRequest, plan: Plan, now: number, recoveryGraceMs: number): Generation {
  const queueDeadlineAt = now + plan.model.queueTimeoutMs;
  return {
    kind: 'generation',
    generationId,
    accountId: caller.accountId,
    appId: caller.appId,
    credentialId: caller.credentialId,
    version: 1,
    status: 'queued',
    modelKey: plan.model.modelKey,
    modality: plan.model.modality,
    operation: request.operation,
    prompt: request.prompt,
    ...(request.negativePrompt === undefined ? {} : { negativePrompt: request.negativePrompt }),
    parameters: plan.parameters,
    references: plan.uploads.map(referenceTo),
    ...(request.clientTraceId === undefined ? {} : { clientTraceId: request.clientTraceId }),
    createdAt: now,
    updatedAt: now,
    estimatedCredits: plan.credits,
    reservedCredits: plan.credits,
    chargedCredits: 0,
    terms: {
      priceVersion: plan.model.price.version,
      creditsByOutputs: plan.creditsByOutputs,
      cancelFloorCredits: Math.min(plan.model.cancelFloorCredits, plan.credits),
      queueDeadlineAt,
      runTimeoutMs: plan.model.runTimeoutMs,
      maxAttempts: plan.model.maxAttempts,
    },
    fence: 0,
    attemptsMade: 0,
    outputs: [],
    attentionAt: Math.min(now + recoveryGraceMs, queueDeadlineAt),
  };
}

function referenceTo(upload: Upload): Reference {
  assert(upload.ready && upload.objectKey !== undefined, 'a planned upload is ready');
  return {
    uploadId: upload.uploadId,
    role: upload.role,
    objectKey: upload.objectKey,
    mediaType: upload.mediaType,
    byteSize: upload.byteSize,
    sha256: upload.ready.sha256,
  };
}
