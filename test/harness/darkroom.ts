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
import { SILENT, STATELESS_PORTS } from '../fixtures/memory-stores.js';

/** All ports; those of `STATELESS_PORTS` may be left out. */
export type DarkroomPorts = Omit<Ports, keyof typeof STATELESS_PORTS> & Partial<Ports>;

export interface DarkroomOptions {
  readonly ports: DarkroomPorts;
  /** Wraps all ports. */
  readonly around?: (ports: Ports) => Ports;
  readonly settings?: Partial<Settings>;
  readonly log?: Log;
  readonly boot?: Boot | undefined;
  readonly generationChanges?: GenerationChanges | undefined;
  /** How long a charge waits to be written with others of its account, in milliseconds. */
  readonly settleWaitMs?: number;
}

/** One process of a Darkroom on these ports. */
export function openDarkroom({
  ports,
  around = (all) => all,
  settings = {},
  log = SILENT,
  boot,
  generationChanges,
  settleWaitMs,
}: DarkroomOptions): Context {
  const all: Ports = around({ ...STATELESS_PORTS, ...ports });
  return createContext(all, { ...DEFAULT_SETTINGS, ...settings }, log, boot, generationChanges, settleWaitMs);
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
