// Goal: every store of half hours keeps one record for each slot, with all its counts.
// Method: the checks shared by all stores of named records.
import type { HalfHourStore } from '../../core/ports/stores.js';
import type { HalfHour } from '../../core/statistics/half-hour.js';
import { contract, type ContractSubject } from './subject.js';
import { namedRecords } from './versioned-records.js';

function halfHour(version: number, slot = '7'): HalfHour {
  return {
    slot,
    version,
    startsAt: 1_800_000 * Number(slot),
    acceptMs: [
      [1, 5],
      [12, 1],
    ],
    models: [
      {
        modelKey: 'a.model_1-x',
        resultMs: [[40, 2]],
        failed: [['PROVIDER_TIMEOUT', 1]],
        cancelled: 3,
      },
    ],
    batches: [['019af5a0-0000-7000-8000-000000000001', 12]],
  };
}

export function halfHourStoreContract(subject: ContractSubject<HalfHourStore>): void {
  contract('HalfHourStore contract', subject, (store) => {
    namedRecords({ store, make: halfHour, names: ['7', '383'] });
  });
}
