// Goal: the MongoDB account store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { accountStoreContract } from '../../contracts/account-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The account store', (place) => accountStoreContract(mongoSubject(place, (stores) => stores.accounts)));
