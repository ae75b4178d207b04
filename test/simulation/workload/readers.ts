import { Chance } from '../harness/chance.js';
import type { Credential, Network } from '../harness/network.js';
import type { RunContext } from '../harness/run-context.js';
import type { Service } from '../harness/service.js';
import { Accountant } from './accountant.js';
import { Follower } from './follower.js';

/** Far from the seeds that are played, so that runs draw all else as they would without them. */
const FIRST_OF_READERS = 3_000_000_019;

/** Clients that change nothing. In a part of the runs some follow the events of an App, and some ask what was used. */
export class Readers {
  private readonly followers: readonly Follower[];
  private readonly accountants: readonly Accountant[];

  constructor(
    seed: number,
    private readonly context: RunContext,
    service: Service,
    network: Network,
    lasting: readonly Credential[],
  ) {
    const chance = Chance.from(seed + FIRST_OF_READERS);
    const followed = lasting.slice(0, chance.happens(200) ? chance.between(1, 2) : 0);
    this.followers = followed.map(
      ({ accountId, appId }, index) =>
        new Follower(`follower-${index + 1}`, { accountId, appId }, context, service, chance.fork()),
    );
    const asking = lasting.slice(0, chance.happens(250) ? chance.between(1, 2) : 0);
    this.accountants = asking.map(
      (credential) => new Accountant(credential, network, context.scheduler, chance.fork()),
    );
  }

  /** Followers go on until `leave`; what is awaited is the end of the questions. */
  async work(questions: number, thinkMs: number): Promise<void> {
    for (const follower of this.followers)
      follower.follow().catch((error: unknown) => this.context.scheduler.fail(error));
    await Promise.all(this.accountants.map((accountant) => accountant.work(questions, thinkMs)));
  }

  /** Asks for everything, once nothing goes wrong any more. */
  async reconcile(): Promise<void> {
    for (const accountant of this.accountants) await accountant.reconcile();
  }

  /** Once they have heard of all that ended: to look on for hours costs as many steps as all else. */
  leave(): void {
    for (const follower of this.followers) follower.leave();
  }
}
