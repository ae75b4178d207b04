// Goal: a credential identifies its caller or is refused with the correct code, within 5 seconds of its end in every
// process.
// Method: keys made by the use cases on the memory store, several authenticators on it, and a manual clock.
import { expect } from 'chai';
import { Authenticator, CREDENTIAL_CACHE_MS, isOwnApp, requireScope } from '../../../core/access/authenticate.js';
import { formatApiKey, type Scope, SCOPES } from '../../../core/access/credential.js';
import { createKey, expireKey, revokeKey } from '../../../core/access/manage.js';
import { Gate } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/refusals.js';
import { withWallTime } from '../../fixtures/wall-clock.js';
import { CoreHarness } from '../../harness/core-harness.js';

/** Also for work that may throw synchronously. */
const codeFrom = (work: () => unknown) => codeOf((async () => work())());

describe('Authenticator', () => {
  let harness: CoreHarness;
  let authenticator: Authenticator;
  const codeFor = (credential: string | undefined) => codeFrom(() => authenticator.authenticate(credential));

  beforeEach(async () => {
    harness = await CoreHarness.open();
    authenticator = new Authenticator(harness.context);
  });

  function newKey(
    options: { readonly scopes?: readonly string[]; readonly expiresAt?: number } = {},
  ): ReturnType<typeof createKey> {
    return createKey(harness.context, { appId: harness.caller.appId, name: 'Test key', ...options });
  }

  it('answers the owner and the scopes of a key', async () => {
    const { key, secret } = await newKey({ scopes: ['uploads:write', 'credits:read'] });
    expect(await authenticator.authenticate(secret)).to.deep.equal({
      accountId: harness.caller.accountId,
      appId: harness.caller.appId,
      credentialId: key.keyId,
      scopes: ['credits:read', 'uploads:write'],
    });
  });

  it('refuses an unknown key', async () => {
    expect(await codeFor(undefined)).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(await codeFor('')).to.equal('DEVELOPER_TOKEN_REQUIRED');
    const { secret } = await newKey();
    for (const credential of [
      formatApiKey(new Uint8Array(32).fill(3)),
      secret.replace('live', 'anon'),
      'svc_oauth_x',
      `${secret} `,
      `x${secret}`,
      secret.toUpperCase(),
      'Bearer',
      '\0',
    ]) {
      expect(await codeFor(credential), credential).to.equal('DEVELOPER_TOKEN_INVALID');
    }
  });

  it('stores nothing of the secret', async () => {
    const { key, secret } = await newKey();
    const kept = JSON.stringify([await harness.ports.credentials.findKey({ keyId: key.keyId }), key]);
    for (let at = 9; at + 6 <= secret.length; at += 1) expect(kept).not.to.contain(secret.slice(at, at + 6));
  });

  it('refuses an expired key from the moment on, though it was seen just before', async () => {
    const { secret } = await newKey({ expiresAt: harness.clock.now() + 1_000 });
    harness.clock.jump(999);
    expect(await codeFor(secret)).to.equal('OK');
    harness.clock.jump(1);
    expect(await codeFor(secret)).to.equal('DEVELOPER_TOKEN_EXPIRED');
  });

  it('refuses a revoked or newly expired key in every process within 5 seconds, however often it is used', async () => {
    const others = [authenticator, new Authenticator(harness.process()), new Authenticator(harness.process())];
    for (const [end, code] of [
      [revokeKey, 'DEVELOPER_TOKEN_REVOKED'],
      [(context: CoreHarness['context'], keyId: string) => expireKey(context, keyId, 0), 'DEVELOPER_TOKEN_EXPIRED'],
    ] as const) {
      const { key, secret } = await newKey();
      for (const other of others) await other.authenticate(secret);
      await end(harness.context, key.keyId);
      for (let ms = 0; ms < 5_000; ms += 250) {
        harness.clock.jump(250);
        for (const other of others) await codeFrom(() => other.authenticate(secret));
      }
      for (const other of others) expect(await codeFrom(() => other.authenticate(secret))).to.equal(code);
      expect(
        await codeFrom(() => new Authenticator(harness.context).authenticate(secret)),
        'a process that did not know it',
      ).to.equal(code);
    }
  });

  it('does not trust its cache when the clock goes back', async () => {
    const { key, secret } = await newKey();
    await authenticator.authenticate(secret);
    await revokeKey(harness.context, key.keyId);
    harness.clock.jump(-60_000);
    expect(await codeFor(secret)).to.equal('DEVELOPER_TOKEN_REVOKED');
  });

  for (const slow of [false, true]) {
    it(`drops a cached key by a timer although the clock was set back${slow ? ' and the store answered slowly' : ''}`, async () => {
      const { key, secret } = await newKey();
      let setBackMs = 0;
      const clock = withWallTime(harness.clock, () => harness.clock.now() - setBackMs);
      const gate = new Gate();
      const { credentials } = harness.ports;
      const findKey = async (by: Parameters<typeof credentials.findKey>[0]) => {
        const found = await credentials.findKey(by);
        if (slow && !gate.reached) await gate.wait();
        return found;
      };
      const other = new Authenticator(
        harness.process(undefined, {
          clock,
          credentials: Object.assign(Object.create(credentials) as typeof credentials, { findKey }),
        }),
      );
      const first = other.authenticate(secret);
      if (!slow) await first;
      await harness.clock.advance(CREDENTIAL_CACHE_MS);
      setBackMs = CREDENTIAL_CACHE_MS;
      gate.open();
      await first;
      await revokeKey(harness.context, key.keyId);
      expect(await codeFrom(() => other.authenticate(secret))).to.equal('DEVELOPER_TOKEN_REVOKED');
    });
  }

  it('reads the store once for many requests within its cache time', async () => {
    let finds = 0;
    const { credentials } = harness.ports;
    const counting = {
      findKey: (by: Parameters<typeof credentials.findKey>[0]) => {
        finds += 1;
        return credentials.findKey(by);
      },
    };
    const cached = new Authenticator({
      ...harness.context,
      credentials: Object.assign(Object.create(credentials) as typeof credentials, counting),
    });
    const { secret } = await newKey();
    for (let request = 0; request < 50; request += 1) await cached.authenticate(secret);
    expect(finds).to.equal(1);
  });

  it('accepts a key immediately that was created after a failed lookup', async () => {
    const secret = formatApiKey(new Uint8Array(32).fill(5));
    expect(await codeFor(secret)).to.equal('DEVELOPER_TOKEN_INVALID');
    const key = {
      keyId: harness.ports.ids.uuid(),
      accountId: 'a',
      appId: 'p',
      version: 1,
      name: 'n',
      digest: harness.ports.digests.keyed(secret),
      scopes: SCOPES,
      createdAt: 0,
    };
    await harness.ports.credentials.insertKey(key);
    expect(await codeFor(secret)).to.equal('OK');
  });
});

describe('scopes and Apps', () => {
  const caller = (scopes: readonly Scope[]) => ({
    accountId: 'a',
    appId: '01900000-0000-7000-8000-00000000000a',
    credentialId: 'c',
    scopes,
  });

  it('permit what each scope says and nothing else', async () => {
    for (const held of SCOPES) {
      for (const asked of SCOPES)
        expect(await codeFrom(() => requireScope(caller([held]), asked))).to.equal(
          held === asked ? 'OK' : 'DEVELOPER_SCOPE_INSUFFICIENT',
        );
    }
  });

  it("accept the credential's own App in any letter case, or none", async () => {
    const own = caller(SCOPES);
    expect(isOwnApp(own, undefined)).to.equal(true);
    expect(isOwnApp(own, own.appId.toUpperCase())).to.equal(true);
    for (const other of ['', 'x', '01900000-0000-7000-8000-00000000000b'])
      expect(isOwnApp(own, other), other).to.equal(false);
  });
});
