import type { FrontName } from './fronts.js';

/** Why a front cannot be asked what a vector asks. */
export const REASONS = {
  'no such field': 'The message has no such field, and what it does not know is passed over and not refused.',
  'another type': 'The field has one type, and no message holds a value of another.',
} as const;
export type Reason = keyof typeof REASONS;

/** Why a front answers otherwise what the same words ask it. */
export const DIFFERENCES = {
  'no App of its own':
    'A key is of one App, and lacks the right to name another. A service names account and App with each call: there is no such App of that account.',
  'no order of fields':
    'JSON has its members in an order, and the first that is wrong is told; the fields of a message come in that of the proto file.',
} as const;
export type Difference = keyof typeof DIFFERENCES;

/** Thrown by a client, before anything is sent, when its front cannot express a request. */
export class LeftOut extends Error {
  constructor(readonly reason: Reason) {
    super(REASONS[reason]);
  }
}

const ofBoth = (...names: readonly string[]) =>
  ['createGeneration', 'estimateGeneration'].flatMap((operation) => names.map((name) => `${operation}: ${name}`));

/**
 * The vectors that a front leaves out, by name. All other vectors are played, and the listed ones must be impossible to
 * express.
 */
export const LEFT_OUT: Readonly<Record<FrontName, Readonly<Partial<Record<Reason, readonly string[]>>>>> = {
  REST: {},
  gRPC: {
    'no such field': [
      ...ofBoth(
        'an unknown field',
        'a parameter beside the others',
        'a provider URL in the body',
        'null in an unknown field',
      ),
      'prepareUpload: an unknown field',
      'completeUpload: an unknown field',
    ],
    'another type': [
      ...ofBoth(
        'a model key that is a number',
        'a null prompt',
        'null parameters',
        'null in what may be left out',
        'parameters that are a list',
        'references that are no list',
      ),
      'prepareUpload: half a byte',
      'prepareUpload: a size as text',
      'prepareUpload: no digest, as null',
      'prepareUpload: a null file name',
      'completeUpload: no digest, as null',
      'a field that is null is one that was left out',
    ],
  },
};

export function whyLeftOut(front: FrontName, name: string): Reason | undefined {
  const reasons = Object.keys(REASONS) as Reason[];
  return reasons.find((reason) => LEFT_OUT[front][reason]?.includes(name));
}
