import type { Boot } from '../boot.js';
import type { Generation } from '../generation/generation.js';
import type { Log } from '../log.js';
import type { Ports } from '../ports/ports.js';
import { boundedWaitMs, type Settings } from '../settings.js';
import { momentOf, OwnShare, type RenewalOptions, ShareRenewals } from './provider-shares.js';
import type { ProviderFailure } from './provider-report.js';
import {
  type Moment,
  type ProviderFault,
  type ProviderHealth,
  type ProviderLimits,
  SHARE_MS,
  type ShareRequest,
} from './provider-use.js';

/**
 * Controls the use of providers by the runs of one process: within the limits that all processes share, and as long as
 * a provider seems to work.
 */
export class ProviderGates {
  readonly missing: MissingProviders;
  /** Whether the tasks of earlier processes are counted. Only with exclusive stores are they known. */
  private hasCounted: boolean;
  private readonly gates = new Map<string, InstanceGate>();
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly ports: Needs) {
    this.missing = new MissingProviders(ports);
    this.hasCounted = !ports.boot.isExclusive;
  }

  /** The providers that were used. */
  get seen(): readonly SeenProvider[] {
    return [...this.gates].map(([provider, { health, tasks, waiters: waiting, slots }]) => ({
      provider,
      tasks,
      waiting,
      slots,
      ...health,
    }));
  }

  /** Calls `listener` whenever a provider may have room again. */
  onRoom(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** An entry at the first one of these providers that has room; undefined if none has, or an earlier one may soon. */
  enter(providers: readonly string[]): Entry | undefined {
    for (const provider of providers) {
      const gate = this.gate(provider);
      const entry = gate.enter();
      if (entry !== undefined) return entry;
      if (gate.mayHaveRoom) return undefined;
    }
    return undefined;
  }

  /** For a run whose task is at the provider already, or that submits nothing. */
  adopt(provider: string): Entry {
    return this.gate(provider).adopt();
  }

  /**
   * The tasks that earlier processes left at providers with `maxConcurrent` are adopted. Before that, a process with exclusive
   * stores submits nothing there.
   */
  counted(): void {
    this.hasCounted = true;
    for (const gate of this.gates.values()) gate.counted();
  }

  /** Sets how many would enter each provider if it had room, and requests room for them. */
  waitFor(counts: ReadonlyMap<string, number>): void {
    for (const [provider, gate] of this.gates) if (!counts.has(provider)) gate.wait(0);
    for (const [provider, count] of counts) this.gate(provider).wait(count);
  }

  /** Gives the shares of this process back to the others, but for what its tasks use. Never throws. */
  async leave(): Promise<void> {
    await Promise.all([...this.gates.values()].map((gate) => gate.leave()));
  }

  /** Publishes what this process has seen. Never throws. */
  async report(): Promise<void> {
    await Promise.all([...this.gates.values()].map((gate) => gate.report()));
  }

  private gate(provider: string): InstanceGate {
    let gate = this.gates.get(provider);
    if (gate === undefined) {
      gate = new InstanceGate(this.ports, {
        provider,
        worker: this.ports.boot.id,
        isExclusive: this.ports.boot.isExclusive,
        hasCounted: () => this.hasCounted,
        longestCallMs: () => this.longestCallMs(provider),
        onChange: () => this.listeners.forEach((listener) => listener()),
      });
      this.gates.set(provider, gate);
    }
    return gate;
  }

  /** A submission that is answered with outputs takes as long as a run may. */
  private longestCallMs(provider: string): number {
    const { catalog, providers, settings } = this.ports;
    const connected = providers.find(provider);
    const submits = catalog.models().flatMap(({ route, runTimeoutMs }) => {
      const entry = route.find((one) => one.provider === provider);
      return entry !== undefined && connected?.capabilities(entry.settings).answersWithOutputs === true
        ? [runTimeoutMs]
        : [];
    });
    return Math.max(settings.providerCallMs, ...submits);
  }
}

/** The right of one run to work at a provider. */
export interface Entry {
  readonly provider: string;
  /** Whether it has a slot and a submission now; it requests what it lacks. */
  maySubmit(): boolean;
  /**
   * Called when a submission starts, right after `maySubmit` returned true. One that never starts is given back with
   * the entry.
   */
  submitting(): void;
  /** Reports the result of a call; `submitMs` is the duration of an accepted submission. */
  answered(submitMs?: number): void;
  failed(error: unknown): void;
  full(failure: ProviderFailure): void;
  /** Gives it back. Giving it back again does nothing. */
  release(): void;
}

/** One process's view of one provider. */
export interface SeenProvider extends ProviderHealth {
  readonly provider: string;
  readonly tasks: number;
  /** Runs that wait for it, or for another provider of their routes. */
  readonly waiting: number;
  /** Tasks that this process may have there; undefined without a limit. */
  readonly slots: number | undefined;
}

interface Needs extends Pick<Ports, 'providerUses' | 'clock' | 'providers' | 'catalog'> {
  readonly settings: Settings;
  readonly log: Log;
  readonly boot: Boot;
}

/** How often a worker that waits for a slot requests one, in milliseconds. */
const ASK_AGAIN_MS = 1_000;
/** How often a share is renewed while it is used, in milliseconds. */
const RENEW_MS = SHARE_MS / 3;
/** How long a worker whose renewals others overtook waits before it tries again, in milliseconds. */
const OVERTAKEN_MS = 100;
/** After a pause, one that is not refused within this time, in milliseconds, was most likely taken. */
const TRY_MS = 5_000;

/** One process's access to a connected provider, and its view of that provider. */
class InstanceGate {
  readonly circuit = new Circuit();
  private inUse = 0;
  private waiting = 0;
  /** One that tries whether the provider works again, and until when the others wait for it, by the monotonic clock. */
  private trying: { readonly until: number; readonly holder: object } | undefined;
  private readonly share = new OwnShare();
  private readonly renewals: ShareRenewals;
  private readonly limits: ProviderLimits;
  private readonly isLimited: boolean;
  private renewal: Promise<boolean> | undefined;
  private hasLeft = false;
  private cancelTimer: (() => void) | undefined;
  private cancelLook: (() => void) | undefined;

  constructor(
    private readonly ports: Needs,
    private readonly options: InstanceGateOptions,
  ) {
    this.renewals = new ShareRenewals(ports, options);
    this.limits = ports.providers.limits(options.provider);
    this.isLimited = (this.limits.maxConcurrent ?? this.limits.maxSubmissionsPerMinute) !== undefined;
  }

  get health(): ProviderHealth {
    return this.circuit.health(this.moment);
  }

  get tasks(): number {
    return this.inUse;
  }

  /** How many wait here; some of them may get into another provider. */
  get waiters(): number {
    return this.waiting;
  }

  /** Tasks that this process may have at the provider now; undefined without a limit. */
  get slots(): number | undefined {
    if (this.limits.maxConcurrent === undefined) return undefined;
    return this.isCurrent() ? this.share.slots : 0;
  }

  /** An entry with a slot and a submission, if there is one and the provider seems to work. */
  enter(): Entry | undefined {
    const holder = {};
    if (!this.isOpen()) return undefined;
    if (this.isLimited && !this.share.take(holder, this.inUse, this.moment)) {
      // A share may have lapsed while the provider was paused.
      this.renewAfter(this.isCurrent() ? ASK_AGAIN_MS : 0);
      return undefined;
    }
    if (this.circuit.isDoubtful) this.trying = { holder, until: this.moment.monotonic + TRY_MS };
    return this.entryOf(holder);
  }

  /** Whether it may have room, once this process has requested more than it has: then the next provider has to wait. */
  get mayHaveRoom(): boolean {
    if (!this.isLimited || !this.isOpen()) return false;
    return this.share.mayGrow(this.inUse, this.moment);
  }

  /** An entry for a task that is at the provider already, though the limit may be exceeded. */
  adopt(): Entry {
    const holder = {};
    // If processes share the provider, the slot of a task that was taken over is in the share of its previous worker.
    if (this.options.isExclusive) this.share.occupy(holder);
    return this.entryOf(holder);
  }

  private entryOf(holder: object): Entry {
    this.inUse += 1;
    if (this.isLimited) this.renewAfter(RENEW_MS);
    let isReleased = false;
    return {
      provider: this.options.provider,
      maySubmit: () => this.maySubmit(holder),
      submitting: () => this.share.submitting(holder),
      answered: (submitMs) => this.answered(holder, submitMs),
      failed: (error) => this.failed(holder, error),
      full: (failure) => this.full(holder, failure),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.release(holder);
      },
    };
  }

  /**
   * Whether the holder, which was let in or adopted, may submit now; requests what it lacks. A slot or submission from
   * when it was let in may have lapsed since.
   */
  private maySubmit(holder: object): boolean {
    if (!this.isLimited || this.share.maySubmit(holder, this.moment)) return true;
    this.renew();
    return false;
  }

  private release(holder: object): void {
    this.inUse -= 1;
    this.share.release(holder);
    this.tried(holder);
    // A slot that another worker lacks is given back before it is used again.
    if (this.share.isShort) this.renew();
    else this.options.onChange();
  }

  /** The holder's submission had an answer, or none. */
  private tried(holder: object): void {
    if (this.trying?.holder === holder) this.trying = undefined;
  }

  /** A call of the holder was not answered. */
  private failed(holder: object, error: unknown): void {
    this.circuit.failed(this.moment, error);
    this.tried(holder);
  }

  /** The holder's task was refused for lack of capacity. */
  private full(holder: object, { message, retryAfterMs }: ProviderFailure): void {
    this.circuit.full(this.moment, { message, retryAfterMs, capMs: this.ports.settings.retryAfterCapMs });
    this.tried(holder);
  }

  /** A call of the holder was answered; `submitMs` of a submission that was taken. */
  private answered(holder: object, submitMs?: number): void {
    this.circuit.answered(this.moment, submitMs);
    if (submitMs === undefined) return;
    this.tried(holder);
    this.options.onChange();
  }

  /** How many wait for this provider. */
  wait(count: number): void {
    const hasMore = count > this.waiting;
    this.waiting = count;
    if (hasMore && this.isLimited && this.isOpen()) this.renew();
    // Those who wait look again when a pause is over.
    this.cancelLook?.();
    this.cancelLook = undefined;
    const waitMs = this.opensInMs();
    if (count === 0 || waitMs <= 0 || this.hasLeft) return;
    this.cancelLook = this.ports.clock.after(waitMs, () => this.options.onChange());
  }

  /** The tasks of earlier processes are counted now. */
  counted(): void {
    if (this.isLimited && this.waiting + this.inUse > 0) this.renew();
  }

  /** Publishes what this process sees, and its share. Never throws. */
  async report(): Promise<void> {
    if (this.hasToCount()) return;
    await this.renewal;
    await this.once();
  }

  /** Gives back what is not used, and stops renewing. Never throws. */
  async leave(): Promise<void> {
    this.hasLeft = true;
    this.cancelTimer?.();
    this.cancelLook?.();
    await this.renewal;
    if (this.isLimited) await this.report();
  }

  private get moment(): Moment {
    return momentOf(this.ports.clock);
  }

  private isOpen(): boolean {
    return this.opensInMs() <= 0;
  }

  /** How soon one may submit; while one tries whether the provider works again, when the others need wait no longer. */
  private opensInMs(): number {
    return Math.max(this.circuit.opensAt, this.trying?.until ?? -Infinity) - this.moment.monotonic;
  }

  private isCurrent(): boolean {
    return this.share.isCurrent(this.moment);
  }

  private renewAfter(ms: number): void {
    if (this.hasLeft) return;
    this.cancelTimer ??= this.ports.clock.after(ms, () => {
      this.cancelTimer = undefined;
      this.renew();
    });
  }

  /** Without a bound on tasks at once nothing depends on those of earlier processes. */
  private hasToCount(): boolean {
    return this.limits.maxConcurrent !== undefined && !this.options.hasCounted();
  }

  /** Renews the share, one renewal at a time, and again for as long as it is used or waited for. */
  private renew(): void {
    if (this.hasLeft || this.renewal !== undefined || this.hasToCount()) return;
    void this.once().then((isWritten) => {
      // Somebody came while it was written.
      if (this.waiting > this.share.waiting && this.isCurrent()) this.renewAfter(isWritten ? 0 : OVERTAKEN_MS);
      else if (this.waiting > 0) this.renewAfter(ASK_AGAIN_MS);
      else if (this.inUse > 0 || this.share.slots > 0) this.renewAfter(RENEW_MS);
    });
  }

  /** One write at a time: an older answer must not replace a newer one. Whether it was written; never throws. */
  private once(): Promise<boolean> {
    this.renewal ??= this.write()
      .catch((error: unknown) => {
        this.warn(error);
        // Nothing may be used that is not known to be ours; the model's next provider need not wait for that.
        if (!this.isCurrent()) this.share.lose(later(this.moment, ASK_AGAIN_MS));
        return false;
      })
      .finally(() => {
        this.renewal = undefined;
        if (!this.hasLeft) this.options.onChange();
      });
    return this.renewal;
  }

  private async write(): Promise<boolean> {
    const renewed = await this.renewals.renew(
      this.limits,
      (at) => this.request(at),
      (slots) => this.share.lowerTo(slots),
    );
    if (renewed === undefined) return false;
    const { at, given, request } = renewed;
    const { slots, submissions, isShort, isDry } = given;
    const { wanted, inUse } = request;
    const waiting = wanted - inUse;
    this.share.renew({ slots, submissions, wanted, waiting, isShort, isDry, expiresAt: later(at, SHARE_MS) }, at);
    return true;
  }

  private request(at: Moment): ShareRequest {
    const { inUse, waiting, health } = this;
    const { lacking: again } = this.share;
    const left = this.share.submissions(at);
    const { worker } = this.options;
    return { worker, inUse, wanted: inUse + waiting, again, left, isPaused: !this.isOpen(), health };
  }

  private warn(error: unknown): void {
    const { provider } = this.options;
    this.ports.log.warn('use of a provider not shared', { provider, error });
  }
}

interface InstanceGateOptions extends RenewalOptions {
  /** Whether the tasks that earlier processes left at the provider are counted: until then, there may be as many as are allowed. */
  readonly hasCounted: () => boolean;
  /** Called when there may be room for somebody who waits. */
  readonly onChange: () => void;
}

function later({ wall, monotonic }: Moment, byMs: number): Moment {
  return { wall: wall + byMs, monotonic: monotonic + byMs };
}

/** So many calls in a row without an answer pause a provider. */
const MAX_FAILURES = 5;
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const REMEMBERED_TIMES = 32;

/**
 * One process's view of a provider: whether it responds, has capacity, and how long it takes. After a pause one task at
 * a time is submitted, until one is taken.
 */
class Circuit {
  private failures = 0;
  private refusals = 0;
  /** Until when it is paused because it did not answer, and because it was full, by the monotonic clock. */
  private silentUntil = -Infinity;
  private crowdedUntil = -Infinity;
  private lastError: ProviderHealth['lastError'];
  private lastCallAt: number | undefined;
  /** When the first of the failures, and of the refusals, was. */
  private failingSince = 0;
  private refusedSince = 0;
  private readonly submitTimes: number[] = [];

  /** When something may be submitted again, by the monotonic clock; a time that has passed when it may be at once. */
  get opensAt(): number {
    return Math.max(this.silentUntil, this.crowdedUntil);
  }

  /** Whether only one task may be submitted, to see whether the provider works again. */
  get isDoubtful(): boolean {
    return this.failures >= MAX_FAILURES || this.refusals > 0;
  }

  /** A call was answered; `submitMs` of a submission that was taken. */
  answered({ wall }: Moment, submitMs?: number): void {
    this.lastCallAt = wall;
    this.failures = 0;
    if (submitMs === undefined) return;
    this.refusals = 0;
    this.submitTimes.push(submitMs);
    if (this.submitTimes.length > REMEMBERED_TIMES) this.submitTimes.shift();
  }

  failed({ wall, monotonic }: Moment, error: unknown): void {
    this.lastCallAt = wall;
    this.lastError = { at: wall, message: messageOf(error) };
    // A call that was under way when the pause started carries no new information.
    if (this.silentUntil > monotonic) return;
    if (this.failures === 0) this.failingSince = wall;
    this.failures += 1;
    if (this.failures >= MAX_FAILURES) this.silentUntil = monotonic + pauseMs(this.failures - MAX_FAILURES);
  }

  /** A task was refused for lack of capacity. */
  full({ wall, monotonic }: Moment, { message, retryAfterMs, capMs }: Full): void {
    this.failures = 0;
    this.lastCallAt = wall;
    this.lastError = { at: wall, message };
    if (this.refusals === 0) this.refusedSince = wall;
    const waitMs = Math.max(pauseMs(this.refusals), boundedWaitMs(retryAfterMs, 0, capMs));
    this.crowdedUntil = Math.max(this.crowdedUntil, monotonic + waitMs);
    this.refusals += 1;
  }

  /** For operators, with the end of a pause by the wall clock. */
  health({ wall, monotonic }: Moment): ProviderHealth {
    const pausedMs = this.opensAt - monotonic;
    const circuit = pausedMs > 0 ? 'paused' : this.isDoubtful ? 'trying' : 'closed';
    return {
      circuit,
      ...(pausedMs > 0 ? { pausedUntil: wall + pausedMs } : {}),
      ...(this.lastError === undefined ? {} : { lastError: this.lastError }),
      ...(this.submitTimes.length === 0 ? {} : { medianSubmitMs: medianOf(this.submitTimes) }),
      ...(circuit === 'closed' ? {} : { fault: this.fault }),
      ...(this.lastCallAt === undefined ? {} : { lastCallAt: this.lastCallAt }),
    };
  }

  private get fault(): ProviderFault {
    if (this.failures >= MAX_FAILURES || this.refusals === 0)
      return { kind: 'silent', count: this.failures, since: this.failingSince };
    return { kind: 'full', count: this.refusals, since: this.refusedSince };
  }
}

function pauseMs(times: number): number {
  return Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** Math.min(times, 10));
}

interface Full {
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** The longest wait that it may ask for. */
  readonly capMs: number;
}

const MAX_MESSAGE = 300;

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MAX_MESSAGE);
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

/** How often tasks of one model at one provider are warned of, in milliseconds. */
const WARN_AGAIN_MS = 60_000;

/** Warns of tasks at providers that this process cannot ask, as a catalog or a configuration without them is in use. */
export class MissingProviders {
  private readonly warnedAt = new Map<string, number>();

  constructor(private readonly ports: Pick<Ports, 'catalog' | 'clock' | 'providers'> & { readonly log: Log }) {}

  /** Does nothing for a generation without a task at a provider, and where it has warned of such a one just now. */
  found({ generationId, modelKey, attempt }: Generation): void {
    if (attempt === undefined) return;
    const { clock, log } = this.ports;
    const { provider } = attempt;
    const key = `${modelKey} ${provider ?? ''}`;
    const now = clock.monotonic();
    if (now - (this.warnedAt.get(key) ?? -Infinity) < WARN_AGAIN_MS) return;
    this.warnedAt.set(key, now);
    log.warn('provider of a task missing', {
      generationId,
      model: modelKey,
      ...(provider === undefined ? {} : { provider }),
      missingIn: this.missingIn(modelKey, provider),
    });
  }

  private missingIn(modelKey: string, provider: string | undefined): 'configuration' | 'catalog' | 'route' {
    const { catalog, providers } = this.ports;
    if (provider !== undefined && providers.find(provider) === undefined) return 'configuration';
    return catalog.find(modelKey) === undefined ? 'catalog' : 'route';
  }
}
