/** What is done around the calls of one method. Its errors are dropped: measuring changes no outcome. */
export interface CallObserver {
  begun?(): void;
  answered?(answer: unknown, args: readonly unknown[]): void;
  failed?(error: unknown): void;
  ended?(seconds: number): void;
}

/** Every method of a port whose calls are observed. */
export type MethodsOf<Port> = { readonly [Method in keyof Port]: true };

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * The same port with an observer around each of its methods, all of which answer promises. Arguments, answers and
 * errors pass through unchanged; an answer is delayed by one turn of the microtasks only.
 */
export function observedCalls<Port extends object>(
  port: Port,
  methods: MethodsOf<Port>,
  observerOf: (method: keyof Port & string) => CallObserver,
): Port {
  const calls = (Object.keys(methods) as (keyof Port & string)[]).map(
    (method) => [method, observedCall(port, port[method] as Call, observerOf(method))] as const,
  );
  return Object.fromEntries(calls) as Port;
}

function observedCall(port: object, call: Call, observer: CallObserver): Call {
  return async (...args) => {
    const beganAt = performance.now();
    harmless(() => observer.begun?.());
    try {
      const answer = await Reflect.apply(call, port, args);
      harmless(() => observer.answered?.(answer, args));
      return answer;
    } catch (error) {
      harmless(() => observer.failed?.(error));
      throw error;
    } finally {
      harmless(() => observer.ended?.((performance.now() - beganAt) / 1_000));
    }
  };
}

function harmless(observe: () => void): void {
  try {
    observe();
  } catch {
    // A number that could not be counted is worth less than the call it is about.
  }
}
