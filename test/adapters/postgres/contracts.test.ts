import type { Ports } from '../../../core/ports/ports.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { databaseContract } from '../../contracts/database.contract.js';
import { onPostgres, postgresSubject } from './on-postgres.js';

// Goal: the PostgreSQL stores keep the contracts of their ports.
// Method: the contracts on real servers of the oldest and the newest version that is supported.

onPostgres('The stores', (place) => {
  databaseContract((port) => postgresSubject(place, (stores) => stores[port] as Ports[typeof port]));
  acceptanceStoreContract({ ...postgresSubject(place, (stores) => stores), supports: { oneStep: false } });
});
