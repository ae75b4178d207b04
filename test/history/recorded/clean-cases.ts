import type { JsonObject } from '../../../core/json.js';

export const id = (last: number) => `019a0000-0000-7000-8000-${String(last).padStart(12, '0')}`;

export const RICH = { accountId: id(1), appId: id(2) };
export const POOR = { accountId: id(3), appId: id(4) };
/** A generation for each kind of end, one made with a reference, and one that the poor account could pay for. */
export const IDS = {
  succeeded: id(11),
  cancelled: id(12),
  failed: id(13),
  stopped: id(14),
  poor: id(15),
  upload: id(21),
  media: id(22),
  output: id(23),
  random: id(99),
} as const;

/** The course of one generation, from which its record, entries and answers are built. */
export interface GenerationCase {
  readonly generationId: string;
  readonly key: string;
  readonly owner: typeof RICH;
  readonly n: number;
  readonly createdAt: number;
  readonly endedAt: number;
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly outputs: number;
  readonly wasBegun: boolean;
  /** The request's parameters other than `n`. */
  readonly asked: JsonObject;
}

export const GENERATION_CASES: readonly GenerationCase[] = [
  {
    generationId: IDS.succeeded,
    key: 'key-succeeded',
    owner: RICH,
    n: 2,
    createdAt: 1_000,
    endedAt: 3_000,
    status: 'succeeded',
    outputs: 1,
    wasBegun: true,
    asked: { behaviour: 'partial', deliver: 1 },
  },
  {
    generationId: IDS.cancelled,
    key: 'key-cancelled',
    owner: RICH,
    n: 1,
    createdAt: 4_000,
    endedAt: 4_500,
    status: 'cancelled',
    outputs: 0,
    wasBegun: false,
    asked: { behaviour: 'slow' },
  },
  {
    generationId: IDS.failed,
    key: 'key-failed',
    owner: RICH,
    n: 3,
    createdAt: 5_000,
    endedAt: 6_000,
    status: 'failed',
    outputs: 0,
    wasBegun: true,
    asked: { behaviour: 'fail' },
  },
  {
    generationId: IDS.stopped,
    key: 'key-stopped',
    owner: RICH,
    n: 1,
    createdAt: 7_000,
    endedAt: 9_000,
    status: 'cancelled',
    outputs: 0,
    wasBegun: true,
    asked: { behaviour: 'slow' },
  },
  {
    generationId: IDS.poor,
    key: 'poor-1',
    owner: POOR,
    n: 2,
    createdAt: 20_100,
    endedAt: 30_000,
    status: 'succeeded',
    outputs: 2,
    wasBegun: true,
    asked: {},
  },
];
