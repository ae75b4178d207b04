// Goal: what operators do about access is checked, and a key once ended stays ended.
// Method: the use cases on memory adapters, with good and bad input.
import { expect } from 'chai';
import { createAccount, createApp, createKey, expireKey, revokeKey } from '../../../core/access/manage.js';
import { isApiKeyShaped } from '../../../core/access/api-key.js';
import { SCOPES } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { CallOver } from '../../../core/cancellation.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/refusals.js';

describe('access management', () => {
  let world: CoreWorld;
  beforeEach(async () => { world = await CoreWorld.open(); });

  it('makes accounts that own nothing and owe nothing', async () => {
    const account = await createAccount(world.context, { name: '  Studio  ' });
    expect(account).to.include({ name: 'Studio', currency: 'credits', version: 0, issued: 0, available: 0, reserved: 0, spent: 0, lastSequence: 0 });
    for (const name of ['', '   ', 'x'.repeat(101)]) expect(await codeOf(createAccount(world.context, { name }))).to.equal('FIELD_INVALID');
  });

  it('makes Apps of accounts that are there', async () => {
    expect(await codeOf(createApp(world.context, { accountId: world.caller.accountId, name: 'App' }))).to.equal('OK');
    expect(await codeOf(createApp(world.context, { accountId: 'nobody', name: 'App' }))).to.equal('NOT_FOUND');
  });

  it('makes keys with all scopes or some, and no others', async () => {
    const { appId } = world.caller;
    const { key, secret } = await createKey(world.context, { appId, name: 'Key' });
    expect([key.scopes, isApiKeyShaped(secret), key.digest]).to.deep.equal([SCOPES, true, world.ports.digests.keyed(secret)]);
    expect((await createKey(world.context, { appId, name: 'Key', scopes: ['credits:read', 'credits:read'] })).key.scopes).to.deep.equal(['credits:read']);
    for (const scopes of [[], ['credits:write'], ['credits:read', '']]) expect(await codeOf(createKey(world.context, { appId, name: 'Key', scopes }))).to.equal('FIELD_INVALID');
    expect(await codeOf(createKey(world.context, { appId, name: 'Key', expiresAt: world.clock.now() }))).to.equal('FIELD_INVALID');
    for (const expiresAt of [Date.UTC(10_000, 0), 1e16, Infinity, NaN]) {
      expect(await codeOf(createKey(world.context, { appId, name: 'Key', expiresAt })), `${expiresAt}`).to.equal('FIELD_INVALID');
      expect(await codeOf(expireKey(world.context, 'any', expiresAt)), `${expiresAt}`).to.equal('FIELD_INVALID');
    }
    expect(await codeOf(createKey(world.context, { appId: 'none', name: 'Key' }))).to.equal('NOT_FOUND');
  });

  it('revokes once, for good', async () => {
    const { key } = await createKey(world.context, { appId: world.caller.appId, name: 'Key' });
    const first = await revokeKey(world.context, key.keyId);
    world.clock.jump(1_000);
    expect(await revokeKey(world.context, key.keyId)).to.deep.equal(first);
    expect(await expireKey(world.context, key.keyId, world.clock.now() + 1_000)).to.include({ revokedAt: first.revokedAt });
    expect(await codeOf(revokeKey(world.context, 'none'))).to.equal('NOT_FOUND');
  });

  it('begins to write nothing for a call that is over by then', async () => {
    const { key } = await createKey(world.context, { appId: world.caller.appId, name: 'Key' });
    const { accountId, appId } = world.caller;
    // Its caller goes when the first thing has been read.
    const leaving = (): Context => {
      const call = new TestedCall();
      const leave: Interceptor = async (asked) => { const answer = await asked.proceed(); call.end(); return answer; };
      const { accounts, credentials } = world.ports;
      return { ...world.context, call, accounts: intercepted('accounts', accounts, leave), credentials: intercepted('credentials', credentials, leave) };
    };
    const left = [
      createAccount({ ...world.context, call: TestedCall.over() }, { name: 'new' }),
      createApp(leaving(), { accountId, name: 'new' }),
      createKey(leaving(), { appId, name: 'new' }),
      revokeKey(leaving(), key.keyId),
      expireKey(leaving(), key.keyId, 5),
    ];
    for (const work of left) expect(await work.catch((error: unknown) => error)).to.be.instanceOf(CallOver);
    expect(await world.ports.credentials.findKey({ keyId: key.keyId })).to.deep.equal(key);
    const page = { limit: 10 };
    expect([(await world.ports.accounts.list(page)).items.length, (await world.ports.credentials.listApps(accountId, page)).items.length, (await world.ports.credentials.listKeys(accountId, page)).items.length])
      .to.deep.equal([1, 1, 1]);
  });

  it('loses neither of two changes made at once', async () => {
    const { key } = await createKey(world.context, { appId: world.caller.appId, name: 'Key' });
    await Promise.all([revokeKey(world.context, key.keyId), expireKey(world.process(), key.keyId, 5)]);
    expect(await world.ports.credentials.findKey({ keyId: key.keyId })).to.include({ revokedAt: world.clock.now(), expiresAt: 5, version: 3 });
  });
});
