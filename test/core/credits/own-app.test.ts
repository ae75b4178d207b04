import { expect } from 'chai';
import fc from 'fast-check';
import { type Caller, SCOPES } from '../../../core/access/credential.js';
import { createApp, createKey } from '../../../core/access/manage.js';
import type { Entry } from '../../../core/credits/account.js';
import { readStatement, type ShownStatement } from '../../../core/credits/own-app.js';
import { readAllUsage, readUsage, readUsageRequest, type UsageGroup } from '../../../core/usage/read-usage.js';
import { issueToken, newPerson } from '../../fixtures/access-tokens.js';
import { addEntries } from '../../fixtures/ledgers.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a connected program sees of the ledger and the usage what its own App used, all of it, and nothing of others.
// Method: random holds and settlements by credentials of its App and of others on memory adapters; what it reads is
// compared with the entries that a small model selects.

const CREDENTIALS = [
  'own',
  'reconnected',
  'key of own',
  'other program',
  'key of other',
  'person',
  'service:s',
] as const;
type Who = (typeof CREDENTIALS)[number];
const OWN: readonly Who[] = ['own', 'reconnected', 'key of own'];

interface Step {
  readonly who: Who;
  readonly model: string;
  readonly credits: number;
  readonly charge: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom(...CREDENTIALS),
  model: fc.constantFrom('m', 'n'),
  credits: fc.nat({ max: 9 }),
  charge: fc.nat({ max: 9 }),
});

/** One account with a program, another one, keys of both Apps, a person and a service. */
class Account {
  private constructor(
    readonly harness: CoreHarness,
    readonly ids: Readonly<Record<Who, string>>,
    readonly program: Caller,
  ) {}

  static async open(): Promise<Account> {
    const harness = await CoreHarness.open({ credits: 500 });
    const { context, caller } = harness;
    const { accountId } = caller;
    const person = await newPerson(context, accountId);
    const connect = (clientId: string) => issueToken(context, person, { clientId, scopes: SCOPES });
    const [own, reconnected, other] = [await connect('ours'), await connect('ours'), await connect('theirs')];
    const { appId } = await createApp(context, { accountId, name: 'another App' });
    const key = async (of: string, name: string) => (await createKey(context, { appId: of, name })).key.keyId;
    const ids = {
      'own': own.grant.grantId,
      'reconnected': reconnected.grant.grantId,
      'key of own': await key(own.grant.appId, 'secret name of a key'),
      'other program': other.grant.grantId,
      'key of other': await key(appId, 'name of another key'),
      'person': person.personId,
      'service:s': 'service:s',
    };
    const program: Caller = {
      accountId,
      appId: own.grant.appId,
      credentialId: own.grant.grantId,
      scopes: SCOPES,
      seesOwnAppOnly: true,
    };
    return new Account(harness, ids, program);
  }

  async play(steps: readonly Step[]): Promise<void> {
    const { context } = this.harness;
    for (const { who, model: modelKey, credits, charge } of steps) {
      const generationId = context.ids.uuid();
      const attribution = { credentialId: this.ids[who], modelKey, clientTraceId: `trace of ${who}` };
      const hold = { kind: 'hold', generationId, credits, maxOpenHolds: 1_000, attribution } as const;
      const { refused } = await context.accountWriter.execute(this.program.accountId, hold);
      if (refused !== undefined || charge > credits) continue;
      await context.accountWriter.execute(this.program.accountId, { kind: 'settle', generationId, charge });
    }
  }

  /** What the program is to see, oldest first. */
  async own(): Promise<readonly Entry[]> {
    const ids = new Set<string | undefined>(OWN.map((who) => this.ids[who]));
    return (await this.harness.entries()).filter(({ attribution }) => ids.has(attribution?.credentialId));
  }

  async pages(limit: number): Promise<readonly ShownStatement[]> {
    const pages: ShownStatement[] = [];
    for (let cursor: string | undefined; ;) {
      const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
      const read = await readStatement(this.harness.context, this.program, page);
      pages.push(read);
      cursor = read.nextCursor;
      if (cursor === undefined) return pages;
    }
  }
}

describe('the books of an account, read by a connected program', () => {
  it('have the entries of its own App, newest first, on pages of any size', async () => {
    await forAll(100, [fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 9 })], async (steps, limit) => {
      const account = await Account.open();
      await account.play(steps);
      const pages = await account.pages(limit);
      const shown = pages.flatMap(({ entries }) => entries);
      expect(shown.map(({ entry }) => entry)).to.deep.equal((await account.own()).toReversed());
      expect(new Set(shown.map(({ credentialName }) => credentialName))).to.satisfy((names: Set<string | undefined>) =>
        [...names].every((name) => name === undefined || name === 'ours'),
      );
      for (const page of pages) {
        expect(page.entries.length).to.be.at.most(limit);
        expect(page).not.to.have.any.keys('openingCredits', 'closingCredits');
      }
    });
  });

  it('continue behind any number of entries of others, of which one request reads a bounded number', async () => {
    const account = await Account.open();
    await account.play([{ who: 'own', model: 'm', credits: 1, charge: 1 }]);
    await addEntries(account.harness.context, account.program.accountId, 12_000);
    const pages = await account.pages(50);
    expect(pages.map(({ entries }) => entries.length)).to.deep.equal([0, 0, 2]);
  });

  it('have the usage of its own App, by day, model and key', async () => {
    await forAll(50, [fc.array(step, { maxLength: 30 })], async (steps) => {
      const account = await Account.open();
      await account.play(steps);
      const { context, clock } = account.harness;
      const own = await account.own();
      for (const by of ['day', 'model', 'key'] as const) {
        const request = readUsageRequest({ by }, clock.now());
        const { groups, total } = await readUsage(context, account.program, request, { limit: 100 });
        const sum = (entries: readonly Entry[], kind: Entry['kind']) =>
          entries.filter((entry) => entry.kind === kind).reduce((credits, entry) => credits + entry.credits, 0);
        for (const [of, entries] of [
          [total, own] as const,
          ...groups.map((group) => [group, own.filter((entry) => groupOf(entry, by) === group.group)] as const),
        ])
          expect([of.reservedCredits, of.chargedCredits, of.releasedCredits], by).to.deep.equal([
            sum(entries, 'hold'),
            sum(entries, 'charge'),
            sum(entries, 'release'),
          ]);
        expect(groups.map(({ group }) => group)).to.have.members([...new Set(own.map((entry) => groupOf(entry, by)))]);
        const all: UsageGroup[] = [];
        for await (const group of await readAllUsage(context, account.program, request)) all.push(group);
        expect(all).to.deep.equal(groups);
        for (const { credentialName } of groups) expect(credentialName ?? 'ours').to.equal('ours');
      }
    });
  });
});

function groupOf({ at, attribution }: Entry, by: 'day' | 'model' | 'key'): string {
  if (by === 'day') return new Date(at).toISOString().slice(0, 10);
  return (by === 'model' ? attribution?.modelKey : attribution?.credentialId) ?? '';
}
