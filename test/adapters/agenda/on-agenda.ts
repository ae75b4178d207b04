import { sizeOf } from '../../harness/run-sizes.js';
import { STORE_PAIRS } from '../../harness/store-pairs.js';
import type { AgendaPlace } from './agenda-place.js';
import { MongoAgendaPlace } from './mongo-place.js';
import { PostgresAgendaPlace } from './postgres-place.js';

/** PostgreSQL versions, each with one way to detect wake-ups; every run includes the first. */
const POSTGRES = (
  [
    { version: '18', wokenBy: 'notifications' },
    { version: '15', wokenBy: 'polling' },
  ] as const
).slice(0, sizeOf('storePairs'));

/** Runs a suite for each kind of database and each way to detect wake-ups, on a new database that is dropped afterwards. */
export function onAgenda(title: string, suite: (place: AgendaPlace) => void): void {
  onMongoAgenda(title, suite);
  for (const { version, wokenBy } of POSTGRES) on(title, new PostgresAgendaPlace(version, wokenBy), suite);
}

export function onMongoAgenda(title: string, suite: (place: MongoAgendaPlace) => void): void {
  for (const pair of STORE_PAIRS) on(title, new MongoAgendaPlace(pair), suite);
}

function on<T extends AgendaPlace>(title: string, place: T, suite: (place: T) => void): void {
  describe(`${title}, ${place.name}`, () => {
    before(async function prepare() {
      await place.prepare(this);
    });
    after(() => place.remove());
    suite(place);
  });
}
