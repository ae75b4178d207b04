import type { Chance } from '../harness/chance.js';
import type { Credential, Network } from '../harness/network.js';
import type { Request } from '../observed.js';
import type { Scheduler } from '../harness/scheduler.js';
import { UNKNOWN_ID } from './unknown-id.js';

/** The operator: issues credits, corrects them, takes keys away, disconnects programs, and suspends accounts for a while. */
export class Operator {
  private operations = 0;
  private readonly suspended = new Set<string>();

  constructor(
    private readonly network: Network,
    private readonly scheduler: Scheduler,
    private readonly chance: Chance,
    private readonly accountIds: readonly string[],
    private readonly revocable: Credential[],
  ) {}

  async work(actions: number, thinkMs: number): Promise<void> {
    for (let done = 0; done < actions; done += 1) {
      await this.scheduler.pause(this.chance.between(0, 2 * thinkMs));
      const act = this.chance.between(1, 1_000);
      if (act <= 200) await this.revoke();
      else if (act <= 280) await this.suspend(thinkMs);
      else if (act <= 310) await this.rename();
      else await this.issue();
    }
  }

  /** To be done once nothing goes wrong any more, so that what follows finds no account suspended. */
  async resumeAll(): Promise<void> {
    for (const accountId of this.suspended) await this.insist({ operation: 'resume', accountId });
  }

  /** Sometimes twice, since an operator who saw no answer gives the command again. */
  private async issue(): Promise<void> {
    this.operations += 1;
    const operation = this.chance.happens(700) ? 'grant' : 'adjust';
    const sensible =
      operation === 'grant' ? this.chance.between(1, 60) : this.chance.between(1, 40) * this.chance.pick([-1, 1]);
    const credits = this.chance.happens(100) ? this.chance.pick([0, -5, 0.5, Number.MAX_SAFE_INTEGER]) : sensible;
    const request: Request = {
      operation,
      accountId: this.chance.happens(30) ? UNKNOWN_ID : this.chance.pick(this.accountIds),
      operationId: `operation-${this.operations}`,
      credits,
    };
    if (this.chance.happens(100)) void this.network.ask({ ...request, credits: credits + 1 });
    if (this.chance.happens(250)) await Promise.all([this.network.ask(request), this.network.ask(request)]);
    for (let tries = 0; tries < 3; tries += 1) {
      const answer = await this.network.ask(request);
      if (answer.outcome === 'success' && this.chance.happens(800)) return;
    }
  }

  /** For longer than a process may remember otherwise, or not. Now and then nobody is told whether it was resumed. */
  private async suspend(thinkMs: number): Promise<void> {
    const accountId = this.chance.pick(this.accountIds);
    this.suspended.add(accountId);
    await this.insist({ operation: 'suspend', accountId, cancels: this.chance.happens(400) });
    await this.scheduler.pause(this.chance.between(0, 4 * thinkMs + 8_000));
    await this.insist({ operation: 'resume', accountId });
  }

  /** A write without an entry, onto an account that others write. */
  private async rename(): Promise<void> {
    await this.insist({
      operation: 'rename',
      accountId: this.chance.pick(this.accountIds),
      name: this.chance.pick(['one', 'other']),
    });
  }

  private async insist(request: Request): Promise<void> {
    for (let tries = 0; tries < 5; tries += 1) {
      const answer = await this.network.ask(request);
      if (answer.outcome === 'success') return;
      await this.scheduler.pause(1_000);
    }
  }

  private async revoke(): Promise<void> {
    const credential = this.revocable.pop();
    if (credential === undefined) return;
    const { keyId, personId } = credential;
    await this.insist({ operation: 'revoke', keyId, ...(personId === undefined ? {} : { personId }) });
  }
}
