import { createKey } from '../../../core/access/manage.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Credential, Network } from '../network.js';
import { Violation, type Answer, type Request } from '../observed.js';
import type { Service } from '../service.js';
import { RECOVERY_INTERVAL_MS, SIMULATED_SETTINGS } from '../sim-settings.js';
import type { SimulatedProcess } from '../simulated-process.js';
import type { Surroundings } from '../surroundings.js';
import { textField } from '../text-field.js';

/** Situations so particular that chance would take too long to bring them about. Everything else is fair while one is staged. */
export const SCENES = [
  'accounts take turns', 'a wake-up is lost', 'waiting too long', 'stopped halfway', 'a success too late', 'a refusal too late', 'a freed key too late',
  'a clock leaps', 'a clock is set back',
] as const;
export type Scene = (typeof SCENES)[number];

const WISH = { model_key: 'plain', operation: 'image_generation', prompt: 'a wish', parameters: { count: 2 } } as const;
/** Longer than the longest queue and run together. */
const ENDED_WITHIN_MS = 15 * 60_000;
/** By then recovery has looked at what nobody else looked at, whatever the processes' clocks say. */
const RECOVERED_WITHIN_MS = SIMULATED_SETTINGS.recoveryGraceMs + 3 * RECOVERY_INTERVAL_MS;

export class Scenes {
  private readonly hero: Credential;
  private readonly other: Credential;

  constructor(private readonly world: Surroundings, private readonly service: Service, private readonly network: Network, lasting: readonly Credential[]) {
    [this.hero, this.other] = lasting as readonly [Credential, Credential];
  }

  async play(scene: Scene): Promise<void> {
    const { scheduler, timeline, tally } = this.world;
    timeline.note(scheduler.now, 'scene', () => scene);
    tally.add(`scene ${scene}`);
    const isAlone = this.runners.length === 1;
    switch (scene) {
      case 'accounts take turns': return isAlone ? this.takeTurns() : undefined;
      case 'a wake-up is lost': return this.loseWakeUp();
      case 'waiting too long': return isAlone ? this.waitTooLong() : undefined;
      case 'stopped halfway': return this.stopHalfway();
      case 'a success too late': return isAlone ? undefined : this.succeedTooLate();
      case 'a refusal too late': return this.doors.length > 1 ? this.refuseTooLate() : undefined;
      case 'a freed key too late': return this.freeTooLate();
      case 'a clock leaps': return this.leap();
      case 'a clock is set back': return this.setBack();
    }
  }

  /**
   * An account that queues many does not keep another one's first waiting behind all of them, and a place that was not needed
   * after all is free for the next.
   */
  private async takeTurns(): Promise<void> {
    await this.pay(this.hero, 150);
    await this.pay(this.other, 150);
    const queued = await Promise.all([0, 1, 2, 3, 4].map(() => this.accept(this.hero, 'narrow')));
    await this.network.ask({ operation: 'cancel', generationId: queued[4] as string }, this.hero);
    const mine = await this.accept(this.other, 'narrow');
    const before = new Set(this.service.provider.handedOver);
    for (const id of [...queued.slice(0, 4), mine]) {
      const { status } = await this.ended(id);
      if (status !== 'succeeded') throw new Violation(20, `generation ${id} waited for its turn and ${status}, though nothing went wrong`);
    }
    const later = [...this.service.provider.handedOver].filter((id) => !before.has(id));
    const ahead = later.slice(0, Math.max(0, later.indexOf(mine))).filter((id) => queued.includes(id)).length;
    // One may have been on its way in when mine was accepted, and one more may be next in turn.
    if (ahead > 2) throw new Violation(20, `${ahead} generations of an account that queued 5 at once began before the only one of another account`);
  }

  /** What was accepted runs, though nobody is told of it. */
  private async loseWakeUp(): Promise<void> {
    await this.pay(this.hero, 50);
    this.service.provider.script = { ending: 'succeeds', takesMs: 0 };
    this.service.losesWakeUps = true;
    const id = await this.accept(this.hero, 'plain');
    await this.world.scheduler.pause(500);
    this.service.losesWakeUps = false;
    const startedAt = this.world.scheduler.now;
    const { status } = await this.ended(id);
    const tookMs = this.world.scheduler.now - startedAt;
    this.service.provider.script = undefined;
    if (status !== 'succeeded' || tookMs > RECOVERED_WITHIN_MS + this.farthestSkewMs) {
      throw new Violation(12, `generation ${id}, whose wake-up was lost, ${status} after ${tookMs} ms`);
    }
  }

  /** One whose turn does not come before its deadline ends then, and not when its turn would have come. */
  private async waitTooLong(): Promise<void> {
    await this.pay(this.hero, 150);
    this.service.provider.script = { ending: 'never ends', takesMs: 0 };
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.push(await this.accept(this.hero, 'narrow'));
    const ended: Generation[] = [];
    for (const id of ids) ended.push(await this.ended(id));
    this.service.provider.script = undefined;
    for (const { generationId, attemptsMade, createdAt, completedAt = Infinity, terms } of ended) {
      const lateMs = completedAt - terms.queueDeadlineAt;
      if (attemptsMade === 0 && lateMs > RECOVERED_WITHIN_MS) throw new Violation(6, `generation ${generationId} of ${createdAt} was never started, and ended ${lateMs} ms after it had to`);
    }
    if (ended.every(({ attemptsMade }) => attemptsMade > 0)) throw new Violation(20, `three generations of ${ids.length} ran one after another within a queue deadline that leaves time for two`);
  }

  /** Somebody else's work that was done before a cancel is delivered and paid. */
  private async stopHalfway(): Promise<void> {
    await this.pay(this.hero, 50);
    this.service.provider.script = { ending: 'never ends', onCancel: 'stops with some', takesMs: 10 * 60_000 };
    const id = await this.accept(this.hero, 'plain', 3);
    await this.handedOver(id);
    await this.network.ask({ operation: 'cancel', generationId: id }, this.hero);
    const { status, chargedCredits, outputs } = await this.ended(id);
    this.service.provider.script = undefined;
    if (status !== 'cancelled' || chargedCredits !== 10 || outputs.length !== 1) {
      throw new Violation(3, `generation ${id} was stopped after 1 output of 10 credits, and is ${status} with ${outputs.length} for ${chargedCredits}`);
    }
  }

  /** A worker falls asleep with a success in its hands, and wakes up when everything is over and was paid otherwise. */
  private async succeedTooLate(): Promise<void> {
    await this.pay(this.hero, 50);
    this.service.provider.script = { ending: 'succeeds once', takesMs: 0 };
    this.service.faults.plan('provider.output', { fault: 'sleepAfter', forMs: 90_000 });
    const id = await this.accept(this.hero, 'plain', 2);
    await this.handedOver(id);
    await this.network.ask({ operation: 'cancel', generationId: id }, this.hero);
    await this.ended(id);
    await this.world.scheduler.pause(100_000);
    this.service.provider.script = undefined;
    const { status, chargedCredits } = await this.generation(id);
    if (chargedCredits > 0 && status !== 'succeeded') throw new Violation(15, `generation ${id} is ${status} and charged ${chargedCredits}`);
  }

  /** A process falls asleep over a request it is about to refuse; meanwhile another one accepts it under the same key. */
  private async refuseTooLate(): Promise<void> {
    const [slow, quick] = this.doors as [SimulatedProcess, SimulatedProcess];
    const lapseMs = this.lapseMs;
    await this.drain();
    const request: Request = { operation: 'create', key: this.name(), body: WISH };
    this.service.faults.plan('accounts.read', { fault: 'sleepAfter', forMs: lapseMs + 5_000 });
    const refused = this.network.ask(request, this.hero, slow);
    await this.world.scheduler.pause(lapseMs);
    await this.pay(this.hero, 40, quick);
    await this.network.ask(request, this.hero, quick);
    // What the sleeper does to the key may also be lost on the way.
    if (this.world.chance.happens(500)) this.service.faults.plan('claims.remove', { fault: 'lostRequest', forMs: 0 });
    await refused;
  }

  /** The end of a refusal arrives when the key has long been used for good. */
  private async freeTooLate(): Promise<void> {
    const lapseMs = this.lapseMs;
    await this.drain();
    const request: Request = { operation: 'create', key: this.name(), body: WISH };
    this.service.faults.plan('claims.remove', { fault: 'lateEffect', forMs: lapseMs + 5_000 });
    await this.network.ask(request, this.hero);
    await this.world.scheduler.pause(lapseMs);
    await this.network.ask(request, this.hero);
    await this.pay(this.hero, 40);
    await this.network.ask(request, this.hero);
    await this.world.scheduler.pause(lapseMs);
    await this.network.ask(request, this.hero);
  }

  /** Two hours ahead, and back again before it is believed: nothing goes before its time. */
  private async leap(): Promise<void> {
    const [process] = this.runners;
    if (process === undefined) return;
    process.skewMs += 2 * 3_600_000;
    await this.world.scheduler.pause(RECOVERY_INTERVAL_MS - 1_000);
    process.skewMs -= 2 * 3_600_000;
  }

  /** Again and again by a little, so that nothing seems to get old: a revoked key is refused all the same. */
  private async setBack(): Promise<void> {
    const process = this.doors[0];
    if (process === undefined) return;
    const { key, secret } = await createKey(process.context, { appId: this.hero.appId, name: 'short-lived' });
    const shortLived: Credential = { ...this.hero, keyId: key.keyId, secret };
    await this.network.ask({ operation: 'credits' }, shortLived, process);
    await this.network.ask({ operation: 'revoke', keyId: key.keyId });
    const { skewMs } = process;
    for (let times = 0; times < 12; times += 1) {
      await this.world.scheduler.pause(1_000);
      process.skewMs -= 1_000;
      await this.network.ask({ operation: 'credits' }, shortLived, process);
    }
    process.skewMs = skewMs;
  }

  private get runners(): readonly SimulatedProcess[] {
    return this.service.processes.filter((process) => process.runsGenerations);
  }

  private get doors(): readonly SimulatedProcess[] {
    return this.service.processes.filter((process) => process.takesRequests);
  }

  private get farthestSkewMs(): number {
    return Math.max(...this.service.processes.map(({ skewMs }) => Math.abs(skewMs)));
  }

  /** By then a lease has lapsed for whoever looks. */
  private get lapseMs(): number {
    return Math.max(SIMULATED_SETTINGS.leaseMs, SIMULATED_SETTINGS.claimLeaseMs) + 2 * this.farthestSkewMs + 2_000;
  }

  /** Nothing can be paid for any more. */
  private async drain(): Promise<void> {
    const { accountId } = this.hero;
    const available = (await this.service.durable.accounts.read(accountId))?.available ?? 0;
    if (available > 0) await this.network.ask({ operation: 'adjust', accountId, operationId: this.name(), credits: -available });
  }

  private async pay({ accountId }: Credential, credits: number, to?: SimulatedProcess): Promise<void> {
    await this.network.ask({ operation: 'grant', accountId, operationId: this.name(), credits }, undefined, to);
  }

  private async accept(credential: Credential, model: string, count = 1): Promise<string> {
    const body = { model_key: model, operation: 'image_generation', prompt: 'a scene', parameters: { count } };
    const answer: Answer = await this.network.ask({ operation: 'create', key: this.name(), body }, credential);
    if (answer.outcome !== 'success') throw new Violation(12, `a create that could be paid for was not accepted: ${JSON.stringify(answer)}`);
    return textField(answer.data, 'generation_id');
  }

  private handedOver(id: string): Promise<Generation> {
    return this.until(id, ({ completedAt }) => completedAt !== undefined || this.service.provider.handedOver.has(id), 'begins');
  }

  private ended(id: string): Promise<Generation> {
    return this.until(id, ({ completedAt }) => completedAt !== undefined, 'ends');
  }

  private async until(id: string, holds: (generation: Generation) => boolean, what: string): Promise<Generation> {
    const { scheduler } = this.world;
    for (const startedAt = scheduler.now; scheduler.now < startedAt + ENDED_WITHIN_MS; await scheduler.pause(200)) {
      const generation = await this.generation(id);
      if (holds(generation)) return generation;
    }
    throw new Violation(6, `generation ${id} never ${what}`);
  }

  private async generation(id: string): Promise<Generation> {
    const record = await this.service.durable.generations.read(id);
    if (record?.kind !== 'generation') throw new Violation(12, `generation ${id} was accepted, and is not there`);
    return record;
  }

  private name(): string {
    return `scene-${this.world.scheduler.steps}-${this.world.chance.between(1, 1_000_000)}`;
  }
}
