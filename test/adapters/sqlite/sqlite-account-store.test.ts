// Goal: the SQLite account store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { accountStoreContract } from '../../contracts/account-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

accountStoreContract(sqliteSubject((stores) => stores.accounts));
