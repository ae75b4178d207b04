// Goal: the MongoDB store of webhook endpoints keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { webhookEndpointStoreContract } from '../../contracts/webhook-endpoint-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The store of webhook endpoints', (place) =>
  webhookEndpointStoreContract(mongoSubject(place, (stores) => stores.webhookEndpoints)),
);
