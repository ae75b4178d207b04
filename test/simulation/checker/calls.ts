import type { Provider, Submission } from '../../../core/ports/provider.js';
import type { Answer, Asked, Durable, Effect } from '../observed.js';

type Watched = Durable & { readonly provider: Provider };
type MethodOf<P extends keyof Watched> = Extract<keyof Watched[P], string>;

/** Every call the checker may look at, as in `accounts.apply`. */
export type CallName = { [P in keyof Watched]: `${P}.${MethodOf<P>}` }[keyof Watched];

type FunctionOf<K extends CallName> = K extends `${infer P extends keyof Watched}.${infer M}`
  ? M extends keyof Watched[P]
    ? Watched[P][M]
    : never
  : never;

/** An effect with the arguments and the result of its call. */
export type EffectOf<K extends CallName> =
  FunctionOf<K> extends (...args: infer Args) => Promise<infer Result>
    ? Omit<Effect, 'args' | 'result'> & { readonly args: Args; readonly result: Result }
    : never;

/** The calls that a part of the checker observes, and what it does after each. */
export type Handlers = { readonly [K in CallName]?: (effect: EffectOf<K>) => Promise<void> | void };

/** The observations of a part of the checker. Every method throws a violation when something is wrong. */
export interface Part {
  readonly handlers?: Handlers;
  calling?(call: Omit<Effect, 'result'>): void;
  taken?(submission: Submission, reference: string, isUsable: boolean): void;
  asked?(asked: Asked): void;
  arrived?(asked: Asked, at: number): void;
  served?(asked: Asked, answer: Answer, at: number): Promise<void> | void;
  answered?(asked: Asked, answer: Answer, at: number): void;
  quiet?(at: number): void;
  atRest?(at: number): Promise<void> | void;
}

type AnyHandler = (effect: Effect) => Promise<void> | void;

/** Passes every effect to the handlers of its call, in the order in which they were registered. */
export class CallTable {
  private readonly byCall = new Map<string, AnyHandler[]>();

  add(handlers: Handlers): void {
    // Names and types are separate only here: the caller that shows an effect names its call.
    for (const [call, handler] of Object.entries(handlers) as [string, AnyHandler][]) {
      this.byCall.set(call, [...(this.byCall.get(call) ?? []), handler]);
    }
  }

  async pass(effect: Effect): Promise<void> {
    for (const handler of this.byCall.get(effect.call) ?? []) await handler(effect);
  }
}
