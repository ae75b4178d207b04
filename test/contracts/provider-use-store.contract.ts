// Goal: every store of what workers share of a provider keeps a record whole and guards it by its version, also for
// concurrent writers.
// Method: failure cases one by one, and writers that race for one version, again and again.
import { expect } from 'chai';
import type { ProviderUseStore } from '../../core/ports/provider-use-store.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { ContractSubject } from './subject.js';

function use(version: number, provider = 'paid'): ProviderUse {
  const health = {
    circuit: 'paused',
    pausedUntil: 90,
    lastError: { at: 5, message: 'POST https://a.example/$x.y: "no" ✗' },
    medianSubmitMs: 40,
  } as const;
  const share = { worker: 'w', slots: 3, inUse: 2, wanted: 4, health, renewedAt: 10, expiresAt: 20 };
  return { provider, version, shares: [share], submissions: { thousandths: 1_500, refilledAt: 10 } };
}

export function providerUseStoreContract(subject: ContractSubject<ProviderUseStore>): void {
  describe(`ProviderUseStore contract: ${subject.name}`, () => {
    let store: ProviderUseStore;
    beforeEach(async () => {
      store = await subject.open();
    });
    afterEach(async () => subject.close(store));

    it('has nothing of a provider that was never used', async () => {
      expect(await store.read('paid')).to.equal(null);
    });

    it('keeps every field of what was written, for each provider', async () => {
      expect(await store.replace(use(1), 0)).to.equal('applied');
      expect(await store.replace(use(1, 'own'), 0)).to.equal('applied');
      expect(await store.replace(use(2), 1)).to.equal('applied');
      expect(await store.read('paid')).to.deep.equal(use(2));
      expect(await store.read('own')).to.deep.equal(use(1, 'own'));
    });

    it('writes onto no other version than the expected one', async () => {
      expect(await store.replace(use(2), 1)).to.equal('conflict');
      expect(await store.replace(use(1), 0)).to.equal('applied');
      for (const expected of [0, 2]) expect(await store.replace(use(9), expected)).to.equal('conflict');
      expect(await store.read('paid')).to.deep.equal(use(1));
    });

    it('lets one of twelve concurrent writers write onto a version', async () => {
      for (const version of [1, 2, 3]) {
        const outcomes = await Promise.all(Array.from({ length: 12 }, () => store.replace(use(version), version - 1)));
        expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
      }
      expect((await store.read('paid'))?.version).to.equal(3);
    });
  });
}
