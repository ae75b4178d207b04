import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { expect } from 'chai';
import { pino } from 'pino';
import { Credits, UsageBy } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operation } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import { createGrpcServer, type GrpcServer } from '../../../apps/grpc/server.js';
import { TokenCallers } from '../../../apps/grpc/token-callers.js';
import { type Scope, SCOPES } from '../../../core/access/credential.js';
import { createApp, createKey } from '../../../core/access/manage.js';
import { createPerson } from '../../../core/people/manage-people.js';
import type { JsonObject } from '../../../core/json.js';
import { issueToken } from '../../fixtures/access-tokens.js';
import { until } from '../../fixtures/clocks.js';
import { clientOf } from '../console/console-harness.js';
import { unary } from '../grpc/grpc-client.js';
import { OAuthHarness } from './oauth-harness.js';

/*
 * Goal: a program that a person has connected reads of the account's books the balance and what was used in its own App, over
 * REST and gRPC; no response to it has an amount of another App, or a name, an e-mail address, a key, an id or a trace id of
 * anybody else, also not of people and services that acted in its App.
 * Method: an account whose person, keys and programs all make pictures, as do the person and a service in the App of one
 * program; the bytes of every response to that program are searched for what belongs to the others.
 */

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'x', parameters: { size: '96x64' } };
/** The ways to group usage, and the name that a row has. */
const NAMES = { day: 'day', model: 'model_key', key: 'credential_id', client_trace_id: 'client_trace_id' } as const;
const BY = Object.keys(NAMES);
const GRPC_BY = {
  day: UsageBy.DAY,
  model: UsageBy.MODEL,
  key: UsageBy.KEY,
  client_trace_id: UsageBy.CLIENT_TRACE_ID,
} as const;

const withoutBigInt = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

const SERVICE = { name: 'name-of-a-service', scopes: SCOPES };
const SERVICE_TOKEN = 'token-of-a-service';

describe('the books of an account, read by a connected program', () => {
  let service: OAuthHarness;
  let grpc: GrpcServer;
  let client: Client;
  let program: string;
  let key: string;
  let own: JsonObject;
  let grantId: string;
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

  /** A call over gRPC with a token. */
  const call = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    token: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<MessageShape<O>> => {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries({ authorization: `Bearer ${token}`, ...more }))
      metadata.set(name, value);
    return unary(client, method, request, metadata);
  };
  const makeAsService = async (appId: string, trace: string): Promise<void> => {
    const input = {
      modelKey: 'picture',
      operation: Operation.IMAGE_GENERATION,
      prompt: 'x',
      parameters: { size: '96x64' },
      clientTraceId: trace,
    };
    await call(Generations.method.createGeneration, { input, idempotencyKey: trace }, SERVICE_TOKEN, {
      'darkroom-account-id': service.person.accountId,
      'darkroom-app-id': appId,
    });
  };
  const makeAsPerson = async (appId: string, trace: string): Promise<void> => {
    const person = await clientOf(service, service.person);
    const body = { ...PICTURE, client_trace_id: trace };
    const made = await person.post(`/apps/${appId}/generations`, body, { 'Idempotency-Key': trace });
    expect(made.status, made.text).to.equal(202);
  };

  before(async () => {
    service = await OAuthHarness.open();
    await service.harness.startWorker();
    const { context, authenticator } = service.harness;
    grpc = createGrpcServer({
      context,
      callers: { find: ({ token }) => (token === SERVICE_TOKEN ? SERVICE : undefined) },
      logger: pino({ level: 'silent' }),
      tokens: new TokenCallers(authenticator, { readsPerMinute: 0, writesPerMinute: 0 }),
    });
    client = new Client(`127.0.0.1:${await grpc.listen('127.0.0.1', 0)}`, credentials.createInsecure());
    const { accountId } = service.person;
    const connect = async (clientId: string, scopes: readonly Scope[] = SCOPES) =>
      issueToken(context, service.person, { clientId, scopes });
    const ours = await connect('our program');
    program = ours.secret;
    ({ grantId } = ours.grant);
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
    await makeAsPerson(ours.grant.appId, 'trace-of-a-person');
    await makeAsService(ours.grant.appId, 'trace-of-a-service');
    foreign.push('trace-of-a-person', 'trace-of-a-service', SERVICE.name);
    foreign.push('name-of-a-key', made.key.keyId, 'their program', theirs.grant.grantId, ofColleague.grant.grantId);
    foreign.push('ada@example.com', 'grace@example.com', service.person.personId, 'to test with');
    const isSettled = async () =>
      ((await read('/credits/entries', key))['entries'] as JsonObject[]).length === 1 + 6 * 2;
    await until(isSettled);
  });
  after(async () => {
    client.close();
    await grpc.close(1_000);
    await service.close();
  });

  it('have the balance of the account', async () => {
    expect(await read('/credits')).to.include({ balance_credits: 930, available_credits: 930 });
  });

  it('have the entries of its own App, without what was available then and who else made them', async () => {
    const statement = await read('/credits/entries');
    expect(statement).not.to.have.any.keys('opening_credits', 'closing_credits');
    const entries = statement['entries'] as JsonObject[];
    for (const entry of entries) expect(entry).not.to.have.property('available_after');
    const mine = entries.filter((entry) => entry['credential_id'] !== undefined);
    expect(mine.map(({ kind, credits }) => [kind, credits])).to.deep.equal([
      ['charge', 20],
      ['hold', 20],
    ]);
    for (const entry of mine)
      expect(entry).to.deep.include({ ...own, credential_id: grantId, credential_name: 'our program' });
    const others = entries.filter((entry) => entry['credential_id'] === undefined);
    expect(others.map(({ kind, credits }) => [kind, credits])).to.have.deep.members([
      ['charge', 10],
      ['charge', 10],
      ['hold', 10],
      ['hold', 10],
    ]);
    for (const entry of others) {
      expect(entry).to.include({ model_key: 'picture' }).and.to.have.property('generation_id');
      expect(entry).not.to.have.any.keys('credential_name', 'client_trace_id');
    }
  });

  it('have the same entries over gRPC', async () => {
    const { entries, closingCredits } = await call(Credits.method.listOwnEntries, {}, program);
    expect(closingCredits).to.equal(0n);
    const shown = (await read('/credits/entries'))['entries'] as JsonObject[];
    expect(
      entries.map(({ entry, modelKey, clientTraceId, credentialId, credentialName }) => ({
        sequence: Number(entry?.sequence),
        credits: Number(entry?.credits),
        model_key: modelKey,
        client_trace_id: clientTraceId,
        credential_id: credentialId,
        credential_name: credentialName,
      })),
    ).to.deep.equal(
      shown.map(({ sequence, credits, model_key, client_trace_id, credential_id, credential_name }) => ({
        sequence,
        credits,
        model_key,
        client_trace_id,
        credential_id,
        credential_name,
      })),
    );
    for (const value of foreign) expect(JSON.stringify(entries, withoutBigInt)).not.to.include(value);
  });

  it('are those of the whole account for a key', async () => {
    const statement = await read('/credits/entries', key);
    expect(statement).to.include({ opening_credits: 0, closing_credits: 930 });
    const usage = await read('/usage?by=client_trace_id', key);
    expect(usage['usage']).to.have.length(6);
  });

  const sums = (generations: number, credits: number) => ({
    generations,
    failed: 0,
    reserved_credits: credits,
    charged_credits: credits,
    released_credits: 0,
  });

  for (const [by, name] of Object.entries(NAMES) as [keyof typeof NAMES, string][])
    it(`have the usage of its own App by ${by}, over REST and gRPC`, async () => {
      const { usage, total, to = '' } = await read(`/usage?by=${by}`);
      expect(total).to.deep.equal(sums(3, 40));
      const wanted = {
        day: [{ day: to, ...sums(3, 40) }],
        model: [{ model_key: 'picture', ...sums(3, 40) }],
        key: [sums(2, 20), { credential_id: grantId, credential_name: 'our program', ...sums(1, 20) }],
        client_trace_id: [sums(2, 20), { client_trace_id: 'trace-of-mine', ...sums(1, 20) }],
      }[by];
      expect(usage).to.deep.equal(wanted);
      const answer = await call(Credits.method.getUsage, { by: GRPC_BY[by] }, program);
      expect(
        answer.rows.map(({ group, credentialName, sums: of }) => [
          group,
          credentialName,
          Number(of?.generations),
          Number(of?.chargedCredits),
        ]),
      ).to.deep.equal(
        (wanted as JsonObject[]).map((row) => [
          row[name] ?? '',
          row['credential_name'],
          row['generations'],
          row['charged_credits'],
        ]),
      );
      expect(Number(answer.total?.chargedCredits)).to.equal(40);
      for (const value of foreign) expect(JSON.stringify(answer, withoutBigInt)).not.to.include(value);
    });

  it('have the rest of the usage on further pages', async () => {
    for (const by of ['key', 'client_trace_id']) {
      const first = await read(`/usage?by=${by}&limit=1`);
      expect(first['usage']).to.deep.equal([sums(2, 20)]);
      const second = await read(`/usage?by=${by}&limit=1&cursor=${first['next_cursor'] as string}`);
      expect(second['total']).to.deep.equal(sums(3, 40));
      expect(second['usage']).to.have.length(1);
      expect(second).not.to.have.property('next_cursor');
    }
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
      expect(csv.trim().split('\r\n'), by).to.have.length(by === 'day' || by === 'model' ? 2 : 3);
      for (const value of foreign) expect(csv, by).not.to.include(value);
    }
  });

  it('are what the page of consent says', async () => {
    const browser = await service.signedIn();
    const clientId = await service.register();
    const page = await browser.open(service.request(clientId, { scope: 'credits:read' }).path);
    expect(page.text.replaceAll(/\s+/g, ' ')).to.include(
      'See the balance of the account, and the ledger entries and usage of its own App alone',
    );
  });
});
