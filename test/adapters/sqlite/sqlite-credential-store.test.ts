// Goal: the SQLite credential store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { credentialStoreContract } from '../../contracts/credential-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

credentialStoreContract(sqliteSubject((stores) => stores.credentials));
