import { SCOPES } from '../../../core/access/credential.js';
import { askedScopes, disconnect } from '../../../core/people/grants.js';
import { resetPerson } from '../../../core/people/manage-people.js';
import type { Person } from '../../../core/people/person.js';
import { exchangeRefreshToken } from '../../../core/people/refresh-tokens.js';
import { issueToken, newPerson } from '../../fixtures/access-tokens.js';
import type { RunContext } from '../harness/run-context.js';
import type { Chance } from '../harness/scheduler.js';
import type { Service } from '../harness/service.js';
import type { SimulatedProcess } from '../harness/simulated-process.js';
import { violation } from '../observed.js';

const UNKNOWN_SCOPES = ['openid', 'profile'];
const GRACE_MS = 30_000;
/** Exchanges of one refresh token within its grace, the first one included. */
const MOST_EXCHANGES = 4;
/** Within this every process refuses what was ended. */
const REVOKED_WITHIN_MS = 5_000;
const DAY_MS = 86_400_000;

type Exchange = 'exchanged' | 'refused' | 'unknown';

/**
 * Invariant 22, after the faults: people allow programs something, which then use their tokens at every process, refresh
 * at several at once, and are disconnected while tokens are made. What is right is worked out here, by sets and counts.
 */
export class Consents {
  constructor(
    private readonly run: RunContext,
    private readonly service: Service,
    private readonly chance: Chance,
    private readonly accountId: string,
  ) {}

  async play(): Promise<void> {
    const person = await newPerson(this.process().context, this.accountId);
    await this.allow(person);
    await this.refresh(person);
    await this.end(person);
  }

  private process(): SimulatedProcess {
    return this.chance.pick(this.alive());
  }

  /** Those that respond: a run may have left workers asleep for good. */
  private alive(): readonly SimulatedProcess[] {
    const { now } = this.run.scheduler;
    return this.service.processes.filter(({ isAlive, asleepUntil }) => isAlive && asleepUntil <= now);
  }

  private async allow(person: Person): Promise<void> {
    const named = [...SCOPES, ...UNKNOWN_SCOPES].filter(() => this.chance.happens(350));
    const ticked = SCOPES.filter(() => this.chance.happens(700));
    const known = named.filter((name) => !UNKNOWN_SCOPES.includes(name));
    const asked: readonly string[] = known.length > 0 ? known : SCOPES.filter((scope) => scope !== 'webhooks:manage');
    const expected = asked.filter((scope) => (ticked as readonly string[]).includes(scope)).toSorted();
    const { context } = this.process();
    const { scopes } = askedScopes(named.join(' '));
    // The token names more than was allowed, as a mistake of the OAuth server would.
    const issued = await issueToken(context, person, { clientId: 'a program', scopes, ticked, ofToken: SCOPES }).catch(
      () => undefined,
    );
    if (issued === undefined && expected.length === 0) return;
    if (issued === undefined)
      throw violation`22: nothing was granted, though ${expected.join()} was asked for and ticked`;
    for (const { authenticator } of this.alive()) {
      const caller = await authenticator.authenticate(issued.secret);
      if (caller.scopes.toSorted().join() !== expected.join())
        throw violation`22: ${named.join()} was asked for and ${ticked.join()} ticked, and the token has ${caller.scopes.join()}`;
    }
  }

  private async refresh(person: Person): Promise<void> {
    const { context } = this.process();
    const { grant } = await issueToken(context, person, { clientId: 'a program', scopes: SCOPES });
    const { grantId } = grant;
    const now = context.clock.now();
    await context.artefacts.put({
      kind: 'refresh-token',
      id: `refresh-${grantId}`,
      group: grantId,
      data: {},
      createdAt: now,
      expiresAt: now + DAY_MS,
      removeAt: now + DAY_MS,
    });
    const times = this.chance.between(1, 2 * MOST_EXCHANGES);
    if (this.chance.happens(300))
      this.service.faults.plan(this.chance.pick(['artefacts.consume', 'artefacts.put', 'artefacts.endGroup']), {
        fault: this.chance.pick(['lostAnswer', 'lostRequest', 'slow']),
        forMs: this.chance.between(0, 2_000),
        skip: this.chance.between(0, 3),
      });
    const outcomes = await Promise.all(Array.from({ length: times }, () => this.exchange(grantId)));
    this.service.faults.forgetPlans();
    const exchanged = outcomes.filter((outcome) => outcome === 'exchanged').length;
    if (exchanged > MOST_EXCHANGES) throw violation`22: a refresh token was exchanged ${exchanged} times`;
    // If two clocks differ by the grace or more, one process considers it over when the other one begins it.
    const isCertain = !outcomes.includes('unknown') && this.farthestSkewMs() * 4 < GRACE_MS;
    if (isCertain && times <= MOST_EXCHANGES && exchanged < times)
      throw violation`22: of ${times} exchanges of a refresh token within its grace, ${exchanged} succeeded`;
    await this.run.scheduler.pause(GRACE_MS + this.farthestSkewMs() * 2 + 1_000);
    if (isCertain && times <= MOST_EXCHANGES && (await this.isEnded(grantId)))
      throw violation`22: a family of refresh tokens has ended after ${times} exchanges`;
    const late = await this.exchange(grantId);
    // If every request was lost, the token was not exchanged yet, and its grace has not begun.
    if (late !== 'refused' && exchanged > 0) throw violation`22: a refresh token was exchanged after its grace`;
    if (late === 'refused' && !(await this.isEnded(grantId)))
      throw violation`22: a family of refresh tokens outlives an exchange after the grace`;
  }

  private async exchange(grantId: string): Promise<Exchange> {
    await this.run.scheduler.pause(this.chance.between(0, 20));
    return exchangeRefreshToken(this.process().context, `refresh-${grantId}`).catch(() => 'unknown' as const);
  }

  private async isEnded(grantId: string): Promise<boolean> {
    return (await this.service.durable.artefacts.find({ kind: 'grant', id: grantId }))?.endedAt !== undefined;
  }

  /** A token that is made at the same moment, or of a session that the reset has ended, is refused as well. */
  private async end(person: Person): Promise<void> {
    const program = { clientId: 'a program', scopes: SCOPES };
    const before = await issueToken(this.process().context, person, program);
    for (const { authenticator } of this.alive()) await authenticator.authenticate(before.secret);
    const { context } = this.process();
    const isReset = this.chance.happens(500);
    const meanwhile = isReset ? this.later(() => issueToken(this.process().context, person, program)) : undefined;
    await (isReset
      ? resetPerson(context, person.personId)
      : disconnect(context, person.personId, before.grant.grantId));
    const secrets = [before, await meanwhile].flatMap((issued) => (issued === undefined ? [] : [issued.secret]));
    await this.run.scheduler.pause(REVOKED_WITHIN_MS);
    for (const { authenticator } of this.alive())
      for (const secret of secrets) {
        const isTaken = await authenticator.authenticate(secret).then(
          () => true,
          () => false,
        );
        if (isTaken) throw violation`22: a token is taken after ${isReset ? 'a reset of its person' : 'its end'}`;
      }
  }

  private async later<T>(act: () => Promise<T>): Promise<T> {
    await this.run.scheduler.pause(this.chance.between(0, 40));
    return act();
  }

  private farthestSkewMs(): number {
    return Math.max(...this.service.processes.map(({ skewMs }) => Math.abs(skewMs)));
  }
}
