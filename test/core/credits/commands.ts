import fc from 'fast-check';
import type { AccountCommand } from '../../../core/credits/decide.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';

const IDS = ['a', 'b', 'c', 'd', 'e'].flatMap((letter) => [1, 2, 3].map((number) => `${letter}${number}`));
const EDGE = Number.MAX_SAFE_INTEGER;

/** Each generation has one price, as in the service; a charge does not exceed it. */
function priceOf(generationId: string): number {
  return ('abcde'.indexOf(generationId.charAt(0)) % 4) * 7;
}

const anyMoneyCommand: fc.Arbitrary<AccountCommand> = fc.oneof(
  fc.record({
    kind: fc.constant('grant' as const),
    operationId: fc.constantFrom('g1', 'g2', 'g3', 'g4'),
    reason: fc.constant('r'),
    credits: fc.oneof(
      fc.integer({ min: -3, max: 40 }),
      fc.constantFrom(EDGE, EDGE - 1, EDGE + 1, 0.5, Number.NaN, Infinity),
    ),
  }),
  fc.record({
    kind: fc.constant('adjust' as const),
    operationId: fc.constantFrom('g1', 'a1', 'a2', 'a3'),
    reason: fc.constant('r'),
    credits: fc.oneof(fc.integer({ min: -30, max: 30 }), fc.constantFrom(EDGE, -EDGE, -EDGE - 1, -0.5, Number.NaN)),
  }),
  fc
    .record({
      kind: fc.constant('hold' as const),
      generationId: fc.constantFrom(...IDS),
      maxOpenHolds: fc.integer({ min: 1, max: 4 }),
    })
    .map((hold) => ({ ...hold, credits: priceOf(hold.generationId), attribution: ATTRIBUTION })),
  fc
    .record({
      kind: fc.constant('settle' as const),
      generationId: fc.constantFrom(...IDS),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ kind, generationId, part }) => ({ kind, generationId, charge: Math.floor(priceOf(generationId) * part) })),
);

/** Operators' commands that move no credits: rarer, so that holds happen between one suspension and the next. */
const anyProfileCommand: fc.Arbitrary<AccountCommand> = fc.oneof(
  fc.constant({ kind: 'suspend' as const }),
  fc.constant({ kind: 'resume' as const }),
  fc.record({ kind: fc.constant('rename' as const), name: fc.constantFrom('Test', 'Other') }),
);

const anyCommand: fc.Arbitrary<AccountCommand> = fc.oneof(
  { arbitrary: anyMoneyCommand, weight: 6 },
  { arbitrary: anyProfileCommand, weight: 1 },
);

/**
 * Batches of commands as the service gives them: an id is held once in its life, and not again after it was settled.
 */
export function anyBatches({
  batches,
  commands,
}: {
  readonly batches: number;
  readonly commands: number;
}): fc.Arbitrary<AccountCommand[][]> {
  return fc.array(fc.array(anyCommand, { maxLength: commands }), { maxLength: batches }).map((all) => {
    const settled = new Set<string>();
    return all.map((batch) =>
      batch.filter((command) => {
        if (command.kind === 'settle') settled.add(command.generationId);
        return command.kind !== 'hold' || !settled.has(command.generationId);
      }),
    );
  });
}
