// Goal: the MongoDB person store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { personStoreContract } from '../../contracts/person-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The person store', (place) => personStoreContract(mongoSubject(place, (stores) => stores.people)));
