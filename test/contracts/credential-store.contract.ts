// Goal: every credential store keeps Apps and keys, finds keys by digest and id, guards them by version and lists them
// in order.
// Method: failure cases one by one, concurrent writers, and lists read in pages of every size.
import { expect } from 'chai';
import fc from 'fast-check';
import type { CredentialStore } from '../../core/ports/stores.js';
import { anApiKey, anApp, uuidAt } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject } from './subject.js';
import { allPages } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

export function credentialStoreContract(subject: ContractSubject<CredentialStore>): void {
  contract('CredentialStore contract', subject, (store) => {
    describe('Apps', () => apps(store));
    describe('keys', () => keys(store));
    describe('replaced keys', () => replacedKeys(store));
    describe('reads for a call', () =>
      endedCalls(async () => {
        await store().insertApp(anApp(1));
        await store().insertKey(anApiKey(1));
        return {
          readApp: (call) => store().readApp(uuidAt(1), call),
          listApps: (call) => store().listApps(uuidAt(1), { limit: 5 }, call),
          listKeys: (call) => store().listKeys(uuidAt(1), { limit: 5 }, call),
        };
      }));
  });
}

function apps(store: () => CredentialStore): void {
  it('reads null where there is no App', async () => {
    await store().insertApp(anApp(1));
    for (const id of [uuidAt(2), '', 'x', uuidAt(1).replaceAll('-', '')])
      expect(await store().readApp(id), id).to.equal(null);
  });

  it('keeps the first App of an id', async () => {
    expect(await store().insertApp(anApp(1))).to.equal('created');
    expect(await store().insertApp(anApp(1, { name: 'other' }))).to.equal('exists');
    expect(await store().readApp(uuidAt(1))).to.deep.equal(anApp(1));
  });

  it('changes the name of an App, and nothing else', async () => {
    await store().insertApp(anApp(1));
    await store().insertApp(anApp(2));
    for (const id of [uuidAt(1), uuidAt(9), 'x']) await store().renameApp(id, "O'Größe 水 $x");
    expect(await store().readApp(uuidAt(1))).to.deep.equal(anApp(1, { name: "O'Größe 水 $x" }));
    expect(await store().readApp(uuidAt(2))).to.deep.equal(anApp(2));
    expect(await store().readApp(uuidAt(9))).to.equal(null);
  });

  it('lists the Apps of one account in order of id, complete, in pages of any size', async () => {
    const inserted = [5, 3, 9, 1, 7].map((n) => anApp(n));
    for (const app of [...inserted, anApp(4, { accountId: uuidAt(100) })]) await store().insertApp(app);
    const expected = inserted.toSorted((a, b) => (a.appId < b.appId ? -1 : 1));
    await forAll(12, [fc.integer({ min: 1, max: 6 })], async (limit) => {
      expect(await allPages((page) => store().listApps(uuidAt(1), page), limit)).to.deep.equal(expected);
    });
    expect(await store().listApps(uuidAt(101), { limit: 5 })).to.deep.equal({ items: [] });
  });
}

function keys(store: () => CredentialStore): void {
  it('finds null for a digest or an id that no key has', async () => {
    await store().insertKey(anApiKey(1));
    for (const digest of ['', 'x', anApiKey(2).digest, anApiKey(1).digest.slice(1)])
      expect(await store().findKey({ digest }), digest).to.equal(null);
    for (const keyId of ['', 'x', uuidAt(2)]) expect(await store().findKey({ keyId }), keyId).to.equal(null);
  });

  it('refuses a taken id and a taken digest, and writes nothing', async () => {
    expect(await store().insertKey(anApiKey(1))).to.equal('created');
    expect(await store().insertKey(anApiKey(1, { digest: 'cc'.repeat(32) }))).to.equal('exists');
    expect(await store().insertKey(anApiKey(2, { digest: anApiKey(1).digest }))).to.equal('exists');
    expect(await store().findKey({ digest: 'cc'.repeat(32) })).to.equal(null);
    expect(await store().findKey({ keyId: uuidAt(2) })).to.equal(null);
    expect((await store().listKeys(uuidAt(1), { limit: 10 })).items).to.deep.equal([anApiKey(1)]);
  });

  it('finds a key by digest and by id, revoked, expired or neither, every field of it', async () => {
    const { hint: _hint, revokedAt: _revoked, expiresAt: _expires, ...early } = anApiKey(2);
    const { lastUsedAt: _used, monthlyCap: _cap, ...open } = early;
    for (const key of [anApiKey(1), open, anApiKey(3, { monthlyCap: 0 })]) {
      await store().insertKey(key);
      expect(await store().findKey({ keyId: key.keyId })).to.deep.equal(key);
      expect(await store().findKey({ digest: key.digest })).to.deep.equal(key);
    }
  });

  it('lists the keys of one account in order of id, complete, in pages of any size', async () => {
    const inserted = [5, 3, 9, 1, 7].map((n) => anApiKey(n));
    for (const key of [...inserted, anApiKey(4, { accountId: uuidAt(100) })]) await store().insertKey(key);
    const expected = inserted.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
    await forAll(12, [fc.integer({ min: 1, max: 6 })], async (limit) => {
      expect(await allPages((page) => store().listKeys(uuidAt(1), page), limit)).to.deep.equal(expected);
    });
  });
}

function replacedKeys(store: () => CredentialStore): void {
  it('refuses to replace a missing key', async () => {
    expect(await store().replaceKey(anApiKey(1, { version: 1 }), 0)).to.equal('conflict');
    expect(await store().findKey({ keyId: uuidAt(1) })).to.equal(null);
  });

  it('refuses to replace another version, and changes nothing', async () => {
    await store().insertKey(anApiKey(1, { version: 3 }));
    for (const version of [2, 4])
      expect(await store().replaceKey(anApiKey(1, { version: 5, name: 'other' }), version)).to.equal('conflict');
    expect(await store().findKey({ keyId: uuidAt(1) })).to.deep.equal(anApiKey(1, { version: 3 }));
  });

  it('replaces the mutable fields, and shows them by digest immediately', async () => {
    const { revokedAt: _revoked, lastUsedAt: _used, ...open } = anApiKey(1);
    await store().insertKey(open);
    const revoked = { ...open, version: 1, revokedAt: 7, lastUsedAt: 86_400_000, name: 'renamed', scopes: [] };
    expect(await store().replaceKey(revoked, 0)).to.equal('applied');
    expect(await store().findKey({ digest: open.digest })).to.deep.equal(revoked);
  });

  it('never changes the digest or the hint', async () => {
    await store().insertKey(anApiKey(1));
    await store().replaceKey(anApiKey(1, { version: 1, digest: 'dd'.repeat(32), hint: 'svc_live_aaa…bbbb' }), 0);
    expect(await store().findKey({ digest: 'dd'.repeat(32) })).to.equal(null);
    expect(await store().findKey({ digest: anApiKey(1).digest })).to.deep.equal(anApiKey(1, { version: 1 }));
  });

  it('accepts exactly one of 64 concurrent replacements of one version', async () => {
    await store().insertKey(anApiKey(1));
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, n) => store().replaceKey(anApiKey(1, { version: 1, name: `${n}` }), 0)),
    );
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
    expect((await store().findKey({ keyId: uuidAt(1) }))?.name).to.equal(`${outcomes.indexOf('applied')}`);
  });
}
