// Goal: operators' changes to access are validated, and a key that has ended stays ended.
// Method: the use cases on memory adapters, with valid and invalid input.
import { expect } from 'chai';
import { DEFAULT_SCOPES, isApiKeyShaped, SCOPES } from '../../../core/access/credential.js';
import { createAccount, createApp, createKey, expireKey, revokeKey } from '../../../core/access/manage.js';
import { CallOver } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

describe('access management', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('creates accounts without credits or holds', async () => {
    const account = await createAccount(harness.context, { name: '  Studio  ' });
    expect(account).to.include({
      name: 'Studio',
      currency: 'credits',
      version: 0,
      issued: 0,
      available: 0,
      reserved: 0,
      spent: 0,
      lastSequence: 0,
    });
    for (const name of ['', '   ', 'x'.repeat(101)])
      expect(await codeOf(createAccount(harness.context, { name }))).to.equal('FIELD_INVALID');
  });

  it('creates Apps of existing accounts', async () => {
    expect(await codeOf(createApp(harness.context, { accountId: harness.caller.accountId, name: 'App' }))).to.equal(
      'OK',
    );
    expect(await codeOf(createApp(harness.context, { accountId: 'nobody', name: 'App' }))).to.equal('NOT_FOUND');
  });

  it('creates keys with the scopes of their default or those asked for, and no others', async () => {
    const { appId } = harness.caller;
    const { key, secret } = await createKey(harness.context, { appId, name: 'Key' });
    expect([key.scopes, isApiKeyShaped(secret), key.digest]).to.deep.equal([
      DEFAULT_SCOPES,
      true,
      harness.ports.digests.keyed(secret),
    ]);
    expect(
      (await createKey(harness.context, { appId, name: 'Key', scopes: ['credits:read', 'credits:read'] })).key.scopes,
    ).to.deep.equal(['credits:read']);
    expect((await createKey(harness.context, { appId, name: 'Key', scopes: SCOPES })).key.scopes).to.deep.equal(SCOPES);
    for (const scopes of [[], ['credits:write'], ['credits:read', '']])
      expect(await codeOf(createKey(harness.context, { appId, name: 'Key', scopes }))).to.equal('FIELD_INVALID');
    expect(await codeOf(createKey(harness.context, { appId, name: 'Key', expiresAt: harness.clock.now() }))).to.equal(
      'FIELD_INVALID',
    );
    for (const expiresAt of [Date.UTC(10_000, 0), 1e16, Infinity, NaN]) {
      expect(await codeOf(createKey(harness.context, { appId, name: 'Key', expiresAt })), `${expiresAt}`).to.equal(
        'FIELD_INVALID',
      );
      expect(await codeOf(expireKey(harness.context, 'any', expiresAt)), `${expiresAt}`).to.equal('FIELD_INVALID');
    }
    expect(await codeOf(createKey(harness.context, { appId: 'none', name: 'Key' }))).to.equal('NOT_FOUND');
  });

  it('revokes once, permanently', async () => {
    const { key } = await createKey(harness.context, { appId: harness.caller.appId, name: 'Key' });
    const first = await revokeKey(harness.context, key.keyId);
    harness.clock.jump(1_000);
    expect(await revokeKey(harness.context, key.keyId)).to.deep.equal(first);
    expect(await expireKey(harness.context, key.keyId, harness.clock.now() + 1_000)).to.include({
      revokedAt: first.revokedAt,
    });
    expect(await codeOf(revokeKey(harness.context, 'none'))).to.equal('NOT_FOUND');
  });

  it('writes nothing for a call that is already over', async () => {
    const { key } = await createKey(harness.context, { appId: harness.caller.appId, name: 'Key' });
    const { accountId, appId } = harness.caller;
    // Its caller disconnects after the first read.
    const leaving = (): Context => {
      const call = new TestedCall();
      const leave: Interceptor = async (asked) => {
        const answer = await asked.proceed();
        call.end();
        return answer;
      };
      const { accounts, credentials } = harness.ports;
      return {
        ...harness.context,
        call,
        accounts: intercepted('accounts', accounts, leave),
        credentials: intercepted('credentials', credentials, leave),
      };
    };
    const left = [
      createAccount({ ...harness.context, call: TestedCall.over() }, { name: 'new' }),
      createApp(leaving(), { accountId, name: 'new' }),
      createKey(leaving(), { appId, name: 'new' }),
      revokeKey(leaving(), key.keyId),
      expireKey(leaving(), key.keyId, 5),
    ];
    for (const work of left) expect(await work.catch((error: unknown) => error)).to.be.instanceOf(CallOver);
    expect(await harness.ports.credentials.findKey({ keyId: key.keyId })).to.deep.equal(key);
    const page = { limit: 10 };
    expect([
      (await harness.ports.accounts.list(page)).items.length,
      (await harness.ports.credentials.listApps(accountId, page)).items.length,
      (await harness.ports.credentials.listKeys(accountId, page)).items.length,
    ]).to.deep.equal([1, 1, 1]);
  });

  it('loses neither of two concurrent changes', async () => {
    const { key } = await createKey(harness.context, { appId: harness.caller.appId, name: 'Key' });
    await Promise.all([revokeKey(harness.context, key.keyId), expireKey(harness.process(), key.keyId, 5)]);
    expect(await harness.ports.credentials.findKey({ keyId: key.keyId })).to.include({
      revokedAt: harness.clock.now(),
      expiresAt: 5,
      version: 3,
    });
  });
});
