import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Ports } from '../../core/ports/tokens.js';
import type { MethodsOf } from '../metrics/observed-calls.js';
import { STORE_METHODS, type StorePort, type StorePorts } from '../metrics/store-calls.js';
import { Outage, type OutageParts } from './outage.js';

type Store = 'database' | 'objects' | 'wake-ups';

const STORES: Readonly<Record<StorePort, Store>> = {
  accounts: 'database',
  generations: 'database',
  claims: 'database',
  acceptances: 'database',
  uploads: 'database',
  credentials: 'database',
  people: 'database',
  artefacts: 'database',
  providerUses: 'database',
  webhookEndpoints: 'database',
  deliveries: 'database',
  usage: 'database',
  objects: 'objects',
  wakeUps: 'wake-ups',
};
/** Usually served from local data: their success says nothing about the store. */
const WITHOUT_STORE: ReadonlySet<string> = new Set(['objects.signPut', 'objects.signGet']);

/**
 * The stores of one process, and whether they answer: an outage of each is logged once, counted, and summed up at its
 * end.
 */
export class Outages {
  private readonly outages: Readonly<Record<Store, Outage>>;

  constructor(parts: OutageParts) {
    this.outages = {
      'database': new Outage('database', parts),
      'objects': new Outage('objects', parts),
      'wake-ups': new Outage('wake-ups', parts),
    };
  }

  /**
   * The same ports, with every call of a store observed. `onDatabaseAway` is called for each that the database could
   * not answer.
   */
  watched(ports: Ports, onDatabaseAway: () => void = () => undefined): Ports {
    const watched = <P extends StorePort>(name: P): StorePorts[P] => {
      const store = STORES[name];
      const outage = this.outages[store];
      return watchedPort<StorePorts[P]>(ports[name], STORE_METHODS[name], (method) => ({
        answered: WITHOUT_STORE.has(`${name}.${method}`) ? () => undefined : () => outage.answered(),
        failed: (error) => {
          if (!(error instanceof StoreUnavailable)) return;
          outage.failed(`${name}.${method}`, error);
          if (store === 'database') onDatabaseAway();
        },
      }));
    };
    const { wakeUps } = ports;
    return {
      ...ports,
      accounts: watched('accounts'),
      generations: watched('generations'),
      claims: watched('claims'),
      acceptances: watched('acceptances'),
      uploads: watched('uploads'),
      credentials: watched('credentials'),
      people: watched('people'),
      artefacts: watched('artefacts'),
      providerUses: watched('providerUses'),
      webhookEndpoints: watched('webhookEndpoints'),
      deliveries: watched('deliveries'),
      usage: watched('usage'),
      objects: watched('objects'),
      wakeUps: {
        ...watched('wakeUps'),
        start: (...delivery) => wakeUps.start(...delivery),
        stop: () => wakeUps.stop(),
      },
    };
  }

  /** Counts a request that was refused immediately, because the database is unavailable. */
  refused(): void {
    this.outages.database.refused();
  }

  /**
   * The same log without the warnings whose only cause is a current outage: they are counted. All others are passed on.
   */
  quiet(log: Log): Log {
    const underWay = (): Outage | undefined => Object.values(this.outages).find(({ isUnderWay }) => isUnderWay);
    return {
      info: (event, about) => log.info(event, about),
      warn: (event, about) => {
        const outage = about['error'] instanceof StoreUnavailable ? underWay() : undefined;
        if (outage === undefined) log.warn(event, about);
        else outage.warned();
      },
    };
  }

  /** Tells the sums of outages that are not over. */
  close(): void {
    for (const outage of Object.values(this.outages)) outage.close();
  }
}

interface Watcher {
  readonly answered: () => void;
  readonly failed: (error: unknown) => void;
}

/** The same methods of the port, watched, which costs their callers no turn. All of them answer promises. */
function watchedPort<Port extends object>(
  port: Port,
  methods: MethodsOf<Port>,
  watcherOf: (method: keyof Port & string) => Watcher,
): Port {
  const calls = (Object.keys(methods) as (keyof Port & string)[]).map((method) => {
    const { answered, failed } = watcherOf(method);
    const call = (...args: readonly unknown[]): Promise<unknown> => {
      const outcome = Reflect.apply(port[method] as (...of: readonly unknown[]) => Promise<unknown>, port, args);
      outcome.then(answered, failed);
      return outcome;
    };
    return [method, call] as const;
  });
  return Object.fromEntries(calls) as Port;
}
