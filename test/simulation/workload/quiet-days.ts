import type { Chance } from '../world/chance.js';
import type { Credential, Network } from '../world/network.js';
import { Violation, type Answer } from '../observed.js';
import { growOld, type Population } from './population.js';
import type { Service } from '../world/service.js';
import { SIMULATED_SETTINGS } from '../world/settings.js';
import type { Surroundings } from '../world/surroundings.js';
import { SCENES } from './scenes/all.js';
import { Stage } from './scenes/stage.js';

/** Longer than the longest queue, run and lease together. */
const REST_WITHIN_MS = 15 * 60_000;
const LOOK_EVERY_MS = 5_000;

/** What follows once nothing goes wrong any more: everybody makes sure, everything ends, and what must be exact is. */
export class QuietDays {
  private readonly stage: Stage;

  constructor(
    private readonly world: Surroundings,
    private readonly service: Service,
    private readonly network: Network,
    private readonly population: Population,
    private readonly chance: Chance,
  ) {
    this.stage = new Stage(world, service, network, population.lasting);
  }

  async pass(): Promise<void> {
    const { scheduler, watcher } = this.world;
    await Promise.all(this.population.developers.map((developer) => developer.makeSure()));
    await this.rest();
    await watcher.atRest(scheduler.now);
    for (const credential of this.population.lasting) await this.spendAll(credential);
    await this.rest();
    for (let played = 0; played < 2; played += 1) await this.playScene();
    await watcher.atRest(scheduler.now);
    if (this.chance.happens(50)) await this.growOld();
  }

  private async playScene(): Promise<void> {
    const { scheduler, timeline, tally } = this.world;
    const { name, play } = this.chance.pick(SCENES.filter(({ needs }) => needs(this.stage)));
    timeline.note(scheduler.now, 'scene', () => name);
    tally.add(`scene ${name}`);
    await play(this.stage);
    this.service.faults.forgetPlans();
    this.service.provider.script = undefined;
    await this.rest();
  }

  /** Until nothing is held any more; then every generation has ended, or there is one that nobody looks after. */
  private async rest(): Promise<void> {
    const { scheduler } = this.world;
    for (let waitedMs = 0; waitedMs < REST_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
      await scheduler.pause(LOOK_EVERY_MS);
      if ((await this.openHolds()) === 0) return scheduler.pause(LOOK_EVERY_MS);
    }
    throw new Violation(6, `${await this.openHolds()} credits are still held ${REST_WITHIN_MS} ms after faults have stopped.`);
  }

  private async openHolds(): Promise<number> {
    const { items } = await this.service.durable.accounts.list({ limit: 10 });
    return items.reduce((sum, account) => sum + account.holds.size, 0);
  }

  /** More creates at once than there are credits for: exactly as many are accepted as can be paid. */
  private async spendAll(credential: Credential): Promise<void> {
    const balance = await this.balance(credential);
    const count = this.chance.between(1, 4);
    const cost = 10 * count;
    // Never so many that the account's queue could be full: how fast places become free is not what this is about.
    const wanted = Math.min(SIMULATED_SETTINGS.maxOpenGenerationsPerAccount, Math.floor(balance / cost) + this.chance.between(1, 3));
    const expected = Math.min(wanted, Math.floor(balance / cost));
    const name = `spend-${credential.accountId.slice(-4)}-${this.world.scheduler.steps}`;
    const answers = await Promise.all(Array.from({ length: wanted }, (_, index) => this.create(credential, 'plain', count, `${name}-${index}`)));
    const accepted = answers.filter(({ outcome }) => outcome === 'success').length;
    if (accepted !== expected) {
      throw new Violation(13, `Of ${wanted} creates at ${cost} credits with ${balance} available and nothing going wrong, ${accepted} were accepted, not ${expected}.`);
    }
    for (const answer of answers) {
      if (answer.outcome === 'refused' && answer.code !== 'CREDITS_INSUFFICIENT') throw new Violation(13, `A create too many was refused with ${answer.code}.`);
    }
  }

  /** All retention periods pass, and clients ask for what is gone. */
  private async growOld(): Promise<void> {
    const { scheduler, watcher } = this.world;
    this.stage.leaveOneAwake(Infinity);
    await growOld(scheduler, this.population.developers, 9);
    await this.rest();
    await watcher.atRest(scheduler.now);
  }

  private create(credential: Credential, model: string, count: number, key: string): Promise<Answer> {
    const body = { model_key: model, operation: 'image_generation', prompt: key, parameters: { count } };
    return this.network.ask({ operation: 'create', key, body }, credential);
  }

  private async balance(credential: Credential): Promise<number> {
    const answer = await this.network.ask({ operation: 'credits' }, credential);
    if (answer.outcome !== 'success') throw new Violation(13, `The balance was not told though nothing goes wrong: ${JSON.stringify(answer)}`);
    return Number(answer.data['available_credits']);
  }
}
