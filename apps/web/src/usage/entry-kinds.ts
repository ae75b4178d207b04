import type { Entry } from '../api-types.js';

/** What an entry of the ledger has done. */
export const KIND_TEXTS: Readonly<Record<Entry['kind'], string>> = {
  grant: 'Granted',
  adjustment: 'Adjusted',
  hold: 'Reserved',
  charge: 'Charged',
  release: 'Released',
};
