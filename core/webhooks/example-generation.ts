import type { Generation, GenerationView, Output } from '../generation/generation.js';
import type { Delivery } from './delivery.js';

/** The generation that a test message reports: an invented one that made a picture. */
export function exampleView({
  generationId,
  accountId,
  appId,
  occurredAt,
}: Pick<Delivery, 'generationId' | 'accountId' | 'appId' | 'occurredAt'>): GenerationView {
  const output: Output = {
    mediaId: generationId,
    kind: 'image',
    objectKey: '',
    contentType: 'image/png',
    byteSize: 0,
    sha256: '',
    widthPx: 1_024,
    heightPx: 1_024,
  };
  const startedAt = occurredAt - EXAMPLE_RUN_MS;
  const generation: Generation = {
    kind: 'generation',
    generationId,
    accountId,
    appId,
    version: 1,
    status: 'succeeded',
    modelKey: 'example-image',
    modality: 'image',
    operation: 'image_generation',
    prompt: '',
    parameters: {},
    references: [],
    clientTraceId: 'webhook-test',
    createdAt: startedAt,
    updatedAt: occurredAt,
    completedAt: occurredAt,
    estimatedCredits: EXAMPLE_CREDITS,
    reservedCredits: EXAMPLE_CREDITS,
    chargedCredits: EXAMPLE_CREDITS,
    terms: {
      priceVersion: 'example',
      creditsByOutputs: [0, EXAMPLE_CREDITS],
      cancelFloorCredits: 0,
      queueDeadlineAt: occurredAt,
      runTimeoutMs: EXAMPLE_RUN_MS,
      maxAttempts: 1,
    },
    fence: 0,
    attemptsMade: 1,
    outputs: [output],
    dueAt: occurredAt,
  };
  return { generation, outputs: [{ output, url: EXAMPLE_URL, filename: 'example.png' }] };
}

const EXAMPLE_RUN_MS = 4_200;
const EXAMPLE_CREDITS = 8;
/** An address in a domain that is reserved for examples, where no picture exists. */
const EXAMPLE_URL = 'https://example.com/darkroom-webhook-test.png';
