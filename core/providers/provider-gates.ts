import type { Boot } from '../boot.js';
import type { Ports } from '../ports/tokens.js';
import type { ProviderFailure } from '../ports/provider.js';
import { InstanceGate, type GateNeeds } from './instance-gate.js';
import type { ProviderHealth } from './provider-use.js';

interface Needs extends GateNeeds, Pick<Ports, 'providers'> {
  readonly boot: Boot;
}

/** The right of one run to work at a provider. */
export interface Entry {
  readonly provider: string;
  /** Whether it may submit once more, which then counts; if not now, a submission is asked for. */
  maySubmitAgain(): boolean;
  /** What came of a call: `submitMs` of a submission that was taken. */
  answered(submitMs?: number): void;
  failed(error: unknown): void;
  full(failure: ProviderFailure): void;
  /** Gives it back. Giving it back again does nothing. */
  release(): void;
}

export interface EntryRequest {
  readonly generationId: string;
  /** Names of connected providers; the first one with room is taken. */
  readonly providers: readonly string[];
  /** When waiting is of no use any more. */
  readonly until: number;
}

interface Waiter extends EntryRequest {
  readonly admit: (entry: Entry | undefined) => void;
}

/** What a process has seen of one provider. */
export interface SeenProvider extends ProviderHealth {
  readonly provider: string;
  readonly tasks: number;
  /** Runs that wait for it, or for another provider of their routes. */
  readonly waiting: number;
  /** Tasks that this process may have there; undefined without a limit. */
  readonly slots: number | undefined;
}

/**
 * Where the runs of one process wait for providers: within the limits that all processes share, and as long as a
 * provider seems to work. Who came first is first.
 */
export class ProviderGates {
  private readonly gates = new Map<string, InstanceGate>();
  private readonly waiters = new Map<string, Waiter>();
  private cancelTimer: (() => void) | undefined;
  private isAdmitting = false;

  constructor(private readonly ports: Needs) {}

  /** Of those that were used. */
  get seen(): readonly SeenProvider[] {
    return [...this.gates].map(([provider, { health, tasks, waiters: waiting, slots }]) => ({
      provider,
      tasks,
      waiting,
      slots,
      ...health,
    }));
  }

  isWaiting(generationId: string): boolean {
    return this.waiters.has(generationId);
  }

  /** An entry once a provider has room; undefined when the time is over, or it was excused. */
  enter(request: EntryRequest): Promise<Entry | undefined> {
    const entry = this.waiters.size === 0 ? this.tryAll(request) : undefined;
    if (entry !== undefined) return Promise.resolve(entry);
    return new Promise((admit) => {
      this.waiters.set(request.generationId, { ...request, admit });
      this.countWaiting();
      this.admitWhoMay();
    });
  }

  /** For a run whose task is at the provider already, or that submits nothing. */
  adopt(provider: string): Entry {
    const gate = this.gate(provider);
    gate.adopt();
    return this.entryOf(provider, gate, {});
  }

  /** Who waits goes on without an entry. */
  excuse(generationId: string): void {
    this.letGo(generationId, undefined);
  }

  /** Everybody who waits goes on without an entry. */
  excuseAll(): void {
    for (const generationId of this.waiters.keys()) this.excuse(generationId);
    this.cancelTimer?.();
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
        limits: () => this.ports.providers.limits(provider),
        onChange: () => this.admitWhoMay(),
      });
      this.gates.set(provider, gate);
    }
    return gate;
  }

  private tryAll({ providers }: Pick<EntryRequest, 'providers'>): Entry | undefined {
    for (const provider of providers) {
      const gate = this.gate(provider);
      const holder = {};
      if (gate.take(holder)) return this.entryOf(provider, gate, holder);
      if (gate.mayHaveRoom) return undefined;
    }
    return undefined;
  }

  private entryOf(provider: string, gate: InstanceGate, holder: object): Entry {
    const { clock, settings } = this.ports;
    let isReleased = false;
    return {
      provider,
      maySubmitAgain: () => gate.takeSubmission(holder),
      answered: (submitMs) => {
        gate.circuit.answered(submitMs);
        if (submitMs === undefined) return;
        gate.tried(holder);
        this.admitWhoMay();
      },
      failed: (error) => {
        gate.circuit.failed(clock.now(), error);
        gate.tried(holder);
      },
      full: ({ message, retryAfterMs }) => {
        gate.circuit.full(clock.now(), { message, retryAfterMs, capMs: settings.retryAfterCapMs });
        gate.tried(holder);
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        gate.release(holder);
      },
    };
  }

  private letGo(generationId: string, entry: Entry | undefined): void {
    const waiter = this.waiters.get(generationId);
    if (waiter === undefined) return entry?.release();
    this.waiters.delete(generationId);
    this.countWaiting();
    waiter.admit(entry);
  }

  /** Lets in who may, in order, and looks again when a pause or somebody's time is over. */
  private admitWhoMay(): void {
    if (this.isAdmitting) return;
    this.isAdmitting = true;
    const now = this.ports.clock.now();
    for (const waiter of this.waiters.values()) {
      const entry = this.tryAll(waiter);
      if (entry !== undefined || waiter.until < now) this.letGo(waiter.generationId, entry);
    }
    this.isAdmitting = false;
    this.lookAgain(now);
  }

  private lookAgain(now: number): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    let at = Infinity;
    for (const { until, providers } of this.waiters.values()) {
      at = Math.min(at, until + 1);
      for (const provider of providers) {
        const { opensAt } = this.gate(provider).circuit;
        if (opensAt > now) at = Math.min(at, opensAt);
      }
    }
    if (at === Infinity) return;
    this.cancelTimer = this.ports.clock.after(Math.min(Math.max(1, at - now), MAX_LOOK_MS), () => this.admitWhoMay());
  }

  private countWaiting(): void {
    const counts = new Map<string, number>();
    for (const { providers } of this.waiters.values())
      for (const provider of providers) counts.set(provider, (counts.get(provider) ?? 0) + 1);
    for (const provider of new Set([...this.gates.keys(), ...counts.keys()]))
      this.gate(provider).wait(counts.get(provider) ?? 0);
  }
}

/** The clock may be set while somebody waits. */
const MAX_LOOK_MS = 10_000;
