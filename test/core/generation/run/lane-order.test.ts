// Goal: places go to take-overs first, by earliest run deadline, then to new starts, with the accounts taking turns; an
// account at its limit is skipped, and no place stays empty while an eligible generation waits.
// Method: random arrivals, ends and advances on a lane, against a model that records when each account had its last
// turn and searches for the oldest, instead of keeping an order.
import { expect } from 'chai';
import fc from 'fast-check';
import { FairSemaphore, type Place } from '../../../../core/generation/run/fair-semaphore.js';
import { settled } from '../../../fixtures/manual-clock.js';

interface Waiting {
  readonly id: string;
  readonly account: string;
  readonly deadline: number | undefined;
  readonly joinedAt: number;
}

type Step =
  | { readonly kind: 'arrive'; readonly account: string; readonly deadline: number | undefined }
  | { readonly kind: 'end' | 'advance'; readonly which: number; readonly deadline: number };

const account = fc.constantFrom('a', 'b', 'c', 'd');
const deadline = fc.integer({ min: 1, max: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('arrive' as const),
      account,
      deadline: fc.option(deadline, { nil: undefined }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(), deadline }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('advance' as const), which: fc.nat(), deadline }) },
);

class Model {
  readonly admitted: string[] = [];
  readonly running = new Map<string, string>();
  waiting: Waiting[] = [];
  /** When each account last came to the end of a line, by kind of line and account. */
  private readonly atTheEndSince = new Map<string, number>();
  private moment = 0;

  constructor(
    private readonly limit: number,
    private readonly limitPerAccount: number,
  ) {}

  arrive(id: string, of: string, by: number | undefined): void {
    this.moment += 1;
    const line = lineOf(of, by);
    if (!this.waiting.some((one) => lineOf(one.account, one.deadline) === line))
      this.atTheEndSince.set(line, this.moment);
    this.waiting.push({ id, account: of, deadline: by, joinedAt: this.moment });
  }

  advance({ id, account: of }: Waiting, by: number): void {
    this.waiting = this.waiting.filter((one) => one.id !== id);
    this.arrive(id, of, by);
  }

  admit(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      this.moment += 1;
      const { id } = next;
      this.waiting = this.waiting.filter((one) => one.id !== id);
      this.atTheEndSince.set(lineOf(next.account, next.deadline), this.moment);
      this.running.set(id, next.account);
      this.admitted.push(id);
    }
  }

  private next(): Waiting | undefined {
    if (this.running.size >= this.limit) return undefined;
    const shareOf = (of: string) => [...this.running.values()].filter((one) => one === of).length;
    const eligible = this.waiting.filter((one) => shareOf(one.account) < this.limitPerAccount);
    const rank = (one: Waiting) => [
      one.deadline ?? Infinity,
      this.atTheEndSince.get(lineOf(one.account, one.deadline)) ?? 0,
      one.joinedAt,
    ];
    return eligible.toSorted((x, y) => compare(rank(x), rank(y)))[0];
  }
}

function lineOf(of: string, by: number | undefined): string {
  return `${by === undefined ? 'start' : 'take-over'} ${of}`;
}

function compare(x: readonly number[], y: readonly number[]): number {
  const at = x.findIndex((value, index) => value !== y[index]);
  return at < 0 || (x[at] as number) < (y[at] as number) ? -1 : 1;
}

describe('the order of places of a model', () => {
  it('equals that of a model that searches for the longest wait, after any arrivals and departures', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 60 }),
        async (limit, perAccount, steps) => {
          const [lane, model] = [
            new FairSemaphore(() => ({ concurrency: limit, concurrencyPerAccount: perAccount })),
            new Model(limit, perAccount),
          ];
          const places = new Map<string, Place>();
          const admitted: string[] = [];
          for (const [number, one] of steps.entries()) {
            if (one.kind === 'arrive') {
              const id = `${number}`;
              void lane
                .enter({ generationId: id, accountId: one.account, runDeadlineAt: one.deadline })
                .then((place) => {
                  places.set(id, place);
                  admitted.push(id);
                });
              model.arrive(id, one.account, one.deadline);
            } else if (one.kind === 'end') {
              const ending = [...model.running.keys()].at(one.which % Math.max(1, model.running.size));
              model.running.delete(ending ?? '');
              places.get(ending ?? '')?.release();
            } else {
              const starts = model.waiting.filter((waiting) => waiting.deadline === undefined);
              const chosen = starts[one.which % Math.max(1, starts.length)];
              if (chosen) model.advance(chosen, one.deadline);
              if (chosen) lane.advance(chosen.id, chosen.account, one.deadline);
            }
            model.admit();
            await settled();
            expect(admitted).to.deep.equal(model.admitted);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is not changed by advancing a generation that does not wait, or has no start before it', async () => {
    const lane = new FairSemaphore(() => ({ concurrency: 1, concurrencyPerAccount: 1 }));
    const first = await lane.enter({ generationId: 'running', accountId: 'a' });
    const admitted: string[] = [];
    for (const generationId of ['start', 'take-over']) {
      void lane
        .enter({ generationId, accountId: 'a', ...(generationId === 'start' ? {} : { runDeadlineAt: 5 }) })
        .then(() => admitted.push(generationId));
    }
    for (const generationId of ['running', 'take-over', 'nobody']) lane.advance(generationId, 'a', 1);
    lane.advance('start', 'b', 1);
    first.release();
    await settled();
    expect(admitted).to.deep.equal(['take-over']);
  });
});
