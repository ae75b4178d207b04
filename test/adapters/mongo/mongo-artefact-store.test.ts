// Goal: the MongoDB artefact store keeps the port's contract, and never scans a whole collection.
// Method: the contract on a replica set and on a standalone server; the server explains each of its queries.
import { artefactStoreContract } from '../../contracts/artefact-store.contract.js';
import { mongoSubject, onMongo } from './on-mongo.js';

onMongo('The artefact store', (place) => artefactStoreContract(mongoSubject(place, (stores) => stores.artefacts)));
