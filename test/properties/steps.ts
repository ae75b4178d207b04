import fc from 'fast-check';

/** What the provider makes of a generation; goes with it as its parameter `style`. */
export type Style = 'good' | 'partial' | 'fails' | 'never';

export interface Wanted {
  readonly count: number;
  readonly style: Style;
}

/**
 * One thing that somebody does. `who` is one of two accounts, `key` one of a few Idempotency-Keys, `pick` any number.
 */
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
