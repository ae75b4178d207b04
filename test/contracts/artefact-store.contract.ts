// Goal: every artefact store keeps artefacts whole and distinguishable after their end, lets one of any number of callers
// use one up, and ends a group with all that is, or will be, in it.
// Method: failure cases one by one, concurrent callers, and random interleavings of additions with the end of a group.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactStore } from '../../core/ports/stores.js';
import { anArtefact } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject } from './subject.js';
import { forAll } from '../harness/for-all.js';

const AT = 1_700_000_500_000;

export function artefactStoreContract(subject: ContractSubject<ArtefactStore>): void {
  contract('ArtefactStore contract', subject, (store) => {
    describe('artefacts', () => artefacts(store));
    describe('artefacts that are used once', () => consumed(store));
    describe('groups', () => groups(store));
    describe('expired artefacts', () => expired(store));
    describe('reads for a call', () =>
      endedCalls(async () => {
        await store().put(anArtefact(1));
        return { find: (call) => store().find(anArtefact(1), call) };
      }));
  });
}

function artefacts(store: () => ArtefactStore): void {
  it('are found by kind and id, and by alias, every field of them', async () => {
    const { group: _group, owner: _owner, alias: _alias, ...bare } = anArtefact(2);
    const data = { '$where': '1', 'a.b': [null, 1.5, true, { ü: '\u0000' }], '': 'x' };
    for (const artefact of [anArtefact(1), bare, { ...anArtefact(3), data }]) {
      expect(await store().put(artefact)).to.equal('kept');
      expect(await store().find(artefact)).to.deep.equal(artefact);
    }
    expect(await store().findByAlias('code', anArtefact(1).alias as string)).to.deep.equal(anArtefact(1));
  });

  it('are not found by anything else', async () => {
    await store().put(anArtefact(1));
    for (const key of [{ kind: 'session' }, { id: 'other' }, { id: '' }])
      expect(await store().find({ ...anArtefact(1), ...key })).to.equal(null);
    expect(await store().findByAlias('session', anArtefact(1).alias as string)).to.equal(null);
    expect(await store().findByAlias('code', 'other')).to.equal(null);
  });

  it('of two kinds may have one id', async () => {
    const [code, session] = [anArtefact(1), anArtefact(1, { kind: 'session' })];
    for (const artefact of [code, session]) await store().put(artefact);
    await store().end(code, AT);
    expect(await store().find(session)).to.deep.equal(session);
    await store().remove(code, code.owner as string);
    expect([await store().find(code), await store().find(session)]).to.deep.equal([null, session]);
  });

  it('are removed from their owner alone', async () => {
    const { owner: _owner, ...bare } = anArtefact(1);
    const others = [bare, anArtefact(2, { owner: 'p' }), anArtefact(3, { owner: 'o', kind: 'session' })];
    for (const artefact of others) await store().put(artefact);
    for (const { id } of others) await store().remove({ kind: 'code', id }, 'o');
    for (const artefact of others) expect(await store().find(artefact)).to.deep.equal(artefact);
    await store().remove(anArtefact(2), 'p');
    expect(await store().find(anArtefact(2))).to.equal(null);
  });

  it('stay if another owner takes them while they are removed', async () => {
    const { owner: _owner, ...taken } = anArtefact(1);
    for (let times = 0; times < 10; times += 1) {
      await store().put(anArtefact(1, { owner: 'o' }));
      await Promise.all([store().put(taken), store().remove(taken, 'o')]);
      expect(await store().find(taken)).to.deep.equal(taken);
    }
  });

  it('are replaced while they are usable, and stay as they are afterwards', async () => {
    await store().put(anArtefact(1));
    const next = anArtefact(1, { data: { step: 2 }, expiresAt: anArtefact(1).expiresAt + 1 });
    expect(await store().put(next)).to.equal('kept');
    expect(await store().find(next)).to.deep.equal(next);
    await store().end(next, AT);
    expect(await store().put(anArtefact(1))).to.equal('ended');
    expect(await store().find(next)).to.deep.equal({ ...next, endedAt: AT });
  });

  it('end once, at the first time, and then and only then are found as ended', async () => {
    await store().put(anArtefact(1));
    for (const at of [AT, AT + 1]) await store().end(anArtefact(1), at);
    expect((await store().find(anArtefact(1)))?.endedAt).to.equal(AT);
    await store().end(anArtefact(2), AT);
    expect(await store().find(anArtefact(2))).to.equal(null);
  });

  it('of one owner and kind are listed, newest first', async () => {
    const own = [3, 1, 2].map((n) => anArtefact(n, { owner: 'o', createdAt: 1_000 * n }));
    const others = [anArtefact(4, { owner: 'p' }), anArtefact(5, { owner: 'o', kind: 'session' })];
    for (const artefact of [...own, ...others]) await store().put(artefact);
    const ids = async (limit: number) => (await store().listOwned('code', 'o', limit)).map(({ id }) => id);
    expect(await ids(10)).to.deep.equal([3, 2, 1].map((n) => anArtefact(n).id));
    expect(await ids(2)).to.deep.equal([3, 2].map((n) => anArtefact(n).id));
  });

  it('of one owner and kind are removed, a bounded number at once', async () => {
    const own = [1, 2, 3].map((n) => anArtefact(n, { owner: 'o' }));
    const others = [anArtefact(4, { owner: 'p' }), anArtefact(5, { owner: 'o', kind: 'session' })];
    for (const artefact of [...own, ...others]) await store().put(artefact);
    await store().end(own[0] as Artefact, AT);
    const removed = [];
    for (let times = 0; times < 3; times += 1) removed.push(await store().removeOwned('code', 'o', 2));
    expect(removed).to.deep.equal([2, 1, 0]);
    for (const artefact of own) expect(await store().find(artefact)).to.equal(null);
    for (const artefact of others) expect(await store().find(artefact)).to.deep.equal(artefact);
  });

  it('with one alias are found by it, the newest of them', async () => {
    for (const n of [1, 3, 2]) await store().put(anArtefact(n, { alias: 'same', createdAt: 1_000 * n }));
    expect((await store().findByAlias('code', 'same'))?.id).to.equal(anArtefact(3).id);
  });
}

function consumed(store: () => ArtefactStore): void {
  it('are used by one of twelve concurrent callers', async () => {
    await store().put(anArtefact(1));
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, n) => store().consume(anArtefact(1), AT + n)));
    expect(outcomes.filter((outcome) => outcome === 'consumed')).to.have.length(1);
    expect((await store().find(anArtefact(1)))?.consumedAt).to.equal(AT + outcomes.indexOf('consumed'));
  });

  it('are used by one of twelve callers who each put them first', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, n) =>
        (await store().put(anArtefact(1))) === 'kept' ? store().consume(anArtefact(1), AT + n) : 'refused',
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'consumed')).to.have.length(1);
    expect((await store().find(anArtefact(1)))?.consumedAt).to.equal(AT + outcomes.indexOf('consumed'));
  });

  it('are not used once they have ended, or where there is none', async () => {
    await store().put(anArtefact(1));
    await store().end(anArtefact(1), AT);
    for (const n of [1, 2]) expect(await store().consume(anArtefact(n), AT)).to.equal('refused');
    expect(await store().find(anArtefact(1))).to.not.have.property('consumedAt');
  });

  it('stay used up when they are put again', async () => {
    await store().put(anArtefact(1));
    await store().consume(anArtefact(1), AT);
    expect(await store().put(anArtefact(1))).to.equal('ended');
    expect(await store().consume(anArtefact(1), AT + 1)).to.equal('refused');
  });

  it('can be ended after they were used up', async () => {
    await store().put(anArtefact(1));
    await store().consume(anArtefact(1), AT);
    await store().end(anArtefact(1), AT + 1);
    expect(await store().find(anArtefact(1))).to.include({ consumedAt: AT, endedAt: AT + 1 });
  });
}

function groups(store: () => ArtefactStore): void {
  const inGroup = (n: number, group = 'g') => anArtefact(n, { group });
  const later = AT + 86_400_000;

  it('end all that is in them, and nothing else', async () => {
    for (const artefact of [inGroup(1), inGroup(2), inGroup(3, 'h')]) await store().put(artefact);
    await store().endGroup('g', AT, later);
    const ends = await Promise.all([1, 2, 3].map(async (n) => (await store().find(anArtefact(n)))?.endedAt));
    expect(ends).to.deep.equal([AT, AT, undefined]);
    expect(await store().consume(inGroup(1), AT)).to.equal('refused');
  });

  it('end what is put in them later', async () => {
    await store().endGroup('g', AT, later);
    expect(await store().put(inGroup(1))).to.equal('ended');
    expect((await store().find(inGroup(1)))?.endedAt).to.equal(AT);
    expect(await store().consume(inGroup(1), AT)).to.equal('refused');
  });

  it('end at the first time, however often they are ended', async () => {
    await store().put(inGroup(1));
    for (const at of [AT, AT + 5]) await store().endGroup('g', at, later);
    await store().put(inGroup(2));
    expect((await store().find(inGroup(1)))?.endedAt).to.equal(AT);
    expect((await store().find(inGroup(2)))?.endedAt).to.equal(AT);
  });

  it('leave nothing usable, whatever is put or used while they end', async () => {
    await forAll(
      10,
      [fc.array(fc.constantFrom('put', 'consume', 'end'), { minLength: 2, maxLength: 10 })],
      async (steps) => {
        const group = `g${fc.sample(fc.uuid(), 1)[0]}`;
        const artefactOf = (n: number): Artefact => anArtefact(n, { group, id: `${group}-${n}` });
        for (let n = 0; n < 3; n += 1) await store().put(artefactOf(n));
        await Promise.all([
          ...steps.map((step, n) =>
            step === 'put'
              ? store().put(artefactOf(10 + n))
              : step === 'consume'
                ? store().consume(artefactOf(n % 3), AT)
                : store().end(artefactOf(n % 3), AT),
          ),
          store().endGroup(group, AT, later),
        ]);
        for (let n = 0; n < 20; n += 1) {
          const found = await store().find(artefactOf(n));
          if (found) expect(found, `artefact ${n}`).to.have.property('endedAt');
          expect(await store().consume(artefactOf(n), AT)).to.equal('refused');
        }
      },
    );
  });
}

function expired(store: () => ArtefactStore): void {
  it('are removed when their time has come, a bounded number at once, with the ends of groups', async () => {
    for (const n of [1, 2, 3]) await store().put(anArtefact(n, { removeAt: 1_000 * n }));
    await store().endGroup('old', AT, 1_500);
    await store().endGroup('kept', AT, 9_000);
    expect(await store().removeExpired(999, 10)).to.equal(0);
    expect(await store().removeExpired(2_000, 1)).to.equal(1);
    expect(await store().find(anArtefact(1))).to.equal(null);
    expect(await store().removeExpired(2_000, 10)).to.equal(2);
    expect(await store().removeExpired(2_000, 10)).to.equal(0);
    expect(await store().find(anArtefact(3))).to.not.equal(null);
    expect(await store().put(anArtefact(4, { group: 'kept' }))).to.equal('ended');
    expect(await store().put(anArtefact(5, { group: 'old' }))).to.equal('kept');
  });
}
