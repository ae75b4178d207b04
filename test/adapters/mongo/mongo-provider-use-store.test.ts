// Goal: the MongoDB store of provider uses keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { providerUseStoreContract } from '../../contracts/provider-use-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The store of provider uses', (place) =>
  providerUseStoreContract(mongoSubject(place, (stores) => stores.providerUses)),
);
