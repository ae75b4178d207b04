// Goal: a key records the UTC day of its last use, with one write a day for any number of requests and processes; no
// request waits for that write or fails with it.
// Method: authenticators of several processes on the memory stores, calls counted, a manual clock moved across
// midnights and back.
import { expect } from 'chai';
import { Authenticator, CREDENTIAL_CACHE_MS } from '../../../core/access/authenticate.js';
import { createKey, expireKey, revokeKey, suspendAccount } from '../../../core/access/manage.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { codeOf } from '../../fixtures/refusals.js';
import { withWallTime } from '../../fixtures/wall-clock.js';
import { CoreHarness } from '../../harness/core-harness.js';

const DAY_MS = 86_400_000;

describe('the last use of a key', () => {
  let harness: CoreHarness;
  let writes: number;
  let secret: string;
  let keyId: string;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    writes = 0;
    const made = await createKey(harness.context, { appId: harness.caller.appId, name: 'Test key' });
    [secret, keyId] = [made.secret, made.key.keyId];
  });

  const process = (skewMs = 0) =>
    new Authenticator(
      harness.process(
        (call) => {
          if (call.name === 'credentials.replaceKey') writes += 1;
          return call.proceed();
        },
        { clock: withWallTime(harness.clock, () => harness.clock.now() + skewMs) },
      ),
    );
  const lastUse = async () => (await harness.ports.credentials.findKey({ keyId }))?.lastUsedAt;
  const today = () => Math.floor(harness.clock.now() / DAY_MS) * DAY_MS;
  const use = async (...authenticators: Authenticator[]) => {
    for (const authenticator of authenticators) await authenticator.authenticate(secret);
    harness.clock.jump(CREDENTIAL_CACHE_MS);
  };

  it('is absent before, and the day from the first use on', async () => {
    expect(await lastUse()).to.equal(undefined);
    await use(process());
    expect(await lastUse()).to.equal(today());
  });

  it('is written once a day for three processes and hundreds of uses', async () => {
    const all = [process(), process(), process()];
    for (let day = 1; day <= 3; day += 1) {
      for (let uses = 0; uses < 100; uses += 1) await use(...all);
      expect([writes, await lastUse()]).to.deep.equal([day, today()]);
      harness.clock.jump(DAY_MS);
    }
  });

  it('is not written back and forth by two clocks on the two sides of midnight', async () => {
    harness.clock.jump(today() + DAY_MS - harness.clock.now() - 1_000 * CREDENTIAL_CACHE_MS);
    const [behind, ahead] = [process(), process(500 * CREDENTIAL_CACHE_MS)];
    for (let uses = 0; uses < 2_000; uses += 1) await use(behind, ahead);
    expect([writes, await lastUse()]).to.deep.equal([2, today()]);
  });

  it('recovers from a clock that was years ahead: the next use corrects the day, once', async () => {
    await use(process(5_000 * DAY_MS));
    expect(await lastUse()).to.be.above(today() + DAY_MS);
    const right = process();
    for (let uses = 0; uses < 10; uses += 1) await use(right);
    expect([writes, await lastUse()]).to.deep.equal([2, today()]);
  });

  it('is not recorded when the key is refused', async () => {
    await suspendAccount(harness.context, harness.caller.accountId);
    expect(await codeOf(process().authenticate(secret))).to.equal('DEVELOPER_TOKEN_REVOKED');
    await expireKey(harness.context, keyId, 0);
    expect(await codeOf(process().authenticate(secret))).to.equal('DEVELOPER_TOKEN_EXPIRED');
    expect([writes, await lastUse()]).to.deep.equal([0, undefined]);
  });

  for (const [fate, replaceKey] of [
    ['never ends', () => new Promise<never>(() => undefined)],
    ['fails', () => Promise.reject(new StoreUnavailable('The store is away.'))],
  ] as const) {
    it(`does not fail a request whose write ${fate}`, async () => {
      const { credentials } = harness.ports;
      const context = harness.process(undefined, {
        credentials: Object.assign(Object.create(credentials) as typeof credentials, { replaceKey }),
      });
      expect((await new Authenticator(context).authenticate(secret)).credentialId).to.equal(keyId);
      expect(await lastUse()).to.equal(undefined);
    });
  }

  it('never undoes a revocation that came between its read and its write', async () => {
    const { credentials } = harness.ports;
    const replaceKey = async (...args: Parameters<typeof credentials.replaceKey>) => {
      await revokeKey(harness.context, keyId);
      return credentials.replaceKey(...args);
    };
    const slow = new Authenticator(
      harness.process(undefined, {
        credentials: Object.assign(Object.create(credentials) as typeof credentials, { replaceKey }),
      }),
    );
    await slow.authenticate(secret);
    await new Promise(setImmediate);
    const key = await credentials.findKey({ keyId });
    expect([key?.revokedAt, key?.lastUsedAt]).to.deep.equal([harness.clock.now(), undefined]);
  });
});
