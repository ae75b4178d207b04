import { type Ports, STORE_PORTS, type StorePort } from '../../core/ports/ports.js';

/** Observes the calls of one method. Its errors are dropped: measuring changes no outcome. */
export interface CallObserver {
  started?(): void;
  answered?(answer: unknown, args: readonly unknown[]): void;
  failed?(error: unknown): void;
  ended?(seconds: number): void;
}

/** The observer of one method of a store port. */
export type StoreObserver = (port: StorePort, method: string) => CallObserver;

/** They start and stop the delivery in this process, and do not call a store. */
const LOCAL_CALLS: ReadonlySet<string> = new Set(['wakeUps.start', 'wakeUps.stop']);

/** The same ports, with every call of a store observed. Nothing else intercepts the calls of the stores. */
export function observedStores(ports: Ports, observers: readonly StoreObserver[]): Ports {
  const observed = STORE_PORTS.map((port) => [
    port,
    observedCalls(ports[port], (method) =>
      LOCAL_CALLS.has(`${port}.${method}`) ? [] : observers.map((observerOf) => observerOf(port, method)),
    ),
  ]);
  return { ...ports, ...(Object.fromEntries(observed) as Pick<Ports, StorePort>) };
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * The same port, its methods with their observers. A method with observers returns a promise. Arguments, answers and
 * errors pass through unchanged, and an observer is called before the caller continues.
 */
export function observedCalls<Port extends object>(
  port: Port,
  observersOf: (method: string) => readonly CallObserver[],
): Port {
  const calls = [...methodsOf(port)].map((method) => {
    const call = (port as Readonly<Record<string, Call>>)[method] as Call;
    const observers = observersOf(method);
    return [method, observers.length === 0 ? call.bind(port) : observedCall(port, call, observers)] as const;
  });
  return Object.fromEntries(calls) as Port;
}

/** The names of its methods, those of its classes included. */
function methodsOf(port: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let at: unknown = port; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor') names.add(name);
  }
  return names;
}

type Report = (...about: readonly unknown[]) => void;

function observedCall(port: object, call: Call, observers: readonly CallObserver[]): Call {
  const reporters = observers as readonly Readonly<Record<keyof CallObserver, Report | undefined>>[];
  const report = (what: keyof CallObserver, ...about: readonly unknown[]): void => {
    for (const reporter of reporters) {
      try {
        reporter[what]?.(...about);
      } catch {
        // A number that could not be counted is worth less than the call it is about.
      }
    }
  };
  return (...args) => {
    const beganAt = performance.now();
    report('started');
    // An adapter of another package may throw, or return its answer, where it should return a promise.
    let outcome: Promise<unknown>;
    try {
      outcome = Promise.resolve(Reflect.apply(call, port, args));
    } catch (error) {
      outcome = Promise.reject(error);
    }
    const end = (how: 'answered' | 'failed', ...about: readonly unknown[]): void => {
      const seconds = (performance.now() - beganAt) / 1_000;
      report(how, ...about);
      report('ended', seconds);
    };
    outcome.then(
      (answer) => end('answered', answer, args),
      (error: unknown) => end('failed', error),
    );
    return outcome;
  };
}
