// Goal: the SQLite person store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { personStoreContract } from '../../contracts/person-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

personStoreContract(sqliteSubject((stores) => stores.people));
