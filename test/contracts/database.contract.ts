import type { DatabasePort, Ports } from '../../core/ports/ports.js';
import { accountStoreContract } from './account-store.contract.js';
import { generationStoreContract } from './generation-store.contract.js';
import { halfHourStoreContract } from './half-hour-store.contract.js';
import { generationSearchContract } from './generation-search.contract.js';
import { claimStoreContract } from './claim-store.contract.js';
import { uploadStoreContract } from './upload-store.contract.js';
import { credentialStoreContract } from './credential-store.contract.js';
import { personStoreContract } from './person-store.contract.js';
import { artefactStoreContract } from './artefact-store.contract.js';
import { providerUseStoreContract } from './provider-use-store.contract.js';
import { webhookEndpointStoreContract } from './webhook-endpoint-store.contract.js';
import { deliveryStoreContract } from './delivery-store.contract.js';
import { fingerprintStoreContract } from './fingerprint-store.contract.js';
import { erasureStoreContract } from './erasure-store.contract.js';
import { usageStoreContract } from './usage-store.contract.js';
import type { ContractSubject } from './subject.js';

/** The ports of a database, except the one that may be absent and has more to support. */
type Port = Exclude<DatabasePort, 'acceptances'>;

const CONTRACTS: { readonly [P in Port]: (subject: ContractSubject<Ports[P]>) => void } = {
  accounts: accountStoreContract,
  generations: generationStoreContract,
  generationSearch: generationSearchContract,
  claims: claimStoreContract,
  fingerprints: fingerprintStoreContract,
  uploads: uploadStoreContract,
  credentials: credentialStoreContract,
  people: personStoreContract,
  artefacts: artefactStoreContract,
  providerUses: providerUseStoreContract,
  webhookEndpoints: webhookEndpointStoreContract,
  deliveries: deliveryStoreContract,
  usage: usageStoreContract,
  halfHours: halfHourStoreContract,
  erasures: erasureStoreContract,
};

/** The contract of every store of a database except `acceptances`; each port's contract gets its own subject. */
export function databaseContract(subjectOf: <P extends Port>(port: P) => ContractSubject<Ports[P]>): void {
  for (const port of Object.keys(CONTRACTS) as Port[]) runContract(port, subjectOf);
}

function runContract<P extends Port>(port: P, subjectOf: <N extends Port>(port: N) => ContractSubject<Ports[N]>): void {
  CONTRACTS[port](subjectOf(port));
}
