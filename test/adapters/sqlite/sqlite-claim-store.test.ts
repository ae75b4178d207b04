// Goal: the SQLite claim store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { claimStoreContract } from '../../contracts/claim-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

claimStoreContract(sqliteSubject((stores) => stores.claims));
