// Goal: the MongoDB credential store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { credentialStoreContract } from '../../contracts/credential-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The credential store', (place) =>
  credentialStoreContract(mongoSubject(place, (stores) => stores.credentials)),
);
