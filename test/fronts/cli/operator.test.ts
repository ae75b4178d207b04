import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { counted, countedBooks } from '../../../apps/cli/terminal.js';
import { CliService } from '../../harness/cli-service.js';
import { refusedStart } from '../../harness/refused-start.js';
import { freePort } from '../../servers/free-port.js';
import { addPasskey, signInWithPasskey } from '../console/passkey-by-link.js';

// Goal: the operator's commands work on a data folder beside the live server, or through its gRPC front, and their
// changes take effect in the server.
// Method: commands and server in this process, the same suite both ways; results are read from --json and by calling
// the server.

interface Account {
  readonly account_id: string;
  readonly available_credits: number;
}
interface NewKey {
  readonly key_id: string;
  readonly secret: string;
  readonly scopes: readonly string[];
}

/** How the commands reach the service: the same suite applies to both ways. */
const WAYS: Readonly<Record<string, (grpcAddress: string) => readonly string[]>> = {
  'on its stores': () => [],
  'over gRPC': (address) => ['--grpc', address],
};

for (const [name, way] of Object.entries(WAYS)) {
  describe(`operator commands beside a live server, ${name}`, () => {
    let service: CliService;
    let place: readonly string[];
    before(async () => {
      const port = await freePort();
      service = await CliService.start({ DARKROOM_GRPC_PORT: String(port) });
      place = way(`127.0.0.1:${port}`);
    });
    after(() => service.stop());

    const operate = (...args: readonly string[]) => service.run([...args, ...place]);
    const operated = <T>(...args: readonly string[]) => service.json<T>([...args, ...place]);

    async function newAccount(): Promise<{ account: Account; appId: string }> {
      const account = await operated<Account>('accounts', 'create', 'studio', '--currency', 'frames');
      const { app_id: appId } = await operated<{ app_id: string }>('apps', 'create', account.account_id, 'site');
      return { account, appId };
    }

    it('create an account that can spend its grant', async () => {
      const { account, appId } = await newAccount();
      const key = await operated<NewKey>('keys', 'create', appId, '--name', 'laptop');
      expect(key.secret).to.match(/^svc_live_[0-9A-Za-z]{49}$/);
      const grant = (credits: string) =>
        operate('grants', 'create', account.account_id, credits, '--operation-id', 'invoice-1');
      expect((await grant('50')).stdout).to.equal('studio has 50 frames available (operation invoice-1).\n');
      expect((await grant('50')).stdout).to.match(
        /^The operation invoice-1 was made already at \S+; nothing changed\. studio has 50 frames available\.\n$/,
      );
      expect(await grant('51')).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: 'darkroom: The operation id invoice-1 was used before, for another amount or kind.\n',
      });
      expect((await operate('grants', 'create', account.account_id, '-5')).code, 'less than nothing').to.equal(2);
      const { code, stdout } = await service.run(['credits'], { environment: { DARKROOM_API_KEY: key.secret } });
      expect({ code, stdout }).to.deep.equal({ code: 0, stdout: '50 frames\n' });
      expect(
        (await service.run(['generate', 'x', '-m', 'sandbox-test'], { environment: { DARKROOM_API_KEY: key.secret } }))
          .code,
      ).to.equal(0);
      expect(
        (await operate('adjustments', 'create', account.account_id, '-9', '--reason', 'granted too much')).stdout,
      ).to.include('has 40 frames available');
      const refused = await operate('adjustments', 'create', account.account_id, '-41', '--reason', 'too much');
      expect(refused).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: 'darkroom: The adjustment would take the balance below zero.\n',
      });
      const { entries } = await operated<{ entries: { kind: string; credits: number }[] }>(
        'ledger',
        account.account_id,
      );
      expect(entries.map(({ kind, credits }) => `${kind} ${credits}`)).to.deep.equal([
        'grant 50',
        'hold 1',
        'charge 1',
        'adjustment 9',
      ]);
      expect((await operate('verify')).code).to.equal(0);
    });

    it('cap what a key may spend in a month', async () => {
      const { account, appId } = await newAccount();
      await operate('grants', 'create', account.account_id, '50', '--operation-id', 'invoice-1');
      const key = await operated<NewKey & { monthly_cap: number }>(
        'keys',
        'create',
        appId,
        '--name',
        'capped',
        '--monthly-cap',
        '1',
      );
      expect(key.monthly_cap).to.equal(1);
      const environment = { DARKROOM_API_KEY: key.secret };
      const generate = () => service.run(['generate', 'x', '-m', 'sandbox-test'], { environment });
      expect((await generate()).code).to.equal(0);
      const { code, stderr } = await generate();
      expect(code).to.equal(3);
      expect(stderr).to.include("estimated above the key's spending cap\n");
      expect(stderr).to.include(
        "This would reserve 1 credit, which is more than is left of the credential's spending cap of 1 credit a month (UTC); the account itself has ",
      );
      const { keys } = await operated<{ keys: { monthly_cap?: number }[] }>('keys', 'list', account.account_id);
      expect(keys.map(({ monthly_cap: cap }) => cap)).to.deep.equal([1]);
      expect((await operate('verify')).code).to.equal(0);
    });

    it('say when a new key ends, and need the account of Apps where there are several', async () => {
      const { appId } = await newAccount();
      await newAccount();
      const made = await operate('keys', 'create', appId, '--name', 'short', '--expires', '2999-01-31');
      expect(made.stdout).to.match(/^expires: +2999-01-31T00:00:00\.000Z$/m);
      const { code, stderr } = await operate('apps', 'list');
      expect(code).to.equal(2);
      expect(stderr).to.match(
        /^darkroom: There are several accounts: name one by its id, which darkroom accounts list/,
      );
    });

    it('end keys, immediately and permanently', async () => {
      const { account, appId } = await newAccount();
      const create = (...more: string[]) =>
        operated<NewKey>('keys', 'create', appId, '--name', 'k', '--scope', 'credits:read', ...more);
      const [revoked, expired, kept] = [await create(), await create(), await create('--expires', '90d')];
      expect(kept.scopes).to.deep.equal(['credits:read']);
      const answerTo = async (key: NewKey) =>
        (
          await service.json<{ error?: { code: string } }>(['credits'], {
            environment: { DARKROOM_API_KEY: key.secret },
          })
        ).error?.code;
      expect(await answerTo(revoked)).to.equal(undefined);
      await operate('keys', 'revoke', revoked.key_id);
      await operate('keys', 'expire', expired.key_id, 'now');
      // The server may remember a key for a few seconds. Requests without a pause would reach the rate limit.
      while ((await answerTo(revoked)) !== 'DEVELOPER_TOKEN_REVOKED') await sleep(500);
      expect(await answerTo(expired)).to.equal('DEVELOPER_TOKEN_EXPIRED');
      expect(await answerTo(kept)).to.equal(undefined);
      expect(await operate('keys', 'expire', revoked.key_id, '90d')).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `darkroom: Key ${revoked.key_id} (k) is revoked already; nothing was changed.\n`,
      });
      expect(
        (await operate('keys', 'create', appId, '--name', 'k', '--scope', 'everything')).code,
        'a scope there is not',
      ).to.equal(2);
      const { stdout } = await operate('keys', 'list', account.account_id);
      expect(stdout)
        .to.match(/ revoked /)
        .and.to.match(/ expired /)
        .and.to.match(/ until \d{4}-/);
      expect(stdout).not.to.include(revoked.secret.slice(9));
    });

    it('show lists a page at a time', async () => {
      await newAccount();
      const seen: string[] = [];
      for (let cursor: string | undefined, pages = 0; pages < 100; pages += 1) {
        const page: { accounts: Account[]; next_cursor?: string } = await operated(
          'accounts',
          'list',
          '--limit',
          '1',
          ...(cursor === undefined ? [] : ['--cursor', cursor]),
        );
        seen.push(...page.accounts.map(({ account_id }) => account_id));
        cursor = page.next_cursor;
        if (cursor === undefined) break;
      }
      const all = await operated<{ accounts: Account[] }>('accounts', 'list');
      expect(seen)
        .to.deep.equal(all.accounts.map(({ account_id }) => account_id))
        .and.to.have.length.above(1);
    });

    it('find nothing to recover in a running service', async () => {
      const found = Object.values(await operated<Record<string, number>>('recover'));
      expect(found).to.not.have.length(0);
      expect(found.every(Number.isInteger)).to.equal(true);
    });
  });
}

describe('operator commands on the stores beside a live server', () => {
  let service: CliService;
  before(async () => {
    service = await CliService.start();
  });
  after(() => service.stop());

  it('create a key in spite of a faulty catalog', async () => {
    writeFileSync(join(service.folder, 'faulty.yaml'), 'version: 1\nmodels: []\n');
    const environment = { DARKROOM_CATALOG: 'faulty.yaml' };
    expect((await service.run(['keys', 'list', service.accountId], { environment })).code).to.equal(0);
    const checked = await service.run(['catalog', 'check'], { environment });
    expect(checked.code).to.equal(1);
    expect(checked.stderr).to.match(/faulty\.yaml:2: models must have at least 1 item\.\n$/);
    expect(refusedStart((await service.run(['serve'], { environment })).stderr)).to.match(
      /faulty\.yaml:2: models must have at least 1 item\.\n$/,
    );
  });

  it('create a data folder with an account in it', async () => {
    const inFolder = { DARKROOM_DATA_FOLDER: 'second' };
    const missing = await service.run(['accounts', 'list'], { environment: inFolder });
    expect(missing.code).to.equal(1);
    expect(missing.stderr).to.match(
      /^darkroom: There is no Darkroom data in .+second; run darkroom init, or name the right data_folder\.\n$/,
    );
    const made = await service.json<{ account_id: string; secret: string }>(
      ['init', '--account', 'mine', '--credits', '7'],
      { environment: inFolder },
    );
    expect(
      await service.json<Account>(['accounts', 'show', made.account_id], { environment: inFolder }),
    ).to.have.property('available_credits', 7);
    expect((await service.run(['init'], { environment: inFolder })).code).to.equal(0);
    const again = await service.run(['init', '--account', ' mine ', '--credits', '7'], { environment: inFolder });
    expect([again.code, again.stderr]).to.deep.equal([
      1,
      'darkroom: There is an account mine already, and nothing was made; darkroom accounts create makes another of this name.\n',
    ]);
  });
});

/*
 * Goal: the program serves the operator's area where its configuration says so, and nowhere else: the command line
 * makes an operator, who signs in with a passkey, and their actions are in the ledger and in the log.
 * Method: the program over its own folder in this process, its commands, and an authenticator in software.
 */

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

  it("performs an operator's commands, and keeps a record of them", async () => {
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

// Goal: counts in a command's output are correct English for any number.
// Method: plain cases.

describe('counted things', () => {
  it('are one or many', () => {
    expect([0, 1, 2].map((count) => counted(count, 'object'))).to.deep.equal(['0 objects', '1 object', '2 objects']);
    expect(countedBooks({ accounts: 1, entries: 1, generations: 1 })).to.equal('1 account, 1 entry and 1 generation');
    expect(countedBooks({ accounts: 2, entries: 3, generations: 0 })).to.equal(
      '2 accounts, 3 entries and 0 generations',
    );
  });
});
