import type { Model } from '../../../core/catalog/model.js';
import { DEFAULT_SETTINGS, type Settings } from '../../../core/settings.js';
import { imageModel, imagePrice } from '../../fixtures/models.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/**
 * The operator's settings, drawn together so that a whole lifetime, retention included, passes within two simulated
 * hours. Their relative order is that of the defaults.
 */
export const SIMULATED_SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  claimLeaseMs: 10 * SECOND,
  replayWindowMs: 15 * MINUTE,
  claimRetentionMs: 40 * MINUTE,
  maxOpenGenerationsPerAccount: 6,
  maxUploadBytes: 1_000,
  uploadTargetMs: 2 * MINUTE,
  uploadRetentionMs: 40 * MINUTE,
  outputRetentionMs: 20 * MINUTE,
  taskRetentionMs: 50 * MINUTE,
  unchargedContentRetentionMs: 15 * MINUTE,
  tombstoneRetentionMs: 70 * MINUTE,
  maxOutputBytes: 1_000,
  leaseMs: 9 * SECOND,
  cancelGraceMs: 15 * SECOND,
  providerCallMs: 10 * SECOND,
  retryCapMs: 4 * SECOND,
  retryAfterCapMs: 20 * SECOND,
  recoveryGraceMs: 5 * SECOND,
  recoveryBatch: 4,
};

/** How often each simulated worker's recovery runs, in milliseconds. */
export const RECOVERY_INTERVAL_MS = 15 * SECOND;

const QUEUE_MS = 3 * 60_000;
const RUN_MS = 2 * 60_000;

const entry = (provider: string, weight: number) => ({ provider, weight, settings: { of: provider } });

const SHORT = { queueTimeoutMs: QUEUE_MS, runTimeoutMs: RUN_MS, route: [entry('simulated', 1)] } as const;

/** The key of the model whose outputs must have the requested size. */
export const REFUSES_OTHER_SIZES = 'odd';

/** A round price per image, no floor, repeated retries. */
const plain = imageModel({
  ...SHORT,
  route: [entry('simulated', 1), entry('spare', 0)],
  modelKey: 'plain',
  concurrency: 3,
  concurrencyPerAccount: 2,
  onInvalidOutput: 'resubmit',
});

/** A price that is correct only when it is rounded once; a floor on cancel; acceptance that is never guessed; no prompt. */
const odd = imageModel({
  ...SHORT,
  route: [entry('simulated', 1), entry('spare', 1)],
  modelKey: REFUSES_OTHER_SIZES,
  promptRule: 'none',
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      count: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
      size: { type: 'string', enum: ['64x64'], default: '64x64' },
      style: { type: 'string', maxLength: 40 },
    },
  },
  price: imagePrice(1, {
    microcreditsPerUnit: 2_333_334,
    baseMicrocredits: 100_001,
    minimumCredits: 3,
    maximumCredits: 9,
    sizeTable: { parameters: ['size'], sizes: [{ values: ['64x64'], widthPx: 64, heightPx: 64 }] },
    multipliers: [{ parameter: 'style', thousandthsByValue: { fine: 1_313, coarse: 501 } }],
  }),
  maxAttempts: 2,
  cancelFloorCredits: 2,
  onUnknownAcceptance: 'fail',
  onOtherSize: 'refuse',
});

/** One at a time in each process, and expensive: accounts wait for one another. */
const narrow = imageModel({
  ...SHORT,
  modelKey: 'narrow',
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      count: { type: 'integer', minimum: 1, maximum: 2, default: 1 },
      size: { type: 'string', enum: ['64x64', '32x48'], default: '64x64' },
    },
  },
  price: imagePrice(1, {
    unit: 'megapixel',
    sizeParameter: 'size',
    firstUnitMicrocredits: 6_000_000_000,
    microcreditsPerUnit: 1,
  }),
  concurrency: 1,
  concurrencyPerAccount: 1,
  maxAttempts: 1,
  cancelFloorCredits: 40,
});

/** Priced per second, one video only, and a prompt where there is one. */
const clip = imageModel({
  ...SHORT,
  modelKey: 'clip',
  promptRule: 'optional',
  modality: 'video',
  operations: ['video_generation'],
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: { seconds: { type: 'integer', minimum: 1, maximum: 5, default: 2 } },
  },
  price: {
    version: '1',
    unit: 'second',
    microcreditsPerUnit: 2_500_000,
    baseMicrocredits: 0,
    durationParameter: 'seconds',
    multipliers: [],
    minimumCredits: 0,
    maximumCredits: 1_000,
  },
  maxAttempts: 2,
});

export const SIMULATED_MODELS: readonly Model[] = [plain, odd, narrow, clip];
