/*
 * Goal: the program serves the operator's area where its configuration says so, and nowhere else: the command line makes an
 * operator, who signs in with a passkey, and what they do is in the ledger and in the log.
 * Method: the program over a folder of its own in this process, its commands, and an authenticator in software.
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { CliService } from '../../harness/cli-service.js';
import { freePort } from '../../servers/free-port.js';
import { addPasskey, signInWithPasskey } from '../console/passkey-by-link.js';

describe("the program with an operator's area", () => {
  let service: CliService;
  let origin: string;
  afterEach(() => service.stop());

  const start = async (environment: Readonly<Record<string, string>>): Promise<void> => {
    const port = String(await freePort());
    origin = `http://localhost:${port}`;
    service = await CliService.start({ ...environment, DARKROOM_REST_PORT: port, DARKROOM_REST_PUBLIC_URL: origin });
  };
  const operator = async () => {
    const created = await service.json<{ person_id: string; sign_in_link: string }>([
      'people',
      'create',
      service.accountId,
      'olga@example.com',
    ]);
    const authenticator = await addPasskey(new URL(new URL(created.sign_in_link).pathname, origin));
    expect(await service.run(['people', 'promote', created.person_id])).to.include({ code: 0 });
    return { personId: created.person_id, olga: await signInWithPasskey(origin, created.person_id, authenticator) };
  };
  const acts = () =>
    service.log
      .split('\n')
      .filter((line) => line.includes('"operator act"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('lets an operator work, and keeps a record of it', async () => {
    await start({ DARKROOM_SIGN_IN_OPERATOR_AREA: 'true' });
    const { personId, olga } = await operator();
    const id = randomUUID();
    const sent = { operation_id: id, credits: 25, reason: 'an invoice' };
    const at = `/operator/accounts/${service.accountId}/grants`;
    expect(await olga.post(at, sent)).to.include({ status: 200 });
    const { entries } = await service.json<{ entries: readonly Record<string, unknown>[] }>([
      'ledger',
      service.accountId,
    ]);
    expect(entries.at(-1)).to.include({ kind: 'grant', credits: 25, operation_id: `operator:${personId}:${id}` });
    expect(acts().map(({ outcome }) => outcome)).to.deep.equal(['begun', 'done']);
    expect(acts()[1]).to.include({ level: 'info', operatorId: personId, accountId: service.accountId, credits: 25 });
    const checked = await fetch(`${origin}/console/api/operator/verify`, {
      method: 'POST',
      headers: { 'Cookie': olga.cookie, 'Origin': origin, 'Content-Type': 'application/json' },
      body: '{}',
    });
    const last = (await checked.text()).trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).to.deep.include({ accounts: 1, findings: [] });
    expect((await olga.get('/operator/work')).data['work']).to.deep.equal([]);
    expect((await olga.get('/operator/accounts?search=demo')).data['accounts']).to.have.lengthOf(1);
    await service.run(['people', 'demote', personId]);
    expect(await olga.get('/operator/work')).to.include({ status: 403, code: 'OPERATOR_REQUIRED' });
  });

  it('has none by default', async () => {
    await start({});
    const { olga } = await operator();
    expect(await olga.get('/operator/accounts')).to.include({ status: 404, code: 'ROUTE_NOT_FOUND' });
    expect((await olga.get('/overview')).data).to.include({ has_operator_area: false });
  });
});
