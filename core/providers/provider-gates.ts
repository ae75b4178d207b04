import type { Boot } from '../boot.js';
import type { Ports } from '../ports/tokens.js';
import type { ProviderFailure } from '../ports/provider.js';
import { InstanceGate, type GateNeeds } from './instance-gate.js';
import { MissingProviders } from './missing-providers.js';
import type { ProviderHealth } from './provider-use.js';

interface Needs extends GateNeeds, Pick<Ports, 'providers' | 'catalog'> {
  readonly boot: Boot;
}

/** The right of one run to work at a provider. */
export interface Entry {
  readonly provider: string;
  /** Whether it has a slot and a submission now; what it lacks is asked for. */
  maySubmit(): boolean;
  /** A submission begins, for which it has just had both. One that never begins is given back with the entry. */
  submitting(): void;
  /** What came of a call: `submitMs` of a submission that was taken. */
  answered(submitMs?: number): void;
  failed(error: unknown): void;
  full(failure: ProviderFailure): void;
  /** Gives it back. Giving it back again does nothing. */
  release(): void;
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
 * What the runs of one process may do at providers: within the limits that all processes share, and as long as a provider
 * seems to work.
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

  /** Calls `listener` whenever a provider may have room again. */
  onRoom(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** An entry at the first one of these providers that has room; undefined if none has, or an earlier one may soon. */
  enter(providers: readonly string[]): Entry | undefined {
    for (const provider of providers) {
      const gate = this.gate(provider);
      const holder = {};
      if (gate.take(holder)) return this.entryOf(provider, gate, holder);
      if (gate.mayHaveRoom) return undefined;
    }
    return undefined;
  }

  /** For a run whose task is at the provider already, or that submits nothing. */
  adopt(provider: string): Entry {
    const gate = this.gate(provider);
    const holder = {};
    gate.adopt(holder);
    return this.entryOf(provider, gate, holder);
  }

  /**
   * The tasks that earlier processes left at providers with `maxConcurrent` are adopted. Before that, a process with exclusive
   * stores submits nothing there.
   */
  counted(): void {
    this.hasCounted = true;
    for (const gate of this.gates.values()) gate.counted();
  }

  /** How many would enter each provider if it had room: room is asked for. */
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
        limits: () => this.ports.providers.limits(provider),
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
      return entry !== undefined && connected?.promises(entry.settings).answersWithOutputs === true
        ? [runTimeoutMs]
        : [];
    });
    return Math.max(settings.providerCallMs, ...submits);
  }

  private entryOf(provider: string, gate: InstanceGate, holder: object): Entry {
    let isReleased = false;
    return {
      provider,
      maySubmit: () => gate.maySubmit(holder),
      submitting: () => gate.submitting(holder),
      answered: (submitMs) => gate.answered(holder, submitMs),
      failed: (error) => gate.failed(holder, error),
      full: (failure) => gate.full(holder, failure),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        gate.release(holder);
      },
    };
  }
}
