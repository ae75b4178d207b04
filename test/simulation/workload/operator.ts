import type { Chance } from '../world/chance.js';
import type { Credential, Network } from '../world/network.js';
import type { Request } from '../observed.js';
import type { Scheduler } from '../world/scheduler.js';
import { UNKNOWN_ID } from './unknown-id.js';

/** Whoever runs the service: issues credits, corrects them, and takes keys away. */
export class Operator {
  private operations = 0;

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
      if (this.chance.happens(200)) await this.revoke();
      else await this.issue();
    }
  }

  /** Sometimes twice, since an operator who saw no answer gives the command again. */
  private async issue(): Promise<void> {
    this.operations += 1;
    const operation = this.chance.happens(700) ? 'grant' : 'adjust';
    const sensible = operation === 'grant' ? this.chance.between(1, 60) : this.chance.between(1, 40) * this.chance.pick([-1, 1]);
    const credits = this.chance.happens(100) ? this.chance.pick([0, -5, 0.5, Number.MAX_SAFE_INTEGER]) : sensible;
    const request: Request = { operation, accountId: this.chance.happens(30) ? UNKNOWN_ID : this.chance.pick(this.accountIds), operationId: `operation-${this.operations}`, credits };
    if (this.chance.happens(100)) void this.network.ask({ ...request, credits: credits + 1 });
    if (this.chance.happens(250)) await Promise.all([this.network.ask(request), this.network.ask(request)]);
    for (let tries = 0; tries < 3; tries += 1) {
      const answer = await this.network.ask(request);
      if (answer.outcome === 'success' && this.chance.happens(800)) return;
    }
  }

  private async revoke(): Promise<void> {
    const credential = this.revocable.pop();
    if (credential === undefined) return;
    for (let tries = 0; tries < 5; tries += 1) {
      const answer = await this.network.ask({ operation: 'revoke', keyId: credential.keyId });
      if (answer.outcome === 'success') return;
      await this.scheduler.pause(1_000);
    }
  }
}
