// Goal: places go to take-overs first, by earliest run deadline, then to new starts, with the accounts taking turns; an
// account at its limit is skipped, and no place stays empty while an eligible generation waits.
// Method: random arrivals, ends and advances on a lane, against a model that records when each account had its last
// turn and searches for the oldest, instead of keeping an order.
import { expect } from 'chai';
import fc from 'fast-check';
import { Lane, type PlaceRequest } from '../../../../core/generation/run/lanes.js';

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

/** A lane whose waiters are let in as soon as there is a place; those in `shut` need what there is none of now. */
class OpenLane {
  readonly admitted: string[] = [];
  readonly shut = new Set<string>();
  private readonly waiting = new Map<string, PlaceRequest>();
  private readonly leave = new Map<string, () => void>();
  private readonly lane: Lane<PlaceRequest>;

  constructor(concurrency: number, concurrencyPerAccount: number) {
    this.lane = new Lane(() => ({ concurrency, concurrencyPerAccount }));
  }

  arrive(generationId: string, accountId: string, runDeadlineAt: number | undefined, providers = ['p']): void {
    const request = { generationId, accountId, runDeadlineAt, providers };
    this.waiting.set(generationId, request);
    this.lane.join(request);
    this.admit();
  }

  advance(id: string, accountId: string, runDeadlineAt: number): void {
    this.lane.leave(this.waiting.get(id)!);
    this.arrive(id, accountId, runDeadlineAt);
  }

  end(id: string): void {
    this.leave.get(id)?.();
    this.admit();
  }

  heldUp(): string[] {
    return this.lane.heldUp().map(({ generationId }) => generationId);
  }

  admit(): void {
    const mayEnter = ({ providers: [provider = ''] }: PlaceRequest) => !this.shut.has(provider);
    for (;;) {
      const next = this.lane.nextFinishing() ?? this.lane.nextTakeOver(mayEnter) ?? this.lane.nextStart(mayEnter);
      if (next === undefined) return;
      this.leave.set(next.generationId, this.lane.admit(next));
      this.admitted.push(next.generationId);
    }
  }
}

describe('the order of places of a model', () => {
  it('equals that of a model that searches for the longest wait, after any arrivals and departures', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 60 }),
        (limit, perAccount, steps) => {
          const [lane, model] = [new OpenLane(limit, perAccount), new Model(limit, perAccount)];
          for (const [number, one] of steps.entries()) {
            if (one.kind === 'arrive') {
              lane.arrive(`${number}`, one.account, one.deadline);
              model.arrive(`${number}`, one.account, one.deadline);
            } else if (one.kind === 'end') {
              const ending = [...model.running.keys()].at(one.which % Math.max(1, model.running.size));
              model.running.delete(ending ?? '');
              lane.end(ending ?? '');
            } else {
              const starts = model.waiting.filter((waiting) => waiting.deadline === undefined);
              const chosen = starts[one.which % Math.max(1, starts.length)];
              if (chosen) model.advance(chosen, one.deadline);
              if (chosen) lane.advance(chosen.id, chosen.account, one.deadline);
            }
            model.admit();
            expect(lane.admitted).to.deep.equal(model.admitted);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('lets those that submit nothing go first, whatever the providers of the others are short of', () => {
    const lane = new OpenLane(1, 1);
    lane.shut.add('p');
    lane.arrive('start', 'a', undefined);
    lane.arrive('retry', 'a', 1);
    lane.arrive('collects', 'a', 5, []);
    expect(lane.admitted).to.deep.equal(['collects']);
    lane.shut.clear();
    lane.end('collects');
    lane.end('retry');
    expect(lane.admitted).to.deep.equal(['collects', 'retry', 'start']);
  });

  it('passes by those whose provider has no room, and names as held up as many as there are places for', () => {
    const lane = new OpenLane(3, 2);
    lane.shut.add('p');
    for (const id of ['1', '2', '3']) lane.arrive(id, 'a', undefined);
    lane.arrive('4', 'b', 7);
    lane.arrive('5', 'c', undefined, ['q']);
    expect(lane.admitted).to.deep.equal(['5']);
    expect(lane.heldUp().toSorted()).to.deep.equal(['1', '4']);
    lane.end('5');
    expect(lane.heldUp().toSorted()).to.deep.equal(['1', '2', '4']);
  });
});
