import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { Authenticator, CREDENTIAL_CACHE_MS, isOwnApp, requireScope } from '../../../core/access/authenticate.js';
import { API_KEY_BYTES, formatApiKey, isApiKeyShaped, type Scope, SCOPES } from '../../../core/access/credential.js';
import { createKey, expireKey, revokeKey, suspendAccount } from '../../../core/access/manage.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { withWallTime } from '../../fixtures/clocks.js';
import { Gate } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: a credential identifies its caller or is refused with the correct code, within 5 seconds of its end in every
// process.
// Method: keys made by the use cases on the memory store, several authenticators on it, and a manual clock.

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

// Goal: an API key has the promised format and carries all of its 32 bytes; a mistyped key is detected without a
// lookup.
// Method: random bytes; the body is read back as a number and the checksum is computed by zlib; every single character
// of a key is replaced.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const bytes = fc.uint8Array({ minLength: API_KEY_BYTES, maxLength: API_KEY_BYTES });

function numberOf(text: string): bigint {
  return [...text].reduce((value, digit) => value * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
}

describe('API keys', () => {
  it('are svc_live_, the 32 bytes in 43 digits of base 62, and the CRC-32 of those in 6', () => {
    fc.assert(
      fc.property(bytes, (random) => {
        const key = formatApiKey(random);
        expect(key).to.match(/^svc_live_[0-9A-Za-z]{49}$/);
        expect(numberOf(key.slice(9, 52))).to.equal(BigInt(`0x${Buffer.from(random).toString('hex')}`));
        expect(numberOf(key.slice(52))).to.equal(BigInt(crc32(key.slice(9, 52))));
        expect(isApiKeyShaped(key)).to.equal(true);
      }),
      { examples: [[new Uint8Array(32)], [new Uint8Array(32).fill(255)]] },
    );
  });

  it('are refused with any one character changed, missing, doubled or added', () => {
    forAllSync(50, [bytes, fc.constantFrom(...DIGITS, ' ', '\n', '-', '_', 'é', '\0')], (random, other) => {
      const key = formatApiKey(random);
      for (let index = 0; index < key.length; index += 1) {
        if (key[index] !== other)
          expect(isApiKeyShaped(key.slice(0, index) + other + key.slice(index + 1)), `${index} ${other}`).to.equal(
            false,
          );
        expect(isApiKeyShaped(key.slice(0, index) + key.slice(index + 1))).to.equal(false);
        expect(isApiKeyShaped(key.slice(0, index) + (key[index] ?? '') + key.slice(index))).to.equal(false);
      }
      expect(isApiKeyShaped(key + other)).to.equal(false);
    });
  });

  it('are refused with another prefix', () => {
    const key = formatApiKey(new Uint8Array(32).fill(9));
    for (const prefix of ['svc_anon_', 'svc_oauth_', 'SVC_LIVE_', ' svc_live_', ''])
      expect(isApiKeyShaped(prefix + key.slice(9))).to.equal(false);
  });
});

// Goal: a key records the UTC day of its last use, with one write a day for any number of requests and processes; no
// request waits for that write or fails with it.
// Method: authenticators of several processes on the memory stores, calls counted, a manual clock moved across
// midnights and back.

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
    await expectCode('DEVELOPER_TOKEN_REVOKED', process().authenticate(secret));
    await expireKey(harness.context, keyId, 0);
    await expectCode('DEVELOPER_TOKEN_EXPIRED', process().authenticate(secret));
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
