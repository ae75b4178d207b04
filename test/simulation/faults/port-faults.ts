import { StoreUnavailable } from '../../../core/errors.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import type { WakeUps, WakeUpSubject } from '../../../core/ports/wake-ups.js';
import type { MemoryObjectStore } from '../../adapters/memory/object-store.js';
import type { MemoryWakeUps } from '../../adapters/memory/wake-ups.js';
import { collected, streamOf } from '../../fixtures/byte-streams.js';
import type { PortCall } from '../../fixtures/intercepted.js';
import { stepsOf } from '../../fixtures/stored-records.js';
import type { RunContext } from '../harness/run-context.js';
import { brief } from '../harness/scheduler.js';
import { SIMULATED_SETTLE_MS } from '../harness/settle-time.js';
import type { SimulatedProcess } from '../harness/simulated-process.js';
import { CALL_FAULTS, type CallFault, NO_FAULTS } from './fault-profile.js';

const SLEEP_MS = { least: 9_000, most: 40_000 };
/** Sleeps longer than any lease end within this. */
const LATEST_EFFECT_MS = 45_000;

/** A planned fault for a call by name, and its duration: the sleep, or the delay of the effect. */
export interface Planned {
  readonly fault: CallFault;
  readonly forMs: number;
  /** The process that makes the call; absent means any. */
  readonly by?: string;
  /** The number of calls to spare first. */
  readonly skip?: number;
}

/** The outcome of one call; chance decides the duration if nothing else does. */
interface Fate {
  readonly fault: CallFault | undefined;
  readonly forMs: number | undefined;
}

/**
 * The route between a process and the stores: a call takes time to arrive, does its work at one moment, and its answer
 * takes time to return. In either direction it may be lost, be late, or find its process dead.
 */
export class PortFaults {
  private readonly awayUntil = new Map<string, number>();
  private readonly planned = new Map<string, Planned>();

  constructor(private readonly context: RunContext) {}

  /** Makes a port unreachable for this long, unless faults stop before. */
  sendAway(port: string, forMs: number): void {
    const { scheduler, timeline } = this.context;
    this.awayUntil.set(port, scheduler.now + forMs);
    timeline.note(scheduler.now, port, () => `! away for ${forMs} ms`);
  }

  /** Applies to the next call of that name, by the named process or by any. */
  plan(name: string, planned: Planned): void {
    this.planned.set(name, planned);
  }

  forgetPlans(): void {
    this.planned.clear();
  }

  call(process: SimulatedProcess, call: PortCall): Promise<unknown> {
    if (!process.isAlive) return never();
    const { scheduler, timeline } = this.context;
    if (call.name.startsWith('provider.')) this.announce(process, call);
    const planned = this.planFor(call.name, process.name);
    const fault = planned?.fault ?? this.draw(call.name);
    if (fault !== undefined) timeline.note(scheduler.now, process.name, () => `! ${fault} at ${call.name}`);
    if (fault === 'crashBefore') {
      this.context.kill(process);
      return never();
    }
    return new Promise((resolve, reject) =>
      this.carry(process, call, { fault, forMs: planned?.forMs }, resolve, reject),
    );
  }

  private planFor(name: string, process: string): Planned | undefined {
    const planned = this.planned.get(name);
    if (planned?.by !== undefined && planned.by !== process) return undefined;
    this.planned.delete(name);
    if (planned?.skip === undefined || planned.skip === 0) return planned;
    this.planned.set(name, { ...planned, skip: planned.skip - 1 });
    return undefined;
  }

  /** A violation in the call must not reach core as if the call had failed. */
  private announce(process: SimulatedProcess, { name, args }: PortCall): void {
    const { scheduler, observer } = this.context;
    try {
      observer.calling({ at: scheduler.now, process: process.name, processNow: process.clock.now(), call: name, args });
    } catch (error) {
      scheduler.fail(error);
    }
  }

  private carry(
    process: SimulatedProcess,
    call: PortCall,
    fate: Fate,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void,
  ): void {
    const { scheduler, chance } = this.context;
    const { fault } = fate;
    const slowLeg = fault === 'slow' && fate.forMs === undefined ? chance.pick(['there', 'back']) : 'none';
    const answer = (settle: () => void) => scheduler.after(this.legMs(slowLeg === 'back'), settle, process);
    if (fault === 'lostRequest' || fault === 'lateEffect') answer(() => reject(away(call.name)));
    if (fault === 'lostRequest') return;

    const delayMs = this.arrivalOf(call.name, this.delayOf(fate, slowLeg === 'there'));
    const isDropped = chance.happens(500);
    scheduler.after(delayMs, () => {
      if (!process.isAlive && isDropped) return;
      this.takeEffect(process, call).then(
        (outcome) => {
          if (fault === 'lateEffect') return;
          if (fault === 'sleepAfter')
            process.asleepUntil = scheduler.now + (fate.forMs ?? chance.between(SLEEP_MS.least, SLEEP_MS.most));
          if (fault === 'crashAfter') this.context.kill(process);
          else if (fault === 'lostAnswer') answer(() => reject(away(call.name)));
          else if ('error' in outcome) answer(() => reject(outcome.error));
          else answer(() => resolve(outcome.result));
        },
        (error: unknown) => scheduler.fail(error),
      );
    });
  }

  /** A provider's guarantees about a submission in transit hold whatever happens to it. */
  private arrivalOf(name: string, delayMs: number): number {
    return name === 'provider.submit' ? Math.min(delayMs, SIMULATED_SETTLE_MS - 1) : delayMs;
  }

  private delayOf({ fault, forMs }: Fate, isSlow: boolean): number {
    if (fault === 'slow' && forMs !== undefined) return forMs;
    return fault === 'lateEffect' ? (forMs ?? this.context.chance.between(100, LATEST_EFFECT_MS)) : this.legMs(isSlow);
  }

  private async takeEffect(
    process: SimulatedProcess,
    call: PortCall,
  ): Promise<{ readonly result: unknown } | { readonly error: Error }> {
    const { scheduler, observer, timeline } = this.context;
    let result: unknown;
    try {
      result = await call.proceed();
    } catch (error) {
      timeline.note(scheduler.now, process.name, () => `${call.name} ${brief(call.args)} threw ${brief(error)}`);
      return { error: error instanceof Error ? error : new Error(String(error)) };
    }
    timeline.note(scheduler.now, process.name, () => `${call.name} ${brief(call.args)} -> ${brief(result)}`);
    for (const { name, ...step } of stepsOf({ name: call.name, args: call.args, result })) {
      await observer.effect({
        at: scheduler.now,
        process: process.name,
        processNow: process.clock.now(),
        call: name,
        ...step,
      });
    }
    return { result };
  }

  private draw(name: string): CallFault | undefined {
    const { profile, chance, tally } = this.context;
    tally.add(`call ${name}`);
    const focused = profile.focus.get(name);
    let fault = focused !== undefined && chance.happens(profile.focusPerMille) ? focused : undefined;
    for (const each of CALL_FAULTS) fault ??= chance.happens(profile.odds[each]) ? each : undefined;
    if (
      profile !== NO_FAULTS &&
      (this.awayUntil.get(name.slice(0, name.indexOf('.'))) ?? 0) > this.context.scheduler.now
    )
      fault ??= 'lostRequest';
    if (fault !== undefined) tally.add(`fault ${fault} ${name}`);
    return fault;
  }

  private legMs(isSlow: boolean): number {
    const { profile, chance } = this.context;
    return isSlow ? chance.between(profile.latencyMs, profile.slowMs) : chance.skewed(profile.latencyMs);
  }
}

/** The error for the caller of a store; a provider's caller gets just some error. */
function away(name: string): Error {
  return name.startsWith('provider.')
    ? new Error('The line to the provider broke.')
    : new StoreUnavailable(`No answer to ${name}.`);
}

export function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** An object store that sometimes stores less than it was given, returns less than it stores, or loses an object. */
export class FaultyObjects implements ObjectStore {
  private readonly keys = new Set<string>();
  readonly signPut: ObjectStore['signPut'];
  readonly signGet: ObjectStore['signGet'];
  readonly stat: ObjectStore['stat'];

  constructor(
    private readonly store: MemoryObjectStore,
    private readonly context: RunContext,
  ) {
    this.signPut = (target) => store.signPut(target);
    this.signGet = (target) => store.signGet(target);
    this.stat = (key) => store.stat(key);
  }

  /** Loses a random object for good. */
  async loseOne(): Promise<void> {
    if (this.keys.size === 0) return;
    const key = this.context.chance.pick([...this.keys]);
    this.context.tally.add('object lost');
    this.context.timeline.note(this.context.scheduler.now, 'objects', () => `! loses ${key}`);
    this.context.observer.spoiled(key);
    await this.remove(key);
  }

  /** A client's bytes have arrived under this key. */
  arrived(key: string): Promise<void> {
    return this.keep(key, 'object PUT cut short');
  }

  async read(key: string, range?: Parameters<ObjectStore['read']>[1]): Promise<AsyncIterable<Uint8Array> | null> {
    const bytes = await this.store.read(key, range);
    if (bytes === null) return null;
    if (this.strikes('object read breaks')) return broken(bytes);
    return this.strikes('object read cut short') ? streamOf(cutShort(await collected(bytes))) : bytes;
  }

  async write(...[key, bytes, limit]: Parameters<ObjectStore['write']>): ReturnType<ObjectStore['write']> {
    const written = await this.store.write(key, bytes, limit);
    if (written !== 'too-large') await this.keep(key, 'object write cut short');
    return written;
  }

  async copy(from: string, to: string, ifEtag: string): ReturnType<ObjectStore['copy']> {
    const copied = await this.store.copy(from, to, ifEtag);
    if (copied === 'copied') await this.keep(to, 'object copy cut short');
    return copied;
  }

  remove(key: string): Promise<void> {
    this.keys.delete(key);
    return this.store.remove(key);
  }

  private async keep(key: string, fault: string): Promise<void> {
    this.keys.add(key);
    if (!this.strikes(fault)) return;
    const bytes = await this.store.read(key);
    if (bytes === null) return;
    await this.store.write(key, streamOf(cutShort(await collected(bytes))), {
      mediaType: 'application/octet-stream',
      maxBytes: Infinity,
    });
  }

  private strikes(fault: string): boolean {
    const { profile, chance, tally, scheduler, timeline } = this.context;
    if (!chance.happens(profile.objectPerMille)) return false;
    tally.add(fault);
    timeline.note(scheduler.now, 'objects', () => `! ${fault}`);
    return true;
  }
}

/** Keeps enough that it still looks like the original. */
function cutShort(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.byteLength - Math.min(8, bytes.byteLength >> 1));
}

async function* broken(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    yield cutShort(chunk);
    break;
  }
  throw new StoreUnavailable('The line to the object store broke.');
}

const LATEST_MS = 60_000;

type Handler = Parameters<WakeUps['start']>[0];

/** Wake-ups of one process that may get lost, arrive late or arrive more than once. */
export class FaultyWakeUps implements WakeUps {
  readonly stop: WakeUps['stop'];

  constructor(
    private readonly wakeUps: MemoryWakeUps,
    private readonly context: RunContext,
    private readonly onStart: (deliver: Handler) => void,
    private readonly service: { readonly processes: readonly SimulatedProcess[]; wakeUpsToLose: number },
  ) {
    this.stop = () => wakeUps.stop();
  }

  async schedule(subject: WakeUpSubject, at: number): Promise<void> {
    const { profile, chance, tally } = this.context;
    if (this.service.wakeUpsToLose > 0) {
      this.service.wakeUpsToLose -= 1;
      return;
    }
    if (!chance.happens(profile.wakeUpPerMille)) return this.wakeUps.schedule(subject, at);
    const fate = chance.pick(['lost', 'late', 'twice'] as const);
    tally.add(`wake-up ${fate}`);
    if (fate === 'late') return this.wakeUps.schedule(subject, at + chance.between(1, LATEST_MS));
    if (fate === 'lost') return;
    await this.wakeUps.schedule(subject, at);
    for (let times = chance.between(1, 3); times > 0; times -= 1) this.deliverAgain(subject);
  }

  /** To any process, now or later: to one that has it already, or to two at once. */
  private deliverAgain(subject: WakeUpSubject): void {
    const { scheduler, chance } = this.context;
    scheduler.after(chance.skewed(LATEST_MS), () => {
      const process = chance.pick(this.service.processes);
      // The delivery of the first one reports the outcome.
      if (process.isAlive) process.deliver?.(subject).catch(() => undefined);
    });
  }

  start(handler: Handler, limit: number): Promise<void> {
    this.onStart(handler);
    return this.wakeUps.start(handler, limit);
  }
}
