import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { Dispatcher } from '../../../core/generation/run/dispatcher.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { settled } from '../../fixtures/clocks.js';
import { type Bounds, type Case, nothingSpent, type Request, type Spent } from './cases.js';
import { type Answer, serve } from './serve.js';
import { type Interned, type PendingCall, SmallProcess, stableJson, type Timer } from './small-process.js';
import { CALLER, LEAP_MS, SmallService } from './small-service.js';

/** A possible next event. Its name describes it, and identifies it in a replay. */
export interface Choice {
  readonly name: string;
  take(): Promise<void>;
}

/** A client with its REST process. `again`: the answer was to try again, or the process died during its request. */
interface Seat {
  readonly request: Request;
  readonly number: number;
  process: SmallProcess;
  context: Context;
  client: 'silent' | 'waiting' | 'answered' | 'again';
  incarnation: number;
}

const READS = /\.(?:read|due|holdsBefore|entries|list|findOperation)$/;
/** A timer that is due this soon is waited for, without a leap. */
const SOON_MS = 1_000;

/**
 * One run: two REST processes with a client each, and a worker, all in one small service. Between two choices
 * everything happens that needs no choice, so a run is the list of its choices.
 */
export class SmallRun {
  readonly service: SmallService;
  readonly spent: Spent = nothingSpent();
  readonly seats: readonly [Seat, Seat];
  readonly worker: SmallProcess;
  private readonly workerContext: Context;
  private readonly recovery: Recovery;
  private isRecovering = false;
  /** Disabled while known choices are repeated, because their observations are known, too. */
  isObserving = true;

  constructor(
    readonly setting: Case,
    private readonly bounds: Bounds,
    private readonly interned: Interned,
  ) {
    this.service = new SmallService(setting);
    this.seats = [this.seat('A', 0x0a, setting.requests[0]), this.seat('B', 0x0b, setting.requests[1])];
    this.worker = new SmallProcess('worker', 0x0c, this.service.time);
    this.workerContext = this.service.contextOf(this.worker);
    this.recovery = new Recovery(this.workerContext);
    this.service.witness.isOrphan = (generationId) =>
      !this.processes.some((process) => process.isAlive && process.hasMinted(generationId));
  }

  async open(): Promise<void> {
    await this.service.open(this.setting.credits);
    const dispatcher = new Dispatcher(this.workerContext, this.worker.name);
    await this.workerContext.wakeUps.start(({ id }) => dispatcher.deliver(id), 10);
    this.send(this.seats[0]);
    await settled();
  }

  get processes(): readonly SmallProcess[] {
    return [this.seats[0].process, this.seats[1].process, this.worker];
  }

  /** Every process waits only for time, or for an overdue timer: faults may stop at this moment. */
  get isQuiet(): boolean {
    return this.processes.every(({ pending }) => pending.length === 0);
  }

  /**
   * Whether both clients sent their requests, nothing failed, and no time has passed: then answers are as in a
   * textbook.
   */
  get isUndisturbed(): boolean {
    const { crashes, lost, leaps } = this.spent;
    return (
      crashes + lost + leaps === 0 && this.seats.every(({ client }) => client === 'answered' || client === 'again')
    );
  }

  async take(choice: Choice): Promise<void> {
    await choice.take();
    await settled();
    this.service.witness.throwViolation();
  }

  choices(): Choice[] {
    const choices: Choice[] = [];
    for (const process of this.processes) {
      for (const pending of process.pending) this.addCall(choices, process, pending);
      this.addTimers(choices, process);
      if (process.pending.length > 0)
        this.addWithin(choices, 'crashes', `${process.name} crashes`, async () => this.crash(process));
    }
    for (const seat of this.seats) this.addRequest(choices, seat);
    // Until time has advanced nothing is old enough for recovery: a pass would only read.
    if (this.spent.leaps > 0 && this.worker.isAlive && !this.isRecovering)
      this.addWithin(choices, 'recoveries', 'worker recovers', async () => this.recover());
    this.addWithin(choices, 'leaps', 'time leaps', async () => {
      this.service.time.now += LEAP_MS;
    });
    const soon = this.soon();
    if (soon !== undefined)
      choices.push({
        name: 'time ticks',
        take: async () => {
          this.service.time.now = soon;
        },
      });
    return choices;
  }

  private addCall(choices: Choice[], process: SmallProcess, pending: PendingCall): void {
    const name = `${process.name} ${pending.name}`;
    choices.push({ name, take: () => this.happen(process, pending, false) });
    if (pending.name === 'client.answer') return;
    const isRead = READS.test(pending.call.name);
    // A read has no effect to lose, and no caller waits for the answer of a schedule.
    if (!isRead && pending.call.name !== 'wakeUps.schedule')
      this.addWithin(choices, 'lost', `${name}, answer lost`, () => this.happen(process, pending, true));
    this.addWithin(choices, 'lost', `${name}, not reached`, async () => this.fail(process, pending));
  }

  private addTimers(choices: Choice[], process: SmallProcess): void {
    const counts = { 'core': 0, 'wake-ups': 0 };
    for (const timer of process.timers) {
      counts[timer.of] += 1;
      if (timer.at > this.service.time.now) continue;
      const name = `${process.name} timer of ${timer.of} #${counts[timer.of]}`;
      const take = async () => this.fire(process, timer);
      if (timer.of === 'core') choices.push({ name, take });
      else this.addWithin(choices, 'wakes', name, take);
    }
  }

  private addRequest(choices: Choice[], seat: Seat): void {
    const isKnown = seat.request.operation === 'create' || this.service.witness.told.has(seat.request.key);
    if (seat.client === 'silent' && isKnown)
      choices.push({ name: `${seat.process.name} is asked`, take: async () => this.send(seat) });
    if (seat.client === 'again')
      this.addWithin(choices, 'retries', `${seat.process.name} is asked again`, async () => this.send(seat));
  }

  private addWithin(choices: Choice[], what: keyof Spent, name: string, take: () => Promise<void>): void {
    if (this.spent[what] >= this.bounds[what]) return;
    choices.push({
      name,
      take: async () => {
        this.spent[what] += 1;
        await take();
      },
    });
  }

  /** The call takes effect, and its answer arrives or is lost: a late answer is equivalent to a late next call. */
  private async happen(process: SmallProcess, pending: PendingCall, isLost: boolean): Promise<void> {
    process.pending.splice(process.pending.indexOf(pending), 1);
    try {
      const answer = await pending.call.proceed();
      await this.service.witness.effect(process.name, pending.call, answer);
      if (isLost) throw new StoreUnavailable('The answer was lost.');
      this.observe(process, `${pending.name} ${this.isObserving ? stableJson(answer) : ''}`);
      pending.resolve(answer);
    } catch (error) {
      this.observe(process, `${pending.name} failed: ${String(error)}`);
      pending.reject(error as Error);
    }
  }

  private fail(process: SmallProcess, pending: PendingCall): void {
    process.pending.splice(process.pending.indexOf(pending), 1);
    this.observe(process, `${pending.name} was not reached`);
    pending.reject(new StoreUnavailable('The store was not reached.'));
  }

  private fire(process: SmallProcess, timer: Timer): void {
    // The effect of a process's wake-up timer depends on the table they share.
    this.observe(
      process,
      `timer ${timer.of} ${timer.at} ${process.timers.indexOf(timer)} ${timer.of === 'wake-ups' ? this.service.wakeUps() : ''}`,
    );
    process.drop(timer);
    timer.callback();
  }

  private crash(process: SmallProcess): void {
    process.crash();
    const seat = this.seats.find((one) => one.process === process);
    if (seat && seat.client === 'waiting') seat.client = 'again';
  }

  private send(seat: Seat): void {
    if (!seat.process.isAlive) this.restart(seat);
    seat.client = 'waiting';
    this.observe(seat.process, 'request');
    const { witness } = this.service;
    const { process } = seat;
    void serve(seat.context, CALLER, seat.request, witness.told.get(seat.request.key)).then((answer) =>
      process.interceptor({
        name: 'client.answer',
        args: [],
        proceed: async () => this.answer(seat, answer),
      }),
    );
  }

  private answer(seat: Seat, answer: Answer): void {
    this.service.witness.answered(seat.request, answer);
    seat.client = answer.outcome === 'refused' && answer.mayRetry ? 'again' : 'answered';
  }

  private recover(): void {
    this.isRecovering = true;
    this.observe(this.worker, 'recovery');
    void this.recovery
      .pass()
      .catch(() => undefined)
      .then(() => {
        this.isRecovering = false;
      });
  }

  private soon(): number | undefined {
    const { now } = this.service.time;
    const coming = this.processes
      .flatMap(({ timers }) => timers.map(({ at }) => at))
      .filter((at) => at > now && at <= now + SOON_MS);
    return coming.length === 0 ? undefined : Math.min(...coming);
  }

  private observe(process: SmallProcess, text: string): void {
    if (this.isObserving)
      process.observed = this.interned.numberOf(
        `${process.observed} ${this.service.time.now} ${this.interned.numberOf(text)}`,
      );
  }

  private seat(name: string, number: number, request: Request): Seat {
    const process = new SmallProcess(name, number, this.service.time);
    return { request, number, process, context: this.service.contextOf(process), client: 'silent', incarnation: 1 };
  }

  private restart(seat: Seat): void {
    seat.incarnation += 1;
    seat.process = new SmallProcess(
      `${seat.process.name.slice(0, 1)}${seat.incarnation}`,
      seat.number + 16 * seat.incarnation,
      this.service.time,
    );
    seat.context = this.service.contextOf(seat.process);
  }
}
