// Goal: the MongoDB generation store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { generationStoreContract } from '../../contracts/generation-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The generation store', (place) =>
  generationStoreContract(mongoSubject(place, (stores) => stores.generations)),
);
