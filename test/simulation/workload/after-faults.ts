import type { Credential, Network } from '../harness/network.js';
import type { RunContext } from '../harness/run-context.js';
import type { Chance } from '../harness/scheduler.js';
import type { Service } from '../harness/service.js';
import { SIMULATED_SETTINGS } from '../harness/settings.js';
import { type Answer, violation } from '../observed.js';
import { type Clients, passHours } from './clients.js';
import type { Readers } from './operator.js';
import type { RepeatingClient } from './repeating-client.js';
import { SCENARIOS } from './scenarios/all.js';
import { ScenarioRun } from './scenarios/scenario-run.js';

/** Longer than the longest queue, run and lease together. */
const REST_WITHIN_MS = 15 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** A follower pauses at most ten seconds before it reconnects, and then receives the events it has missed. */
const TOLD_WITHIN_MS = 20_000;

/**
 * The end of a run, after the last fault: clients confirm their outcomes, everything ends, and exact guarantees are
 * checked.
 */
export class AfterFaults {
  private readonly run: ScenarioRun;

  constructor(
    private readonly context: RunContext,
    private readonly service: Service,
    private readonly network: Network,
    private readonly clients: Clients & { readonly readers: Readers; readonly repeating: readonly RepeatingClient[] },
    private readonly chance: Chance,
  ) {
    this.run = new ScenarioRun(context, service, network, clients.lasting);
  }

  async pass(): Promise<void> {
    const { scheduler, observer } = this.context;
    await Promise.all(this.clients.developers.map((developer) => developer.makeSure()));
    const { repeating } = this.clients;
    await Promise.all(repeating.map((client) => client.makeSure()));
    for (const client of repeating.slice(0, 1)) await client.playExactly();
    await this.rest();
    await this.clients.readers.reconcile();
    await observer.atRest(scheduler.now);
    this.clients.readers.leave();
    for (const credential of this.clients.capped) {
      await this.spendAll(credential);
      await this.rest();
    }
    for (const credential of this.clients.lasting) await this.spendAll(credential);
    await this.rest();
    for (let played = 0; played < 2; played += 1) await this.playScenario();
    await observer.atRest(scheduler.now);
    if (this.chance.happens(50)) await this.passHours();
  }

  private async playScenario(): Promise<void> {
    const { scheduler, timeline, tally } = this.context;
    const { name, play } = this.chance.pick(SCENARIOS.filter(({ needs }) => needs(this.run)));
    timeline.note(scheduler.now, 'scenario', () => name);
    tally.add(`scenario ${name}`);
    await play(this.run);
    this.service.faults.forgetPlans();
    this.service.provider.script = undefined;
    await this.rest();
  }

  /** Waits until nothing is held; then every generation has ended, or one was forgotten. */
  private async rest(): Promise<void> {
    const { scheduler } = this.context;
    for (let waitedMs = 0; waitedMs < REST_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
      await scheduler.pause(LOOK_EVERY_MS);
      if ((await this.openHolds()) === 0) return scheduler.pause(TOLD_WITHIN_MS);
    }
    throw violation`6: ${await this.openHolds()} credits are still held ${REST_WITHIN_MS} ms after faults have stopped.`;
  }

  private async openHolds(): Promise<number> {
    const { items } = await this.service.durable.accounts.list({ limit: 10 });
    return items.reduce((sum, account) => sum + account.holds.size, 0);
  }

  /** Sends more creates at once than the credits, or the key's cap, allow: exactly as many are accepted as fit. */
  private async spendAll(credential: Credential): Promise<void> {
    const balance = Math.min(await this.balance(credential), await this.leftOfCap(credential));
    const count = this.chance.between(1, 4);
    const cost = 10 * count;
    // Never so many that the account's queue could be full: this is not a test of how fast slots become free.
    const wanted = Math.min(
      SIMULATED_SETTINGS.maxOpenGenerationsPerAccount,
      Math.floor(balance / cost) + this.chance.between(1, 3),
    );
    const expected = Math.min(wanted, Math.floor(balance / cost));
    const name = `spend-${credential.accountId.slice(-4)}-${this.context.scheduler.steps}`;
    const answers = await Promise.all(
      Array.from({ length: wanted }, (_, index) => this.create(credential, 'plain', count, `${name}-${index}`)),
    );
    const accepted = answers.filter(({ outcome }) => outcome === 'success').length;
    if (accepted !== expected) {
      throw violation`13: Of ${wanted} creates at ${cost} credits with ${balance} available and nothing going wrong, ${accepted} were accepted, not ${expected}.`;
    }
    for (const answer of answers) {
      if (answer.outcome === 'refused' && answer.code !== 'CREDITS_INSUFFICIENT')
        throw violation`13: A create too many was refused with ${answer.code}.`;
    }
  }

  /** All retention periods pass, and clients request data that is gone. */
  private async passHours(): Promise<void> {
    const { scheduler, observer } = this.context;
    this.run.leaveOneAwake(Infinity);
    await passHours(scheduler, this.clients.developers, 9);
    await this.rest();
    await observer.atRest(scheduler.now);
  }

  private create(credential: Credential, model: string, count: number, key: string): Promise<Answer> {
    const body = { model_key: model, operation: 'image_generation', prompt: key, parameters: { count } };
    return this.network.ask({ operation: 'create', key, body }, credential);
  }

  private async leftOfCap({ accountId, keyId, cap }: Credential): Promise<number> {
    const account = await this.service.durable.accounts.read(accountId);
    const month = new Date(this.context.scheduler.now).toISOString().slice(0, 7);
    const use = account?.capUses?.get(keyId);
    return (cap?.credits ?? Infinity) - (use !== undefined && use.period >= month ? use.used : 0);
  }

  private async balance(credential: Credential): Promise<number> {
    const answer = await this.network.ask({ operation: 'credits' }, credential);
    if (answer.outcome !== 'success')
      throw violation`13: The balance was not told though nothing goes wrong: ${JSON.stringify(answer)}`;
    return Number(answer.data['available_credits']);
  }
}
