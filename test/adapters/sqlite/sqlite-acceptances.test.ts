// Goal: SQLite keeps the contract of the acceptance store.
// Method: the contract, each test on a data folder of its own.
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

acceptanceStoreContract({ ...sqliteSubject((stores) => stores), supports: { oneStep: true } });
