// Goal: the MongoDB store of webhook deliveries keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { deliveryStoreContract } from '../../contracts/delivery-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The store of webhook deliveries', (place) =>
  deliveryStoreContract(mongoSubject(place, (stores) => stores.deliveries)),
);
