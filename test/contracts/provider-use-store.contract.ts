// Goal: every store of provider usage, which workers share, keeps one record for each provider.
// Method: the checks shared by all stores of named records.
import type { ProviderUseStore } from '../../core/ports/stores.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import { contract, type ContractSubject } from './subject.js';
import { namedRecords } from './versioned-records.js';

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
  contract('ProviderUseStore contract', subject, (store) => {
    namedRecords({ store, make: use, names: ['paid', 'own'] });
  });
}
