import { USAGE_BY } from '../../../core/usage/read-usage.js';
import type { Chance } from '../harness/chance.js';
import type { Credential, Network } from '../harness/network.js';
import type { Scheduler } from '../harness/scheduler.js';
import type { Answer } from '../observed.js';

/** A client that wants to know what its account has used, now and then several times at once. */
export class Accountant {
  constructor(
    private readonly credential: Credential,
    private readonly network: Network,
    private readonly scheduler: Scheduler,
    private readonly chance: Chance,
  ) {}

  async work(questions: number, thinkMs: number): Promise<void> {
    for (let asked = 0; asked < questions; asked += 1) {
      await this.scheduler.pause(this.chance.between(0, thinkMs));
      const by = this.chance.pick(USAGE_BY);
      await Promise.all(Array.from({ length: this.chance.pick([1, 1, 3]) }, () => this.ask(by)));
    }
  }

  /** Everything there is to know, once nothing goes wrong any more. */
  async reconcile(): Promise<void> {
    for (const by of USAGE_BY) while ((await this.ask(by)).outcome !== 'success') await this.scheduler.pause(1_000);
  }

  private ask(by: (typeof USAGE_BY)[number]): Promise<Answer> {
    return this.network.ask({ operation: 'usage', by }, this.credential);
  }
}
