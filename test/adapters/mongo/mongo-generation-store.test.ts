// Goal: the MongoDB generation store keeps the port's contract, and never reads a collection from end to end.
// Method: the contract on a replica set and on a server on its own; every query it led to is explained by the server.
import { generationStoreContract } from '../../contracts/generation-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The generation store', (place) =>
  generationStoreContract(mongoSubject(place, (stores) => stores.generations)),
);
