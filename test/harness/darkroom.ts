import type { Boot } from '../../core/boot.js';
import { type Context, createContext } from '../../core/context.js';
import { Dispatcher } from '../../core/generation/run/dispatcher.js';
import type { Log } from '../../core/log.js';
import type { Ports } from '../../core/ports/ports.js';
import type { GenerationChanges } from '../../core/ports/stores.js';
import { DEFAULT_SETTINGS, type Settings } from '../../core/settings.js';
import { DELIVERY } from '../../core/webhooks/deliveries.js';
import { DeliveryQueue } from '../../core/webhooks/send-delivery.js';
import { interceptedStores, type Interceptor } from '../fixtures/intercepted.js';
import { SILENT, STATELESS_PORTS, type Stores } from '../fixtures/memory-stores.js';

export interface DarkroomOptions {
  readonly stores: Stores;
  /** The ports beside the stores; those of `STATELESS_PORTS` may be left out. */
  readonly ports: Omit<Ports, keyof Stores | keyof typeof STATELESS_PORTS> & Partial<Ports>;
  /** Wraps all ports. */
  readonly around?: (ports: Ports) => Ports;
  readonly settings?: Partial<Settings>;
  readonly log?: Log;
  readonly boot?: Boot | undefined;
  readonly generationChanges?: GenerationChanges | undefined;
}

/** One process of a Darkroom on these stores. */
export function openDarkroom({
  stores,
  ports,
  around = (all) => all,
  settings = {},
  log = SILENT,
  boot,
  generationChanges,
}: DarkroomOptions): Context {
  const all: Ports = around({ ...stores, ...STATELESS_PORTS, ...ports });
  return createContext(all, { ...DEFAULT_SETTINGS, ...settings }, log, boot, generationChanges);
}

/** Lets `interceptor` receive every call on the stores. */
export function throughStores(interceptor: Interceptor): (ports: Ports) => Ports {
  return (ports) => ({ ...ports, ...interceptedStores(ports, interceptor) });
}

/** The work of a worker: the generations and the deliveries that wake-ups name. */
export class Work {
  readonly dispatcher: Dispatcher;
  readonly deliveries: DeliveryQueue;

  constructor(
    private readonly context: Context,
    name: string,
  ) {
    this.dispatcher = new Dispatcher(context, name);
    this.deliveries = new DeliveryQueue(context);
  }

  start(atOnce: number): Promise<void> {
    return this.context.wakeUps.start(
      ({ kind, id }) => (kind === DELIVERY ? this.deliveries.deliver(id) : this.dispatcher.deliver(id)),
      atOnce,
    );
  }
}
