/*
 * Goal: an operator has the books checked in a browser: told how far it is and what was found, one check at a time in a
 * process, which ends with the connection, the session and the process, and lets other requests go on.
 * Method: a whole service over HTTP in this process, whose accounts the test holds back, breaks and counts.
 */
import { expect } from 'chai';
import { createAccount } from '../../../core/access/manage.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { demotePerson } from '../../../core/people/operators.js';
import type { ConsoleClient } from './console-harness.js';
import { OperatorHarness } from './operator-harness.js';

type Said = Readonly<Record<string, unknown>>;

/** What a check says, line by line. */
class Listening {
  private rest = '';
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly decoder = new TextDecoder();

  private constructor(
    response: Response,
    private readonly leaving: AbortController,
  ) {
    if (!response.body) throw new Error('There is no body.');
    this.reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  }

  static async begin({ service }: OperatorHarness, { cookie }: ConsoleClient): Promise<Listening> {
    const leaving = new AbortController();
    const headers = { 'Cookie': cookie, 'Origin': service.origin, 'Content-Type': 'application/json' };
    const at = `${service.origin}/console/api/operator/verify`;
    const response = await fetch(at, { method: 'POST', headers, body: '{}', signal: leaving.signal });
    expect(response.status).to.equal(200);
    return new Listening(response, leaving);
  }

  /** The next line; undefined at the end. */
  async next(): Promise<Said | undefined> {
    for (;;) {
      const end = this.rest.indexOf('\n');
      if (end !== -1) {
        const line = this.rest.slice(0, end);
        this.rest = this.rest.slice(end + 1);
        return JSON.parse(line) as Said;
      }
      const { done, value } = await this.reader.read();
      if (done) return undefined;
      this.rest += this.decoder.decode(value, { stream: true });
    }
  }

  async last(): Promise<Said> {
    let last: Said = {};
    for (let said = await this.next(); said !== undefined; said = await this.next()) last = said;
    return last;
  }

  leave(): void {
    this.leaving.abort();
  }
}

describe('the check of the books in a browser', () => {
  let harness: OperatorHarness;
  let olga: ConsoleClient;
  beforeEach(async () => {
    harness = await OperatorHarness.open();
    olga = await harness.signedIn();
  });
  afterEach(() => harness.close());

  const begin = () => Listening.begin(harness, olga);
  const store = () => harness.service.harness.context.accounts;
  /** Holds each page of accounts back until it is let go. */
  const held = (): { readonly letGo: () => void } => {
    let letGo: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const list = store().list.bind(store());
    store().list = async (page, call) => {
      await waiting;
      return list(page, call);
    };
    return { letGo };
  };
  const stopped = async (): Promise<void> => {
    while (!harness.told.some(({ outcome }) => outcome === 'stopped')) await olga.get('/overview');
  };

  it('says that all is right, what it looked at, and the same as the command', async () => {
    const last = await (await begin()).last();
    expect(last).to.deep.equal({ ...(await verifyCredits(harness.service.harness.context)) });
    expect(last).to.include({ accounts: 1, entries: 1 }).and.deep.include({ findings: [] });
    const outcomes = harness.told.map(({ outcome }) => outcome);
    expect(outcomes).to.deep.equal(['begun', 'done']);
    expect(harness.told[1]).to.include({ accounts: 1, findings: 0 });
  });

  it('says what is wrong', async () => {
    const read = store().read.bind(store()) as (...given: unknown[]) => Promise<{ readonly spent: number } | null>;
    store().read = (async (...given: unknown[]) => {
      const account = await read(...given);
      return account === null ? null : { ...account, spent: account.spent + 1 };
    }) as never;
    const { findings } = await (await begin()).last();
    expect(findings).to.be.an('array').with.lengthOf.at.least(1);
  });

  it('says that it could not go on, and is free again', async () => {
    const list = store().list.bind(store());
    store().list = () => Promise.reject(new StoreUnavailable('The store is away.'));
    expect(await (await begin()).last()).to.include({ fault: 'The service cannot answer right now.' });
    expect(harness.told.at(-1)).to.include({ outcome: 'SERVICE_UNAVAILABLE' });
    store().list = list;
    expect(await (await begin()).last()).to.have.property('findings');
  });

  it('is made once at a time in a process, and again afterwards', async () => {
    const { letGo } = held();
    const first = await begin();
    expect(await first.next()).to.deep.equal({ accounts: 0, entries: 0, generations: 0 });
    expect(await olga.post('/operator/verify')).to.include({ status: 409, code: 'CONFLICT' });
    letGo();
    expect(await first.last()).to.have.property('findings');
    expect(await (await begin()).last()).to.have.property('findings');
  });

  it('ends when the page is left, and frees its place', async () => {
    const { letGo } = held();
    const left = await begin();
    await left.next();
    left.leave();
    await stopped();
    letGo();
    expect(await (await begin()).last()).to.have.property('findings');
  });

  it('ends when the operator is one no more', async () => {
    const { letGo } = held();
    const listening = await begin();
    await demotePerson(harness.service.harness.context, harness.operator.personId);
    await listening.next();
    await listening.next();
    letGo();
    expect(await listening.last()).to.deep.include({ is_stopped: true });
  });

  it('lets others be answered between two pages of what it reads', async () => {
    for (let index = 0; index < 40; index += 1)
      await createAccount(harness.service.harness.context, { name: 'one of many' });
    let pages = 0;
    const seen: number[] = [];
    const entries = store().entries.bind(store());
    store().entries = async (...given) => {
      pages += 1;
      return entries(...given);
    };
    const listening = await begin();
    const ended = listening.last();
    while (!harness.told.some(({ outcome }) => outcome === 'done')) {
      await olga.get('/overview');
      if (seen.at(-1) !== pages) seen.push(pages);
    }
    expect(await ended).to.include({ accounts: 41 });
    expect(seen.length).to.be.at.least(3);
  });
});
