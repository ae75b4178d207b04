import { expect } from 'chai';
import fc from 'fast-check';
import { ServiceError } from '../../core/errors.js';
import type { Generation } from '../../core/generation/generation.js';
import { imagesOf } from '../fixtures/scripted-provider.js';

/** The provider's result for a generation, passed as its parameter `style`. */
export type Style = 'good' | 'partial' | 'fails' | 'never';

export interface Wanted {
  readonly count: number;
  readonly style: Style;
}

/** One action of a client. `who` is one of two accounts, `key` one of a few Idempotency-Keys, `pick` any number. */
export type Step =
  | { readonly do: 'create' | 'twins'; readonly who: number; readonly key: number; readonly wanted: Wanted }
  | { readonly do: 'burst'; readonly who: number; readonly many: number; readonly wanted: Wanted }
  | {
      readonly do: 'cut-create';
      readonly who: number;
      readonly key: number;
      readonly wanted: Wanted;
      readonly call: number;
      readonly after: boolean;
    }
  | { readonly do: 'cancel' | 'cancel-running' | 'look'; readonly who: number; readonly pick: number }
  | { readonly do: 'grant' | 'adjust'; readonly who: number; readonly credits: number }
  | { readonly do: 'work'; readonly cutAt: number; readonly after: boolean }
  | { readonly do: 'upload'; readonly who: number; readonly honest: boolean };

const who = fc.nat({ max: 1 });
const key = fc.nat({ max: 3 });
const pick = fc.nat({ max: 50 });
const wanted = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  style: fc.constantFrom<Style>('good', 'good', 'partial', 'fails', 'never'),
});

export const STEPS: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('create' as const, 'twins' as const), who, key, wanted }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('burst' as const), who, many: fc.integer({ min: 2, max: 9 }), wanted }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('cut-create' as const),
        who,
        key,
        wanted,
        call: fc.nat({ max: 8 }),
        after: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('cancel' as const, 'cancel-running' as const, 'look' as const),
        who,
        pick,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('grant' as const), who, credits: fc.integer({ min: 1, max: 90 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('adjust' as const),
        who,
        credits: fc.integer({ min: -60, max: 60 }).filter((credits) => credits !== 0),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('work' as const), cutAt: fc.nat({ max: 40 }), after: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('upload' as const), who, honest: fc.boolean() }) },
  ),
  { minLength: 4, maxLength: 12, size: 'max' },
);

/** Duplicated on purpose, so that a fault in core's own table is found. */
const NEXT: Readonly<Record<Generation['status'], readonly Generation['status'][]>> = {
  queued: ['queued', 'running', 'succeeded', 'failed', 'cancelled'],
  running: ['running', 'succeeded', 'failed', 'cancelled'],
  succeeded: ['succeeded'],
  failed: ['failed'],
  cancelled: ['cancelled'],
};

const ENDED: readonly string[] = ['succeeded', 'failed', 'cancelled'];

/** Compares the last seen version of every generation with the next, which must be a permitted successor. */
export class Trail {
  private readonly seen = new Map<string, Generation>();

  note(g: Generation): void {
    expectShape(g);
    const before = this.seen.get(g.generationId);
    if (before) expectSequel(before, g);
    this.seen.set(g.generationId, g);
  }
}

function expectShape(g: Generation): void {
  const isOver = ENDED.includes(g.status);
  expect(g.completedAt !== undefined, 'completed exactly when ended').to.equal(isOver);
  expect(g.error !== undefined, 'an error exactly when failed').to.equal(g.status === 'failed');
  if (g.status !== 'cancelled')
    expect(g.outputs.length > 0, 'outputs exactly when succeeded').to.equal(g.status === 'succeeded');
  expect(g.createdAt).to.be.at.most(g.updatedAt);
  expect(g.estimatedCredits).to.equal(g.reservedCredits);
  expect(g.chargedCredits).to.be.within(0, g.reservedCredits);
}

function expectSequel(before: Generation, g: Generation): void {
  expect(NEXT[before.status], `${before.status} to ${g.status}`).to.include(g.status);
  expect([g.estimatedCredits, g.reservedCredits, g.createdAt]).to.deep.equal([
    before.estimatedCredits,
    before.reservedCredits,
    before.createdAt,
  ]);
  expect(g.chargedCredits).to.be.at.least(before.chargedCredits);
  expect(g.updatedAt).to.be.at.least(before.updatedAt);
  expect(g.version).to.be.at.least(before.version);
  expect(g.fence).to.be.at.least(before.fence);
  if (g.version === before.version) expect(g, 'nothing changes without a version').to.deep.equal(before);
  if (ENDED.includes(before.status))
    expect(visible(g), 'nothing a client sees changes after the end').to.deep.equal(visible(before));
}

const visible = ({ status, chargedCredits, outputs, error, completedAt, updatedAt }: Generation) => ({
  status,
  chargedCredits,
  outputs,
  error,
  completedAt,
  updatedAt,
});

/** The result, or the code of a refusal. Other errors are rethrown. */
export function answerOrCode<T>(work: Promise<T>): Promise<T | string> {
  return work.catch((error: unknown) => {
    if (error instanceof ServiceError) return error.code;
    throw error;
  });
}

export async function refusalOf(work: Promise<unknown>): Promise<object> {
  try {
    return { answer: await work };
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, message: error.message };
    throw error;
  }
}

const CREDITS_AN_IMAGE = 10;

export const priceOf = ({ count }: Wanted): number => CREDITS_AN_IMAGE * count;

/** The cost of a generation that is not cancelled. */
export const chargeOf = (request: Wanted): number => CREDITS_AN_IMAGE * deliveredOf(request);

function deliveredOf({ count, style }: Wanted): number {
  if (style === 'good') return count;
  return style === 'partial' ? Math.max(1, count - 1) : 0;
}

/** The provider's report for a task. */
export function reportOf(style: Style, count: number) {
  if (style === 'never') return { state: 'running' as const };
  if (style === 'fails')
    return {
      state: 'failed' as const,
      failure: { code: 'PROVIDER_REJECTED' as const, message: 'As it was told.', mayRetry: false },
    };
  return { state: 'succeeded' as const, outputs: imagesOf(deliveredOf({ count, style })) };
}
