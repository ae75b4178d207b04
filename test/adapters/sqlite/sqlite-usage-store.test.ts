// Goal: the SQLite store of usage keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { usageStoreContract } from '../../contracts/usage-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

usageStoreContract(sqliteSubject((stores) => stores.usage));
