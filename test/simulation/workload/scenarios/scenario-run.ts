import type { Generation } from '../../../../core/generation/generation.js';
import type { Credential, Network } from '../../harness/network.js';
import type { RunContext } from '../../harness/run-context.js';
import type { Service } from '../../harness/service.js';
import { RECOVERY_INTERVAL_MS, SIMULATED_SETTINGS } from '../../harness/settings.js';
import type { SimulatedProcess } from '../../harness/simulated-process.js';
import { type Answer, violation } from '../../observed.js';
import { textField } from '../operator.js';

/** Time until recovery has processed everything without an owner. */
export const RECOVERED_WITHIN_MS = SIMULATED_SETTINGS.recoveryGraceMs + 3 * RECOVERY_INTERVAL_MS;

/** Time in which a process over its own stores resumes its predecessor's work; every lease is longer. */
export const RESUMED_WITHIN_MS = 2_000;

/** Longer than the longest queue and run together. */
const ENDED_WITHIN_MS = 15 * 60_000;

/** The environment of scenarios: the service of the run, and two permanent accounts. */
export class ScenarioRun {
  readonly payer: Credential;
  readonly other: Credential;

  constructor(
    readonly context: RunContext,
    readonly service: Service,
    readonly network: Network,
    lasting: readonly Credential[],
  ) {
    [this.payer, this.other] = lasting as readonly [Credential, Credential];
  }

  get runners(): readonly SimulatedProcess[] {
    return this.service.processes.filter((process) => process.runsGenerations);
  }

  get fronts(): readonly SimulatedProcess[] {
    return this.service.processes.filter((process) => process.takesRequests);
  }

  get farthestSkewMs(): number {
    return Math.max(...this.service.processes.map(({ skewMs }) => Math.abs(skewMs)));
  }

  /** Time until a lease has lapsed for any observer. */
  get lapseMs(): number {
    return Math.max(SIMULATED_SETTINGS.leaseMs, SIMULATED_SETTINGS.claimLeaseMs) + 2 * this.farthestSkewMs + 2_000;
  }

  /** One worker is enough for a long time in which nothing happens. */
  leaveOneAwake(forMs: number): void {
    const [, ...others] = this.runners;
    for (const process of others)
      if (process.role === 'worker') process.asleepUntil = this.context.scheduler.now + forMs;
  }

  /** Kills all processes that run generations, and starts others in their places at once. */
  restartRunners(): void {
    for (const process of this.runners) this.service.kill(process);
    this.service.startAll();
  }

  /** Removes all credits of the payer's account. */
  async drain(to?: SimulatedProcess): Promise<void> {
    const { accountId } = this.payer;
    const available = (await this.service.durable.accounts.read(accountId))?.available ?? 0;
    if (available > 0)
      await this.network.ask(
        { operation: 'adjust', accountId, operationId: this.name(), credits: -available },
        undefined,
        to,
      );
  }

  async pay({ accountId }: Credential, credits: number, to?: SimulatedProcess): Promise<void> {
    await this.network.ask({ operation: 'grant', accountId, operationId: this.name(), credits }, undefined, to);
  }

  async accept(credential: Credential, model: string, count = 1): Promise<string> {
    const body = { model_key: model, operation: 'image_generation', prompt: 'a scenario', parameters: { count } };
    const answer: Answer = await this.network.ask({ operation: 'create', key: this.name(), body }, credential);
    if (answer.outcome !== 'success')
      throw violation`12: a create that could be paid for was not accepted: ${JSON.stringify(answer)}`;
    return textField(answer.data, 'generation_id');
  }

  handedOver(id: string): Promise<Generation> {
    return this.until(
      id,
      ({ completedAt }) => completedAt !== undefined || this.service.provider.handedOver.has(id),
      'begins',
    );
  }

  submitted(id: string): Promise<Generation> {
    return this.until(
      id,
      ({ completedAt, attempt }) => completedAt !== undefined || attempt?.phase === 'submitted',
      'is handed over',
    );
  }

  ended(id: string): Promise<Generation> {
    return this.until(id, ({ completedAt }) => completedAt !== undefined, 'ends');
  }

  async generation(id: string): Promise<Generation> {
    const record = await this.service.durable.generations.read(id);
    if (record?.kind !== 'generation') throw violation`12: generation ${id} was accepted, and is not there`;
    return record;
  }

  name(): string {
    return `scenario-${this.context.scheduler.steps}-${this.context.chance.between(1, 1_000_000)}`;
  }

  private async until(id: string, holds: (generation: Generation) => boolean, what: string): Promise<Generation> {
    const { scheduler } = this.context;
    for (const startedAt = scheduler.now; scheduler.now < startedAt + ENDED_WITHIN_MS; await scheduler.pause(200)) {
      const generation = await this.generation(id);
      if (holds(generation)) return generation;
    }
    throw violation`6: generation ${id} never ${what}`;
  }
}
