// Goal: MongoDB keeps the contract of the acceptance store.
// Method: the contract on real servers.
import { StepwiseAcceptances } from '../../../core/generation/stepwise-acceptances.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('Acceptances', (place) =>
  acceptanceStoreContract({
    ...mongoSubject(place, (stores) => ({ ...stores, acceptances: new StepwiseAcceptances(stores) })),
    supports: { oneStep: false },
  }),
);
