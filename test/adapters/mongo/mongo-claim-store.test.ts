// Goal: the MongoDB claim store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { claimStoreContract } from '../../contracts/claim-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The claim store', (place) => claimStoreContract(mongoSubject(place, (stores) => stores.claims)));
