import fc from 'fast-check';
import type { JsonObject } from '../../core/json.js';
import type { ReferenceFile } from '../fixtures/reference-files.js';
import { type FrontName, FRONTS } from '../fronts/vectors/fronts.js';
import { PICTURE } from '../fronts/vectors/vector.js';

/** Keys of a fixture; two of them belong to one account. */
export type Who = 'owner' | 'other-app' | 'poor' | 'stranger';

/**
 * One request, or an event between requests. `key` is one of a few Idempotency-Keys, `pick` any number, `over` the
 * front that it uses.
 */
export type Action =
  | {
      readonly do: 'create' | 'estimate' | 'twins';
      readonly over: FrontName;
      readonly who: Who;
      readonly key: number;
      readonly body: JsonObject;
    }
  | {
      readonly do: 'create-with-upload';
      readonly over: FrontName;
      readonly who: Who;
      readonly key: number;
      readonly pick: number;
    }
  | { readonly do: 'look' | 'cancel'; readonly over: FrontName; readonly who: Who; readonly pick: number }
  | { readonly do: 'balance'; readonly over: FrontName; readonly who: Who }
  | {
      readonly do: 'prepare';
      readonly over: FrontName;
      readonly who: Who;
      readonly key: number;
      readonly file: ReferenceFile;
    }
  | {
      readonly do: 'complete';
      readonly over: FrontName;
      readonly who: Who;
      readonly key: number;
      readonly pick: number;
      readonly digest?: ReferenceFile;
    }
  | { readonly do: 'put'; readonly pick: number; readonly file: ReferenceFile }
  | { readonly do: 'wait' | 'work' };

const over = fc.constantFrom(...FRONTS);
const who = fc.constantFrom<Who>('owner', 'owner', 'owner', 'other-app', 'poor', 'stranger');
const key = fc.nat({ max: 2 });
const pick = fc.nat({ max: 50 });
const file = fc.constantFrom<ReferenceFile>('png', 'png', 'other-png', 'jpeg');

export const picture = (model_key: string, n: number): JsonObject => ({
  ...PICTURE,
  model_key,
  parameters: { size: '96x64', n },
});

const right = fc
  .tuple(
    fc.constantFrom('picture', 'picture', 'picture', 'picture-held', 'picture-refused'),
    fc.integer({ min: 1, max: 2 }),
  )
  .map(([model, n]) => picture(model, n));
/** Invalid values that typed messages can express, too. */
const wrong = fc.constantFrom<JsonObject>(
  picture('picture', 5),
  picture('nobody-has-this', 1),
  { ...PICTURE, prompt: '' },
  { ...PICTURE, client_trace_id: 'a b' },
  { prompt: 'x' },
  { ...PICTURE, parameters: { size: '96x64', style: 'https://example.com/x' } },
  { ...PICTURE, operation: 'video_generation' },
);
const body = fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: wrong });

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('create' as const), over, who, key, body }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('estimate' as const, 'twins' as const), over, who, key, body }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create-with-upload' as const), over, who, key, pick }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('look' as const, 'cancel' as const), over, who, pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('balance' as const), over, who }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('prepare' as const), over, who, key, file }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('put' as const), pick, file }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('complete' as const), over, who, key, pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('complete' as const), over, who, key, pick, digest: file }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('wait' as const, 'work' as const) }) },
);

export const ACTIONS: fc.Arbitrary<Action[]> = fc.array(action, { minLength: 1, maxLength: 20, size: 'max' });
