import type { Caller } from '../access/credential.js';
import { measuredRateOf } from '../catalog/price.js';
import type { Generation, Reference } from './generation.js';
import type { Quote } from './quote.js';
import type { GenerationRequest } from './request.js';
import type { Upload } from '../uploads/upload.js';
import { assert } from '../assert.js';

/** The generation a quote becomes once its price is held: queued, reserved, nothing charged. */
export function acceptGeneration(
  generationId: string,
  caller: Caller,
  request: GenerationRequest,
  quote: Quote,
  now: number,
  recoveryGraceMs: number,
): Generation {
  const measuredRate = measuredRateOf(quote.model, quote.parameters);
  const queueDeadlineAt = now + quote.model.queueTimeoutMs;
  return {
    kind: 'generation',
    generationId,
    accountId: caller.accountId,
    appId: caller.appId,
    credentialId: caller.credentialId,
    version: 1,
    status: 'queued',
    modelKey: quote.model.modelKey,
    modality: quote.model.modality,
    operation: request.operation,
    prompt: request.prompt,
    ...(request.negativePrompt === undefined ? {} : { negativePrompt: request.negativePrompt }),
    parameters: quote.parameters,
    references: quote.uploads.map(referenceTo),
    ...(request.clientTraceId === undefined ? {} : { clientTraceId: request.clientTraceId }),
    ...(request.webhookUrl === undefined ? {} : { webhookUrl: request.webhookUrl }),
    createdAt: now,
    updatedAt: now,
    estimatedCredits: quote.credits,
    reservedCredits: quote.credits,
    chargedCredits: 0,
    terms: {
      priceVersion: quote.model.price.version,
      creditsByOutputs: quote.creditsByOutputs,
      ...(measuredRate === undefined ? {} : { measuredRate }),
      cancelFloorCredits: Math.min(quote.model.cancelFloorCredits, quote.credits),
      queueDeadlineAt,
      runTimeoutMs: quote.model.runTimeoutMs,
      maxAttempts: quote.model.maxAttempts,
    },
    fence: 0,
    attemptsMade: 0,
    outputs: [],
    dueAt: Math.min(now + recoveryGraceMs, queueDeadlineAt),
  };
}

function referenceTo(upload: Upload): Reference {
  assert(upload.ready && upload.objectKey !== undefined, 'a quoted upload is ready');
  return {
    uploadId: upload.uploadId,
    role: upload.role,
    objectKey: upload.objectKey,
    mediaType: upload.mediaType,
    byteSize: upload.byteSize,
    sha256: upload.ready.sha256,
    ...(upload.ready.contentBytes === undefined ? {} : { contentBytes: upload.ready.contentBytes }),
    ...(upload.ready.isMasked === true ? { isMasked: true } : {}),
  };
}
