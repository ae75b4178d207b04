import type { Log } from '../log.js';
import type { ProviderFailure } from '../ports/provider.js';
import type { Ports } from '../ports/tokens.js';
import type { Settings } from '../settings.js';
import { Circuit } from './circuit.js';
import { OwnShare } from './own-share.js';
import { SHARE_MS, type Moment, type ProviderHealth, type ProviderLimits, type ShareRequest } from './provider-use.js';
import { momentOf, ShareRenewals, type RenewalOptions } from './share-renewals.js';

/** What a gate works with. */
export interface GateNeeds extends Pick<Ports, 'providerUses' | 'clock'> {
  readonly settings: Settings;
  readonly log: Log;
}

/** How often a worker that waits for a slot asks for one, in milliseconds. */
const ASK_AGAIN_MS = 1_000;
/** How often a share is renewed while it is used, in milliseconds. */
const RENEW_MS = SHARE_MS / 3;
/** How long a worker whose renewals others overtook waits before it tries again, in milliseconds. */
const OVERTAKEN_MS = 100;
/** After a pause, one that is not refused within this time, in milliseconds, was most likely taken. */
const TRY_MS = 5_000;

export interface InstanceGateOptions extends RenewalOptions {
  /** Whether the tasks that earlier processes left at the provider are counted: until then, there may be as many as are allowed. */
  readonly hasCounted: () => boolean;
  readonly limits: () => ProviderLimits;
  /** Called when there may be room for somebody who waits. */
  readonly onChange: () => void;
}

/** What one process may do at one connected provider, and what it has seen of it. */
export class InstanceGate {
  readonly circuit = new Circuit();
  private inUse = 0;
  private waiting = 0;
  /** One that tries whether the provider works again, and until when the others wait for it, by the monotonic clock. */
  private trying: { readonly until: number; readonly holder: object } | undefined;
  private readonly share = new OwnShare();
  private readonly renewals: ShareRenewals;
  private renewal: Promise<boolean> | undefined;
  private hasLeft = false;
  private cancelTimer: (() => void) | undefined;
  private cancelLook: (() => void) | undefined;

  constructor(
    private readonly ports: GateNeeds,
    private readonly options: InstanceGateOptions,
  ) {
    this.renewals = new ShareRenewals(ports, options);
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
    if (this.options.limits().maxConcurrent === undefined) return undefined;
    return this.isCurrent() ? this.share.slots : 0;
  }

  /** Takes a slot and a submission for `holder`, if there is one and the provider seems to work. */
  take(holder: object): boolean {
    if (!this.isOpen()) return false;
    if (this.isLimited() && !this.share.take(holder, this.inUse, this.moment)) {
      // A share may have lapsed while the provider was paused.
      this.renewAfter(this.isCurrent() ? ASK_AGAIN_MS : 0);
      return false;
    }
    if (this.circuit.isDoubtful) this.trying = { holder, until: this.moment.monotonic + TRY_MS };
    this.inUse += 1;
    this.beatLater();
    return true;
  }

  /** Whether it may have room, once this process has asked for more than it has: then the next provider has to wait. */
  get mayHaveRoom(): boolean {
    if (!this.isLimited() || !this.isOpen()) return false;
    return this.share.mayGrow(this.inUse, this.moment);
  }

  /** Counts the holder's task, which is at the provider already, though the limit may be exceeded. */
  adopt(holder: object): void {
    this.inUse += 1;
    // Where processes share the provider, the slot of a task that was taken over is in the share that its worker has left.
    if (this.options.isExclusive) this.share.occupy(holder);
    this.beatLater();
  }

  /**
   * Whether the holder, which was let in or adopted, may submit now; asks for what it lacks. What it was given when it was
   * let in may have lapsed since.
   */
  maySubmit(holder: object): boolean {
    if (!this.isLimited() || this.share.maySubmit(holder, this.moment)) return true;
    this.renew();
    return false;
  }

  /** A submission of the holder begins. */
  submitting(holder: object): void {
    this.share.submitting(holder);
  }

  release(holder: object): void {
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
  failed(holder: object, error: unknown): void {
    this.circuit.failed(this.moment, error);
    this.tried(holder);
  }

  /** The holder's task was refused for lack of capacity. */
  full(holder: object, { message, retryAfterMs }: ProviderFailure): void {
    this.circuit.full(this.moment, { message, retryAfterMs, capMs: this.ports.settings.retryAfterCapMs });
    this.tried(holder);
  }

  /** A call of the holder was answered; `submitMs` of a submission that was taken. */
  answered(holder: object, submitMs?: number): void {
    this.circuit.answered(submitMs);
    if (submitMs === undefined) return;
    this.tried(holder);
    this.options.onChange();
  }

  /** How many wait for this provider. */
  wait(count: number): void {
    const hasMore = count > this.waiting;
    this.waiting = count;
    if (hasMore && this.isLimited() && this.isOpen()) this.renew();
    this.lookLater();
  }

  /** The tasks of earlier processes are counted now. */
  counted(): void {
    if (this.isLimited() && this.waiting + this.inUse > 0) this.renew();
  }

  /** Publishes what this process sees, and its share. Never throws. */
  async report(): Promise<void> {
    if (this.hasToCount()) return;
    await this.renewal;
    await this.once();
  }

  /** Gives back what is not used, and renews nothing any more. Never throws. */
  async leave(): Promise<void> {
    this.hasLeft = true;
    this.cancelTimer?.();
    this.cancelLook?.();
    await this.renewal;
    if (this.isLimited()) await this.report();
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

  /** Looks again for those who wait when a pause is over. */
  private lookLater(): void {
    this.cancelLook?.();
    this.cancelLook = undefined;
    const waitMs = this.opensInMs();
    if (this.waiting === 0 || waitMs <= 0 || this.hasLeft) return;
    this.cancelLook = this.ports.clock.after(waitMs, () => this.options.onChange());
  }

  private isLimited(): boolean {
    const { maxConcurrent, maxSubmissionsPerMinute } = this.options.limits();
    return (maxConcurrent ?? maxSubmissionsPerMinute) !== undefined;
  }

  private isCurrent(): boolean {
    return this.share.isCurrent(this.moment);
  }

  private beatLater(): void {
    if (this.isLimited()) this.renewAfter(RENEW_MS);
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
    return this.options.limits().maxConcurrent !== undefined && !this.options.hasCounted();
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
      this.options.limits(),
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

function later({ wall, monotonic }: Moment, byMs: number): Moment {
  return { wall: wall + byMs, monotonic: monotonic + byMs };
}
