import { expect } from 'chai';
import fc from 'fast-check';
import { type Caller, SCOPES } from '../../../core/access/credential.js';
import { createApp, createKey } from '../../../core/access/manage.js';
import type { Actor, Attribution, Entry } from '../../../core/credits/account.js';
import { readStatement, type ShownStatement } from '../../../core/credits/own-app.js';
import {
  readAllUsage,
  readUsage,
  readUsageRequest,
  USAGE_BY,
  type UsageBy,
  type UsageGroup,
} from '../../../core/usage/read-usage.js';
import { issueToken, newPerson } from '../../fixtures/access-tokens.js';
import { intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { addEntries } from '../../fixtures/ledgers.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a connected program sees of the ledger and the usage what was used in its own App, all of it, and nothing of other
// Apps; of what people and services used in its App it sees the amounts, without ids, names and trace ids. Entries and all
// groupings agree, and a page costs the same however much the App has used.
// Method: random holds and settlements by credentials of its App and of others on memory adapters; what it reads is
// compared with what a small model makes of the entries. Rows that are read are counted.

interface User {
  readonly app?: 'own' | 'other';
  readonly actor?: Actor;
  readonly sees: 'whole' | 'amounts' | 'none';
}

/** A user of credits, the App in which they are used, and the part that the program may see. `before` is a release that did not store the App. */
const USERS = {
  'own': { app: 'own', sees: 'whole' },
  'reconnected': { app: 'own', sees: 'whole' },
  'key of own': { app: 'own', sees: 'whole' },
  'removed connection of own': { app: 'own', sees: 'whole' },
  'person in own': { app: 'own', actor: 'person', sees: 'amounts' },
  'service:in own': { app: 'own', actor: 'service', sees: 'amounts' },
  'other program': { app: 'other', sees: 'none' },
  'key of other': { app: 'other', sees: 'none' },
  'person in other': { app: 'other', actor: 'person', sees: 'none' },
  'service:in other': { app: 'other', actor: 'service', sees: 'none' },
  'own before': { sees: 'whole' },
  'key of own before': { sees: 'whole' },
  'other program before': { sees: 'none' },
  'person before': { sees: 'none' },
  'service:before': { sees: 'none' },
} as const satisfies Record<string, User>;
type Who = keyof typeof USERS;

interface Step {
  readonly who: Who;
  readonly model: string;
  readonly trace: string | undefined;
  readonly credits: number;
  readonly charge: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom(...(Object.keys(USERS) as Who[])),
  model: fc.constantFrom('m', 'n'),
  trace: fc.constantFrom(undefined, 'shared', 'another'),
  credits: fc.nat({ max: 9 }),
  charge: fc.nat({ max: 9 }),
});

/** The part of an entry that the program must see. */
interface Seen {
  readonly entry: Entry;
  readonly view: 'whole' | 'amounts';
  readonly isBefore: boolean;
}

/** One account with a program, another one, keys of both Apps, a person and a service. */
class Account {
  /** The user who made each generation. */
  private readonly makers = new Map<string, Who>();

  private constructor(
    readonly harness: CoreHarness,
    readonly ids: Readonly<Record<Who, string>>,
    readonly apps: Readonly<Record<'own' | 'other', string>>,
    readonly program: Caller,
  ) {}

  static async open(): Promise<Account> {
    const harness = await CoreHarness.open({ credits: 500 });
    const { context, caller } = harness;
    const { accountId } = caller;
    const { personId, ...person } = await newPerson(context, accountId);
    const connect = (clientId: string) =>
      issueToken(context, { personId, ...person }, { clientId, scopes: SCOPES }).then(({ grant }) => grant);
    const [own, reconnected, theirs] = [await connect('ours'), await connect('ours'), await connect('theirs')];
    const { appId } = await createApp(context, { accountId, name: 'another App' });
    const key = async (of: string, name: string) => (await createKey(context, { appId: of, name })).key.keyId;
    const keyOfOwn = await key(own.appId, 'secret name of a key');
    const ids: Record<Who, string> = {
      'own': own.grantId,
      'reconnected': reconnected.grantId,
      'key of own': keyOfOwn,
      'removed connection of own': context.ids.uuid(),
      'person in own': personId,
      'service:in own': 'service:s',
      'other program': theirs.grantId,
      'key of other': await key(appId, 'name of another key'),
      'person in other': personId,
      'service:in other': 'service:s',
      'own before': own.grantId,
      'key of own before': keyOfOwn,
      'other program before': theirs.grantId,
      'person before': personId,
      'service:before': 'service:s',
    };
    const program: Caller = {
      accountId,
      appId: own.appId,
      credentialId: own.grantId,
      scopes: SCOPES,
      seesOwnAppOnly: true,
    };
    return new Account(harness, ids, { own: own.appId, other: appId }, program);
  }

  async play(steps: readonly Step[]): Promise<void> {
    const { context } = this.harness;
    for (const { who, model: modelKey, trace, credits, charge } of steps) {
      const generationId = context.ids.uuid();
      const user: User = USERS[who];
      const attribution: Attribution = {
        credentialId: this.ids[who],
        ...(user.app === undefined ? {} : { appId: this.apps[user.app] }),
        ...(user.actor === undefined ? {} : { actor: user.actor }),
        modelKey,
        ...(trace === undefined ? {} : { clientTraceId: trace }),
      };
      this.makers.set(generationId, who);
      const hold = { kind: 'hold', generationId, credits, maxOpenHolds: 1_000, attribution } as const;
      const { refused } = await context.accountWriter.execute(this.program.accountId, hold);
      if (refused !== undefined || charge > credits) continue;
      await context.accountWriter.execute(this.program.accountId, { kind: 'settle', generationId, charge });
    }
  }

  /** What the program is to see, oldest first. */
  async seen(): Promise<readonly Seen[]> {
    return (await this.harness.entries()).flatMap((entry) => {
      const who = this.makers.get(entry.generationId ?? '');
      const view = who === undefined ? 'none' : USERS[who].sees;
      return view === 'none' || who === undefined ? [] : [{ entry, view, isBefore: who.endsWith('before') }];
    });
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

  async usage(by: UsageBy, limit: number): Promise<readonly UsageGroup[]> {
    const { context, clock } = this.harness;
    const groups: UsageGroup[] = [];
    for (let cursor: string | undefined; ;) {
      const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
      const read = await readUsage(context, this.program, readUsageRequest({ by }, clock.now()), page);
      groups.push(...read.groups);
      cursor = read.nextCursor;
      if (cursor === undefined) return groups;
    }
  }
}

/** The group that an entry counts in. Trace ids of a release that did not store the App do not count for it. */
function groupOf({ entry: { at, attribution }, view, isBefore }: Seen, by: UsageBy): string {
  if (by === 'day') return new Date(at).toISOString().slice(0, 10);
  if (by === 'model') return attribution?.modelKey ?? '';
  // No model of these tests is in the catalog.
  if (by === 'modality') return 'unknown';
  if (by === 'day_modality') return `${new Date(at).toISOString().slice(0, 10)} unknown`;
  if (view === 'amounts') return '';
  if (by === 'key') return attribution?.credentialId ?? '';
  return isBefore ? '' : (attribution?.clientTraceId ?? '');
}

function sumsOf(seen: readonly Seen[]) {
  const of = (kind: Entry['kind']) => seen.filter(({ entry }) => entry.kind === kind);
  const sum = (kind: Entry['kind']) => of(kind).reduce((credits, { entry }) => credits + entry.credits, 0);
  return {
    generations: of('hold').length,
    failed: 0,
    reservedCredits: sum('hold'),
    chargedCredits: sum('charge'),
    releasedCredits: sum('release'),
  };
}

const some = fc.array(step, { maxLength: 30 });
const limits = fc.integer({ min: 1, max: 9 });

describe('the books of an account, read by a connected program', () => {
  it('have the entries of its own App, newest first, on pages of any size', async () => {
    await forAll(100, [some, limits], async (steps, limit) => {
      const account = await Account.open();
      await account.play(steps);
      const pages = await account.pages(limit);
      const shown = pages.flatMap(({ entries }) => entries);
      const wanted = (await account.seen()).toReversed().map(({ entry, view }) => {
        const { modelKey = '' } = entry.attribution ?? {};
        return view === 'whole' ? entry : { ...entry, attribution: { modelKey } };
      });
      expect(shown.map(({ entry }) => entry)).to.deep.equal(wanted);
      for (const { credentialName, entry } of shown) {
        expect(credentialName ?? 'ours').to.equal('ours');
        if (entry.attribution?.credentialId === undefined) expect(credentialName).to.equal(undefined);
      }
      for (const page of pages) {
        expect(page.entries.length).to.be.at.most(limit);
        expect(page).not.to.have.any.keys('openingCredits', 'closingCredits');
      }
    });
  });

  it('continue behind any number of entries of others, of which one request reads a bounded number', async () => {
    const account = await Account.open();
    await account.play([{ who: 'own', model: 'm', trace: undefined, credits: 1, charge: 1 }]);
    await addEntries(account.harness.context, account.program.accountId, 12_000);
    const pages = await account.pages(50);
    expect(pages.map(({ entries }) => entries.length)).to.deep.equal([0, 0, 2]);
  });

  it('have the usage of its own App, the same in every grouping and on pages of any size', async () => {
    await forAll(100, [some, limits], async (steps, limit) => {
      const account = await Account.open();
      await account.play(steps);
      const { context, clock } = account.harness;
      const seen = await account.seen();
      for (const by of USAGE_BY) {
        const request = readUsageRequest({ by }, clock.now());
        const { groups, total } = await readUsage(context, account.program, request, { limit: 100 });
        expect(total, by).to.deep.equal(sumsOf(seen));
        const names = [...new Set(seen.map((one) => groupOf(one, by)))].toSorted();
        expect(groups.map(({ credentialName: _, ...group }) => group)).to.deep.equal(
          names.map((group) => ({ group, ...sumsOf(seen.filter((one) => groupOf(one, by) === group)) })),
        );
        const all: UsageGroup[] = [];
        for await (const group of await readAllUsage(context, account.program, request)) all.push(group);
        expect(all).to.deep.equal(groups);
        expect(await account.usage(by, limit)).to.deep.equal(groups);
        for (const { credentialName } of groups) expect(credentialName ?? 'ours').to.equal('ours');
      }
    });
  });

  it('have a page of usage by trace id that reads as much of 21,000 generations on a day as of 500', async () => {
    const read: number[] = [];
    for (const generations of [500, 21_000]) {
      const account = await Account.open();
      const { context, clock } = account.harness;
      const attribution = { credentialId: account.ids.own, appId: account.apps.own };
      await addEntries(context, account.program.accountId, 2 * generations, attribution);
      const request = readUsageRequest({ by: 'client_trace_id' }, clock.now());
      // The first requests take in the ledger, a bounded number of entries each.
      for (let isBehind = true; isBehind;)
        isBehind = await readUsage(context, account.program, request, { limit: 20 }).then(
          () => false,
          (error: unknown) => {
            expect(error).to.include({ code: 'SERVICE_UNAVAILABLE' });
            return true;
          },
        );
      let rows = 0;
      const count: Interceptor = async (call) => {
        const answer = await call.proceed();
        const { items = answer } = (answer ?? {}) as { readonly items?: unknown };
        rows += Array.isArray(items) ? items.length : 1;
        return answer;
      };
      const stores = { ...context };
      for (const name of ['accounts', 'usage', 'generations', 'credentials', 'artefacts'] as const)
        Object.assign(stores, { [name]: intercepted<object>(name, context[name], count) });
      const page = await readUsage(stores, account.program, request, { limit: 20, cursor: 't100' });
      expect(page.groups).to.have.length(20);
      expect(page.total.generations).to.equal(generations);
      read.push(rows);
    }
    expect(read[1]).to.equal(read[0]);
    expect(read[0]).to.be.at.most(200);
  });
});
