// Goal: what an operator changes in the data folder, or through gRPC, takes effect in the running server, within its
// bound.
// Method: commands in this process beside the compiled server, which is a separate process, both ways. The bound of a
// revocation is not timed: requests are counted, spaced by a fraction of the time that a credential may be cached.
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf, OPERATOR_SCOPES } from '../../apps/grpc/callers.js';
import { CREDENTIAL_CACHE_MS } from '../../core/access/authenticate.js';
import { CliRun, type Ran } from '../harness/cli-run.js';
import { type Client, LiveService, type Tenant } from './live-service.js';

const REVOKED_WITHIN_MS = 5_000;
const POLLS = 10;

const TOKEN = 'the-operators-own-token';
const CALLERS = JSON.stringify({
  callers: [{ name: 'operator', token_sha256: digestOf(TOKEN), scopes: OPERATOR_SCOPES }],
});

/** How an operator reaches the stores of a running service. */
const WAYS: Readonly<Record<string, (service: LiveService, args: readonly string[]) => Promise<Ran>>> = {
  'beside the live server': (service, args) => service.run(...args),
  "through the live server's gRPC front": (service, args) =>
    new CliRun(service.folder, [...args, '--grpc', service.grpcAddress], {
      environment: { DARKROOM_SERVICE_TOKEN: TOKEN },
    }).ended,
};

for (const [way, reach] of Object.entries(WAYS)) {
  describe(`an operator ${way}`, () => {
    let service: LiveService;
    let tenant: Tenant;
    let client: Client;
    const operate = (...args: readonly string[]) => reach(service, args);

    before(async () => {
      service = await LiveService.start({ callers: CALLERS });
    });
    after(() => service.remove());
    beforeEach(async () => {
      tenant = await service.tenant(100);
      client = service.client(tenant.secret);
    });

    it('tops an account up', async () => {
      expect(await client.balance()).to.equal(100);
      expect((await operate('grants', 'create', tenant.accountId, '900')).code).to.equal(0);
      expect(await client.balance()).to.equal(1_000);
      const { data } = await client.create('all', 'sandbox-noop', { n: 4 });
      await client.until(data['generation_id'] as string);
      expect((await operate('grants', 'create', tenant.accountId, '4')).code).to.equal(0);
      expect(
        (await client.create('more', 'sandbox-noop', { n: 4 })).status,
        'the server decides on what the operator wrote',
      ).to.equal(202);
    });

    /** The answers after a key was ended, one every tenth of the time that a process may cache a credential. */
    async function answersUntil(code: string): Promise<string[]> {
      const answers: string[] = [];
      while (answers.at(-1) !== code && answers.length <= POLLS + 1) {
        answers.push((await client.request('GET', '/credits')).code);
        if (answers.at(-1) !== code) await sleep(CREDENTIAL_CACHE_MS / POLLS);
      }
      return answers;
    }

    it('revokes a key, which is refused once no process may have it cached', async () => {
      expect(CREDENTIAL_CACHE_MS).to.be.below(REVOKED_WITHIN_MS);
      expect((await client.request('GET', '/credits')).code).to.equal('OK');
      expect((await operate('keys', 'revoke', tenant.keyId)).code).to.equal(0);
      const answers = await answersUntil('DEVELOPER_TOKEN_REVOKED');
      expect(answers.at(-1), answers.join(' ')).to.equal('DEVELOPER_TOKEN_REVOKED');
      for (const refused of await Promise.all([
        client.create('k', 'sandbox-noop'),
        client.look(tenant.keyId),
        client.cancel(tenant.keyId),
      ])) {
        expect([refused.status, refused.code]).to.deep.equal([401, 'DEVELOPER_TOKEN_REVOKED']);
      }
    });

    it('expires a key', async () => {
      expect((await client.request('GET', '/credits')).code).to.equal('OK');
      expect((await operate('keys', 'expire', tenant.keyId, 'now')).code).to.equal(0);
      expect((await answersUntil('DEVELOPER_TOKEN_EXPIRED')).at(-1)).to.equal('DEVELOPER_TOKEN_EXPIRED');
    });

    it('grants a key no more than its scopes', async () => {
      const { stdout } = await operate(
        'keys',
        'create',
        tenant.appId,
        '--name',
        'reader',
        '--scope',
        'credits:read',
        '--json',
      );
      const reader = service.client((JSON.parse(stdout) as { secret: string }).secret);
      expect((await reader.request('GET', '/credits')).code).to.equal('OK');
      const refused = await reader.create('k', 'sandbox-noop');
      expect([refused.status, refused.code]).to.deep.equal([403, 'DEVELOPER_SCOPE_INSUFFICIENT']);
    });

    it('verifies the ledgers while they are being written', async () => {
      const load = { isOver: false };
      let created = 0;
      const clients = Array.from({ length: 4 }, async (_, index) => {
        for (let next = 0; !load.isOver && next < 10; next += 1) {
          const { status } = await client.create(`${index}-${next}`, 'sandbox-noop', { n: 2 });
          if (status === 202) created += 1;
        }
      });
      for (let times = 0; times < 3; times += 1) {
        const { code, stdout, stderr } = await operate('verify');
        expect(code, stdout + stderr).to.equal(0);
      }
      load.isOver = true;
      await Promise.all(clients);
      expect(created).to.be.above(0);
    });
  });
}
