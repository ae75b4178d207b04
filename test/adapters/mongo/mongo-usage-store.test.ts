// Goal: the MongoDB store of usage keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { usageStoreContract } from '../../contracts/usage-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The store of usage', (place) => usageStoreContract(mongoSubject(place, (stores) => stores.usage)));
