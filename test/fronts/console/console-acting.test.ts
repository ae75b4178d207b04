/*
 * Goal: what a person does on the account page in an App of their account is what a key of that App would do: the same
 * operations, refusals and rates, under the person's own name. Other Apps are unknown to them.
 * Method: a whole service over HTTP in this process; sessions of people of two accounts, and a program that one of them
 * has connected.
 */
import { expect } from 'chai';
import { ROUTES } from '../../../apps/http/developer/routes.js';
import { createApp, createKey, resumeAccount, suspendAccount } from '../../../core/access/manage.js';
import { createGrant, disconnect } from '../../../core/people/grants.js';
import { createPerson } from '../../../core/people/manage-people.js';
import { consoleApp } from '../../../core/people/own-keys.js';
import { endOtherSessions, findSession } from '../../../core/people/sessions.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleAnswer, ConsoleClient, stranger } from './console-harness.js';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };
const HELD = { ...PICTURE, model_key: 'picture-held' };
const PROTECTED = ROUTES.filter(({ scope }) => scope !== undefined);

interface Task {
  readonly generation_id: string;
  readonly status: string;
}

describe('a person acting in an App on the account page', () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let own: string;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    ada = await clientOf(service, service.person);
    own = (await consoleApp(service.harness.context, service.person.accountId)).appId;
  });
  afterEach(() => service.close());

  const context = () => service.harness.context;
  const at = (path: string, appId = own) => `/apps/${appId}${path}`;
  const create = (body: object = PICTURE, key: string = context().ids.uuid(), client = ada, appId = own) =>
    client.post(at('/generations', appId), body, { 'Idempotency-Key': key });
  const taskOf = ({ data, message }: ConsoleAnswer): Task => {
    expect(data['generation_id'], message).to.be.a('string');
    return data as unknown as Task;
  };
  const usableNames = async (client = ada) =>
    ((await client.get('/usable-apps')).data['apps'] as { name: string; kind: string }[]).map(
      ({ name, kind }) => `${kind}: ${name}`,
    );

  describe('is refused', () => {
    const send = (client: ConsoleClient, method: string, path: string, headers: Record<string, string>) =>
      client.send(
        method,
        at(path.replaceAll(/:\w+/g, UNKNOWN)),
        { ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }), ...headers },
        method === 'GET' ? undefined : '{}',
      );

    it('every endpoint without a session', async () => {
      const nobody = new ConsoleClient(service.origin, '');
      for (const { method, path } of PROTECTED)
        expect(await send(nobody, method, path, { Origin: service.origin }), path).to.include({
          status: 401,
          code: 'SESSION_REQUIRED',
        });
    });

    it('everything but reads that a page of another origin asks for, or nobody says which', async () => {
      const asked = PROTECTED.filter(({ method }) => method !== 'GET');
      expect(asked.length).to.be.above(10);
      for (const { method, path } of asked)
        for (const headers of [{ Origin: 'https://evil.example' }, { Origin: 'null' }, { Origin: '' }])
          expect(await send(ada, method, path, headers), `${method} ${path}`).to.include({
            status: 403,
            code: 'ORIGIN_REFUSED',
          });
    });

    it('an API key in place of the session', async () => {
      const { defaultKey } = await keyOfAccount();
      const nobody = new ConsoleClient(service.origin, '');
      expect(await nobody.get(at('/credits'), { Authorization: `Bearer ${defaultKey}` })).to.include({
        code: 'SESSION_REQUIRED',
      });
    });

    it('an App of another account, of a program of somebody else, and one that is none, alike', async () => {
      const foreign = await createApp(context(), {
        accountId: (await stranger(service)).accountId,
        name: 'hers',
      });
      const bob = await createPerson(context(), { accountId: service.person.accountId, email: 'bob@example.com' });
      const { appId: bobs } = await createGrant(context(), bob, {
        clientId: 'https://client.example/id',
        clientName: 'a program',
        audience: 'rest',
        scopes: ['generations:read'],
      });
      const answers = [];
      for (const appId of [foreign.appId, bobs, UNKNOWN, 'x', '%00'])
        answers.push(await ada.get(at('/generations', appId)));
      for (const { status, code, message } of answers)
        expect([status, code, message]).to.deep.equal([404, 'NOT_FOUND', 'There is no such App.']);
    });

    it('every endpoint of a suspended account, in the sentence for it, until it is resumed', async () => {
      await suspendAccount(context(), service.person.accountId);
      for (const { method, path } of PROTECTED)
        expect(await send(ada, method, path, { Origin: service.origin }), path).to.include({
          code: 'DEVELOPER_TOKEN_REVOKED',
          message: 'The account is suspended.',
        });
      await resumeAccount(context(), service.person.accountId);
      expect(await create()).to.include({ status: 202 });
    });
  });

  describe('sees', () => {
    it('the App of the page, those for keys, and those of programs they connected, also once disconnected', async () => {
      const { person } = service;
      await createApp(context(), { accountId: person.accountId, name: 'studio' });
      const asked = { clientId: 'https://client.example/id', clientName: 'a program', audience: 'rest' } as const;
      const { grantId, appId } = await createGrant(context(), person, { ...asked, scopes: ['generations:read'] });
      const bob = await clientOf(
        service,
        await createPerson(context(), { accountId: person.accountId, email: 'bob@example.com' }),
      );
      const everybodys = ['console: account page', 'keys: studio'];
      expect(await usableNames()).to.deep.equal([...everybodys, 'program: a program']);
      expect(await usableNames(bob)).to.deep.equal(everybodys);
      await disconnect(context(), person.personId, grantId);
      expect(await usableNames()).to.deep.equal([...everybodys, 'program: a program']);
      expect(await ada.get(at('/generations', appId))).to.include({ status: 200 });
    });

    it('what keys of the App have made, and may cancel and delete it', async () => {
      const { defaultKey, appId } = await keyOfAccount();
      const response = await fetch(`${service.origin}/api/v1/developer/generations`, {
        method: 'POST',
        headers: {
          'Authorization': `Bearer ${defaultKey}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'one',
        },
        body: JSON.stringify(HELD),
      });
      const { data } = (await response.json()) as { data: Task };
      const path = at(`/generations/${data.generation_id}`, appId);
      expect((await ada.get(at('/generations', appId))).data['generations']).to.have.lengthOf(1);
      expect((await ada.get(at('/generations'))).data['generations']).to.have.lengthOf(0);
      expect(await ada.get(at(`/generations/${data.generation_id}`))).to.include({ code: 'TASK_NOT_FOUND' });
      expect((await ada.post(`${path}/cancel`)).data).to.include({ status: 'cancelled' });
      expect(await ada.send('DELETE', path, { Origin: service.origin })).to.include({ status: 200 });
      expect(await ada.get(path)).to.include({ code: 'GENERATION_JOB_NOT_FOUND' });
    });

    it('what the page was asked for, and never what a program was', async () => {
      const { generation_id: mine } = taskOf(await create({ ...PICTURE, negative_prompt: 'dogs' }));
      expect((await ada.get(`/playground/generations/${mine}/input`)).data['input']).to.deep.equal({
        model_key: 'picture',
        operation: 'image_generation',
        prompt: 'a cat',
        negative_prompt: 'dogs',
        parameters: { size: '96x64', n: 1 },
        references: [],
      });
      const { appId } = await keyOfAccount();
      const { generation_id: others } = taskOf(await create(PICTURE, 'k', ada, appId));
      expect(await ada.get(`/playground/generations/${others}/input`)).to.include({ code: 'TASK_NOT_FOUND' });
    });
  });

  describe('creates', () => {
    it('once, however often a key is sent', async () => {
      const answers = await Promise.all([create(PICTURE, 'same'), create(PICTURE, 'same'), create(PICTURE, 'same')]);
      answers.push(await create(PICTURE, 'same'));
      const ids = answers.filter(({ status }) => status === 202).map((answer) => taskOf(answer).generation_id);
      expect(new Set(ids).size).to.equal(1);
      for (const { status, code } of answers)
        expect([status, code]).to.be.deep.oneOf([
          [202, 'OK'],
          [409, 'IDEMPOTENCY_IN_PROGRESS'],
        ]);
      expect(answers.at(-1)?.headers.get('idempotency-replayed')).to.equal('true');
      expect((await ada.get('/overview')).data['account']).to.include({ available_credits: 990, reserved_credits: 10 });
    });

    it('as themselves: the ledger and the usage name the person', async () => {
      taskOf(await create());
      const { data } = await ada.get(at('/credits/entries'));
      expect((data['entries'] as object[])[0]).to.include({
        kind: 'hold',
        credential_id: service.person.personId,
        credential_name: 'ada@example.com',
      });
      const usage = await ada.get(at('/usage?by=key'));
      expect((usage.data['usage'] as object[])[0]).to.include({ credential_name: 'ada@example.com', generations: 1 });
    });

    it('not without enough credits, of which it is told how many there are', async () => {
      const dear = { ...PICTURE, parameters: { size: '96x64', n: 4 } };
      for (let index = 0; index < 24; index += 1) taskOf(await create(dear));
      taskOf(await create({ ...PICTURE, parameters: { size: '96x64', n: 2 } }));
      taskOf(await create(PICTURE));
      const refused = await create(dear);
      expect(refused).to.include({ status: 402, code: 'CREDITS_INSUFFICIENT' });
      expect(refused.message).to.include('10 available');
      expect(refused.headers.get('darkroom-credits-available')).to.equal('10');
    });

    it('not with a bad field, which it is told by its pointer', async () => {
      const refused = await create({ ...PICTURE, parameters: { size: '96x64', n: 9 } });
      expect(refused).to.include({ status: 422, code: 'FIELD_INVALID' });
      expect(JSON.parse(refused.text)).to.include({ pointer: '/parameters/n' });
      const estimate = await ada.post(at('/generations/estimate'), { ...PICTURE, parameters: {} });
      expect(JSON.parse(estimate.text)).to.include({ pointer: '/parameters/size', code: 'FIELD_REQUIRED' });
    });

    it('within the rates of the API, of which an estimate is a read', async () => {
      const limited = await OAuthHarness.open({}, { limits: { readsPerMinute: 5, writesPerMinute: 2 } });
      try {
        const client = await clientOf(limited, limited.person);
        const { appId } = await consoleApp(limited.harness.context, limited.person.accountId);
        const codes = [];
        for (let index = 0; index < 3; index += 1)
          codes.push((await create(PICTURE, String(index), client, appId)).code);
        expect(codes).to.deep.equal(['OK', 'OK', 'RATE_LIMITED']);
        expect(await client.post(at('/generations/estimate', appId), PICTURE)).to.include({ status: 200 });
      } finally {
        await limited.close();
      }
    });
  });

  describe('follows', () => {
    it('a generation by its events, from the first to the end', async () => {
      const { generation_id: id } = taskOf(await create());
      await service.harness.startWorker();
      const { body } = await stream(at(`/generations/${id}/events`));
      const text = await new Response(body).text();
      const types = [...text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
      expect([types[0], types.at(-1)]).to.deep.equal(['queued', 'ended']);
    });

    it('until the session ends, and not beyond', async () => {
      const { generation_id: id } = taskOf(await create(HELD));
      const other = await clientOf(service, service.person);
      const { body } = await stream(at(`/generations/${id}/events`), other);
      const ended = new Response(body).text();
      const signedIn = await findSession(context(), ada.cookie.split('=')[1] ?? '');
      if (!signedIn) throw new Error('The session is gone.');
      await endOtherSessions(context(), signedIn);
      expect(await ended).to.include('event: queued');
    });

    it('until the account is suspended', async () => {
      const { body } = await stream(at('/events'));
      const ended = new Response(body).text();
      await suspendAccount(context(), service.person.accountId);
      expect(await ended).to.be.a('string');
    });

    const stream = (path: string, client = ada) =>
      fetch(`${service.origin}/console/api${path}`, { headers: { Cookie: client.cookie } });
  });

  it('gets the usage as CSV', async () => {
    taskOf(await create());
    const response = await fetch(`${service.origin}/console/api${at('/usage?by=model')}`, {
      headers: { Cookie: ada.cookie, Accept: 'text/csv' },
    });
    expect(response.headers.get('content-type')).to.include('text/csv');
    expect(await response.text()).to.match(/^model_key,generations.*\r\npicture,1,0,10,0,0\r\n$/);
  });

  const keyOfAccount = async () => {
    const { appId } = await createApp(context(), { accountId: service.person.accountId, name: 'studio' });
    return { appId, defaultKey: (await createKey(context(), { appId, name: 'a key' })).secret };
  };
});
