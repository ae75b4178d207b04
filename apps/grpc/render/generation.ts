import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GenerationView, OutputView } from '../../../core/generation/generation-view.js';
import type { GenerationSchema, OutputSchema } from '../generated/darkroom/v1/generations_pb.js';
import { MODALITY, OPERATION, STATUS } from './enums.js';
import { duration, timestamp } from './times.js';

export function renderGeneration({
  generation: g,
  outputs,
  pollAfterMs,
}: GenerationView): MessageInitShape<typeof GenerationSchema> {
  return {
    generationId: g.generationId,
    status: STATUS[g.status],
    modelKey: g.modelKey,
    modality: MODALITY[g.modality],
    operation: OPERATION[g.operation],
    createTime: timestamp(g.createdAt),
    updateTime: timestamp(g.updatedAt),
    ...(g.completedAt === undefined ? {} : { completeTime: timestamp(g.completedAt) }),
    ...(pollAfterMs === undefined ? {} : { pollAfter: duration(pollAfterMs) }),
    estimatedCredits: BigInt(g.estimatedCredits),
    reservedCredits: BigInt(g.reservedCredits),
    chargedCredits: BigInt(g.chargedCredits),
    outputs: outputs.map(renderOutput),
    ...(g.error === undefined
      ? {}
      : { error: { code: g.error.code, message: g.error.message, retryable: g.error.retryable } }),
    ...(g.clientTraceId === undefined ? {} : { clientTraceId: g.clientTraceId }),
  };
}

function renderOutput({ output, url }: OutputView): MessageInitShape<typeof OutputSchema> {
  return {
    mediaId: output.mediaId,
    modality: MODALITY[output.kind],
    url,
    width: output.widthPx,
    height: output.heightPx,
    ...(output.durationMs === undefined ? {} : { duration: duration(output.durationMs) }),
  };
}
