import type { JsonObject } from '../../../core/json.js';
import { USAGE_BY } from '../../../core/usage/read-usage.js';
import type { Credential, Network } from '../harness/network.js';
import type { RunContext } from '../harness/run-context.js';
import { Chance, type Scheduler } from '../harness/scheduler.js';
import type { Service } from '../harness/service.js';
import { type Answer, type ReadUsageBy, type Request, violation } from '../observed.js';
import { Follower } from './follower.js';

/** An id that was never issued. */
export const UNKNOWN_ID = '0198c0de-0000-7000-8000-00000000beef';

/**
 * The operator: issues credits, corrects them, revokes keys, disconnects programs, and suspends accounts for some time.
 */
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

  /** Called once nothing fails any more, so that no account is suspended afterwards. */
  async resumeAll(): Promise<void> {
    for (const accountId of this.suspended) await this.insist({ operation: 'resume', accountId });
  }

  /** Sometimes twice, since an operator who saw no answer repeats the command. */
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

  /**
   * Sometimes for longer than a process caches the account's state. Sometimes the operator does not learn whether it
   * was resumed.
   */
  private async suspend(thinkMs: number): Promise<void> {
    const accountId = this.chance.pick(this.accountIds);
    this.suspended.add(accountId);
    await this.insist({ operation: 'suspend', accountId, cancels: this.chance.happens(400) });
    await this.scheduler.pause(this.chance.between(0, 4 * thinkMs + 8_000));
    await this.insist({ operation: 'resume', accountId });
  }

  /** A write without an entry, to an account that others write. */
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

/** A client that reads what its account has used, sometimes several times concurrently. */
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
      const by = this.chance.pick(READ_BY);
      await Promise.all(Array.from({ length: this.chance.pick([1, 1, 3]) }, () => this.ask(by)));
    }
  }

  /** Reads all use, once nothing fails any more. */
  async reconcile(): Promise<void> {
    for (const by of READ_BY) while ((await this.ask(by)).outcome !== 'success') await this.scheduler.pause(1_000);
  }

  private ask(by: ReadUsageBy): Promise<Answer> {
    return this.network.ask({ operation: 'usage', by }, this.credential);
  }
}

const READ_BY = USAGE_BY.filter((by): by is ReadUsageBy => by !== 'modality' && by !== 'day_modality');

/** Far from the seeds that are played, so that runs draw all else as they would without them. */
const FIRST_OF_READERS = 3_000_000_019;

/** Clients that change nothing. In some runs, some follow the events of an App, and some read what was used. */
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

  /** Followers continue until `leave`; the returned promise resolves after the last usage query. */
  async work(questions: number, thinkMs: number): Promise<void> {
    for (const follower of this.followers)
      follower.follow().catch((error: unknown) => this.context.scheduler.fail(error));
    await Promise.all(this.accountants.map((accountant) => accountant.work(questions, thinkMs)));
  }

  /** Reads everything, once nothing fails any more. */
  async reconcile(): Promise<void> {
    for (const accountant of this.accountants) await accountant.reconcile();
  }

  /** Called once they have received all ends: following for hours costs as many steps as all else. */
  leave(): void {
    for (const follower of this.followers) follower.leave();
  }
}

/** A field of a public answer that must be text. */
export function textField(data: JsonObject, name: string): string {
  const value = data[name];
  if (typeof value !== 'string')
    throw violation`9: an answer has ${JSON.stringify(value)} for its ${name}, which is no text.`;
  return value;
}
