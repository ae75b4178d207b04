import { expect } from 'chai';
import { type Scope, SCOPES } from '../../../core/access/credential.js';
import { createApp, createKey } from '../../../core/access/manage.js';
import { createPerson } from '../../../core/people/manage-people.js';
import type { JsonObject } from '../../../core/json.js';
import { issueToken } from '../../fixtures/access-tokens.js';
import { until } from '../../fixtures/clocks.js';
import { OAuthHarness } from './oauth-harness.js';

/*
 * Goal: a program that a person has connected reads of the account's books the balance and what its own App used; no
 * response to it has a name, an e-mail address, a key, a trace id or an amount of anybody else.
 * Method: an account whose person, keys and programs all make pictures; the bytes of every response to one program are
 * searched for what belongs to the others.
 */

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'x', parameters: { size: '96x64' } };
const BY = ['day', 'model', 'key', 'client_trace_id'] as const;

describe('the books of an account over REST, read by a connected program', () => {
  let service: OAuthHarness;
  let program: string;
  let key: string;
  let own: JsonObject;
  /** What must not be in any response to the program. */
  const foreign: string[] = [];

  const send = async (credential: string, method: string, path: string, body?: object, trace?: string) => {
    const response = await fetch(`${service.origin}/api/v1/developer${path}`, {
      method,
      headers: {
        'Authorization': `Bearer ${credential}`,
        'Content-Type': 'application/json',
        ...(trace === undefined ? {} : { 'Idempotency-Key': trace }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {} };
  };
  const read = async (path: string, credential = program): Promise<JsonObject> => {
    const { status, text, json } = await send(credential, 'GET', path);
    expect(status, text).to.equal(200);
    return json['data'] as JsonObject;
  };
  const make = async (credential: string, trace: string, count = 1): Promise<string> => {
    const body = { ...PICTURE, parameters: { size: '96x64', n: count }, client_trace_id: trace };
    const { json, text } = await send(credential, 'POST', '/generations', body, trace);
    expect(json['code'], text).to.equal('OK');
    return (json['data'] as { readonly generation_id: string }).generation_id;
  };

  before(async () => {
    service = await OAuthHarness.open();
    await service.harness.startWorker();
    const { context } = service.harness;
    const { accountId } = service.person;
    const connect = async (clientId: string, scopes: readonly Scope[] = SCOPES) =>
      issueToken(context, service.person, { clientId, scopes });
    const ours = await connect('our program');
    program = ours.secret;
    const theirs = await connect('their program');
    const colleague = await createPerson(context, { accountId, email: 'grace@example.com' });
    const ofColleague = await issueToken(context, colleague, { clientId: 'our program', scopes: SCOPES });
    const { appId } = await createApp(context, { accountId, name: 'an App' });
    const made = await createKey(context, { appId, name: 'name-of-a-key' });
    key = made.secret;
    const mine = await make(program, 'trace-of-mine', 2);
    own = { generation_id: mine, client_trace_id: 'trace-of-mine', model_key: 'picture' };
    for (const [credential, trace] of [
      [key, 'trace-of-a-key'],
      [theirs.secret, 'trace-of-theirs'],
      [ofColleague.secret, 'trace-of-a-colleague'],
    ] as const)
      foreign.push(trace, await make(credential, trace));
    foreign.push('name-of-a-key', made.key.keyId, 'their program', theirs.grant.grantId, ofColleague.grant.grantId);
    foreign.push('ada@example.com', 'grace@example.com', service.person.personId, 'to test with');
    const isSettled = async () =>
      ((await read('/credits/entries', key))['entries'] as JsonObject[]).length === 1 + 4 * 2;
    await until(isSettled);
  });
  after(() => service.close());

  it('have the balance of the account', async () => {
    expect(await read('/credits')).to.include({ balance_credits: 950, available_credits: 950 });
  });

  it('have its own entries, without what was available then', async () => {
    const statement = await read('/credits/entries');
    expect(statement).not.to.have.any.keys('opening_credits', 'closing_credits');
    const entries = statement['entries'] as JsonObject[];
    expect(entries.map(({ kind, credits }) => [kind, credits])).to.deep.equal([
      ['charge', 20],
      ['hold', 20],
    ]);
    for (const entry of entries) {
      expect(entry).to.deep.include({ ...own, credential_name: 'our program' });
      expect(entry).not.to.have.property('available_after');
    }
  });

  it('are those of the whole account for a key', async () => {
    const statement = await read('/credits/entries', key);
    expect(statement).to.include({ opening_credits: 0, closing_credits: 950 });
    const usage = await read('/usage?by=client_trace_id', key);
    expect(usage['usage']).to.have.length(4);
  });

  for (const by of BY)
    it(`have its own usage by ${by}`, async () => {
      const usage = await read(`/usage?by=${by}`);
      const sums = { generations: 1, failed: 0, reserved_credits: 20, charged_credits: 20, released_credits: 0 };
      expect(usage['total']).to.deep.equal(sums);
      expect(usage['usage']).to.have.length(1);
      expect((usage['usage'] as JsonObject[])[0]).to.include(sums);
    });

  it('name nobody else in any form', async () => {
    const paths = ['/credits', '/credits/entries', '/credits/entries?limit=1', ...BY.map((by) => `/usage?by=${by}`)];
    for (const path of paths) {
      const { text } = await send(program, 'GET', path);
      for (const value of foreign) expect(text, path).not.to.include(value);
    }
    for (const by of BY) {
      const response = await fetch(`${service.origin}/api/v1/developer/usage?by=${by}`, {
        headers: { Authorization: `Bearer ${program}`, Accept: 'text/csv' },
      });
      const csv = await response.text();
      expect(csv.trim().split('\r\n'), by).to.have.length(2);
      for (const value of foreign) expect(csv, by).not.to.include(value);
    }
  });

  it('are what the page of consent says', async () => {
    const browser = await service.signedIn();
    const clientId = await service.register();
    const page = await browser.open(service.request(clientId, { scope: 'credits:read' }).path);
    expect(page.text.replaceAll(/\s+/g, ' ')).to.include(
      'See the balance of the account, and the ledger entries and usage of this program alone',
    );
  });
});
