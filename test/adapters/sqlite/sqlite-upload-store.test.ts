// Goal: the SQLite upload store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { uploadStoreContract } from '../../contracts/upload-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

uploadStoreContract(sqliteSubject((stores) => stores.uploads));
