// Goal: the MongoDB upload store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { uploadStoreContract } from '../../contracts/upload-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The upload store', (place) => uploadStoreContract(mongoSubject(place, (stores) => stores.uploads)));
