// Goal: what operators do about access is checked, and a key once ended stays ended.
// Method: the use cases on memory adapters, with good and bad input.
import { expect } from 'chai';
import { createAccount, createApp, createKey, expireKey, revokeKey } from '../../../core/access/manage.js';
import { isApiKeyShaped } from '../../../core/access/api-key.js';
import { SCOPES } from '../../../core/access/credential.js';
import { CoreWorld } from '../../fixtures/core-world.js';
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

  it('loses neither of two changes made at once', async () => {
    const { key } = await createKey(world.context, { appId: world.caller.appId, name: 'Key' });
    await Promise.all([revokeKey(world.context, key.keyId), expireKey(world.process(), key.keyId, 5)]);
    expect(await world.ports.credentials.findKey({ keyId: key.keyId })).to.include({ revokedAt: world.clock.now(), expiresAt: 5, version: 3 });
  });
});
