import fc from 'fast-check';

/**
 * How a request ends, as the client and the server see it. `whole`: the client gets the answer. `leaves`: the connection
 * closes after `leavesAfterMs`, whatever has happened by then. `cut`: it closes before the whole answer is written.
 * `lost`: the server wrote all of it, and a proxy did not pass it on. `held`: the client has gone after `leavesAfterMs`, and
 * a proxy keeps the connection to the server open.
 */
export type Fate = 'whole' | 'leaves' | 'cut' | 'lost' | 'held';

/** How a client repeats what it got no answer to: as the SDKs of OpenAI do, as the AI SDK does, or never; or with a key. */
export type ClientKind = 'openai' | 'ai-sdk' | 'plain' | 'keyed';

/** What a client wants once, with its repetitions: one element of `fates` and of `processes` for each request. */
export interface Wish {
  readonly at: number;
  readonly client: ClientKind;
  /** Equal ones are equal requests. */
  readonly content: 'a' | 'b' | 'failing' | 'unknown-model' | 'poor';
  readonly fates: readonly Fate[];
  readonly processes: readonly number[];
  readonly leavesAfterMs: number;
  /** How long an SDK of OpenAI waits before it repeats. */
  readonly backoffMs: number;
}

/** What happens to the call with this number of a process, counted from its start. */
export interface StoreFault {
  readonly process: number;
  readonly call: number;
  readonly kind: 'dies-before' | 'dies-after' | 'lost-request' | 'lost-answer' | 'late' | 'slow' | 'slow-answer';
  readonly delayMs: number;
}

export interface History {
  /** Whether one process alone uses the stores. Another one follows it when it has died. */
  readonly isExclusive: boolean;
  /** How far the clock of each process is ahead, in milliseconds. */
  readonly aheadMs: readonly number[];
  readonly wishes: readonly Wish[];
  readonly faults: readonly StoreFault[];
  /** How long each task of the provider takes. */
  readonly taskMs: readonly number[];
  /** When somebody deletes the generation that ended last, if it was not deleted before. */
  readonly deletesAt: readonly number[];
}

const PROCESSES = 3;
const process = fc.nat({ max: PROCESSES - 1 });

const wish: fc.Arbitrary<Wish> = fc.record({
  at: fc.oneof(fc.constantFrom(0, 2_000, 10_000), fc.nat({ max: 30_000 })),
  client: fc.constantFrom<ClientKind>('openai', 'openai', 'ai-sdk', 'ai-sdk', 'plain', 'keyed'),
  content: fc.constantFrom('a', 'a', 'a', 'a', 'b', 'failing', 'failing', 'unknown-model', 'poor'),
  fates: fc.array(fc.constantFrom<Fate>('whole', 'whole', 'leaves', 'leaves', 'cut', 'cut', 'lost', 'held'), {
    minLength: 3,
    maxLength: 3,
  }),
  processes: fc.array(process, { minLength: 3, maxLength: 3 }),
  leavesAfterMs: fc.oneof(fc.constantFrom(0, 1), fc.nat({ max: 6_000 })),
  backoffMs: fc.integer({ min: 500, max: 8_000 }),
});

const fault: fc.Arbitrary<StoreFault> = fc.record({
  process,
  call: fc.nat({ max: 40 }),
  kind: fc.constantFrom('dies-before', 'dies-after', 'lost-request', 'lost-answer', 'late', 'slow', 'slow-answer'),
  delayMs: fc.nat({ max: 4_000 }),
});

export const HISTORIES: fc.Arbitrary<History> = fc.record({
  isExclusive: fc.boolean(),
  aheadMs: fc.array(fc.constantFrom(0, 0, 3_000, -3_000, 20_000, -20_000), {
    minLength: PROCESSES,
    maxLength: PROCESSES,
  }),
  wishes: fc.array(wish, { minLength: 2, maxLength: 6, size: 'max' }),
  faults: fc.oneof(fc.constant([]), fc.array(fault, { minLength: 1, maxLength: 5, size: 'max' })),
  taskMs: fc.array(fc.constantFrom(0, 1_000, 5_000, 15_000), { minLength: 4, maxLength: 4 }),
  deletesAt: fc.oneof(fc.constant([]), fc.array(fc.nat({ max: 60_000 }), { maxLength: 2 })),
});
