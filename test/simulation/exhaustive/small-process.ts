import type { Clock, Ids } from '../../../core/ports/machine.js';
import type { Interceptor, PortCall } from '../../fixtures/intercepted.js';
import { SeededIds } from '../../fixtures/memory-stores.js';

export interface PendingCall {
  readonly name: string;
  readonly call: Pick<PortCall, 'name' | 'args' | 'proceed'>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface Timer {
  /** The owner of a timer: the wake-ups, which schedules of other processes set too, or core. */
  readonly of: 'core' | 'wake-ups';
  readonly at: number;
  readonly callback: () => void;
}

/**
 * Calls that happen at once, as a part of the previous step. No other process reads the data they touch (outputs are
 * under keys of one fence; one worker at a time talks to the provider about a task it has), and retention is further
 * away than time ever advances here. So it cannot be observed whether such a call comes sooner or later, and a crash
 * around it is a crash before the next call. The time at which the content of uncharged generations is summed does not
 * matter either: here it never comes near its bound. There are no webhooks, so reading them returns none at any time.
 */
const UNSEEN =
  /^(?:objects|uploads)\.|^provider\.(?:poll|output|cancel|recover)$|^(?:claims|fingerprints)\.removeExpired$|^generations\.stored$|^webhookEndpoints\.read$|^wakeUps\.start$/;

/**
 * One process: calls it waits for, timers it set, and all its observations. Its behaviour is a function of these
 * observations alone.
 */
export class SmallProcess {
  isAlive = true;
  readonly pending: PendingCall[] = [];
  readonly timers: Timer[] = [];
  /** The interned number of its observations so far. */
  observed = 0;
  readonly ids: Ids;

  /** `number` makes this process's ids unique, so that they are the same however processes interleave. */
  constructor(
    readonly name: string,
    private readonly number: number,
    private readonly time: { readonly now: number },
    private readonly direct?: Interceptor,
  ) {
    const bytes = new SeededIds(1 + number * 7_919);
    let made = 0;
    this.ids = {
      uuid: () => `${this.idStart}${(made += 1).toString(16).padStart(12, '0')}`,
      random: (byteCount) => bytes.random(byteCount),
    };
  }

  /** Intercepts every port call, which waits until it is chosen. A dead process receives no more answers. */
  readonly interceptor: Interceptor = (call) => {
    if (!this.isAlive) return new Promise(() => undefined);
    if (this.direct) return this.direct(call);
    if (UNSEEN.test(call.name)) return call.proceed();
    return new Promise((resolve, reject) => {
      const twins = this.pending.filter((other) => other.call.name === call.name).length;
      this.pending.push({ name: twins === 0 ? call.name : `${call.name} #${twins + 1}`, call, resolve, reject });
    });
  };

  hasMinted(id: string): boolean {
    return id.startsWith(this.idStart);
  }

  private get idStart(): string {
    return `01900000-0000-7000-8${this.number.toString(16).padStart(3, '0')}-`;
  }

  clock(of: Timer['of']): Clock {
    return {
      now: () => this.time.now,
      monotonic: () => this.time.now,
      after: (delayMs, callback) => {
        const timer = { of, at: this.time.now + Math.ceil(delayMs), callback };
        if (this.isAlive) this.timers.push(timer);
        return () => this.drop(timer);
      },
    };
  }

  drop(timer: Timer): void {
    const index = this.timers.indexOf(timer);
    if (index >= 0) this.timers.splice(index, 1);
  }

  crash(): void {
    this.isAlive = false;
    this.pending.length = 0;
    this.timers.length = 0;
  }
}

/** Distinct numbers for texts: the observations of a process so far are one number instead of a growing list. */
export class Interned {
  private readonly numbers = new Map<string, number>();

  numberOf(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size + 1);
    return this.numbers.size;
  }
}

/** JSON of any store's answer. Fields keep the order they were written in, which is the same in every run. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_name, field: unknown) => (field instanceof Map ? [...field.values()] : field));
}
