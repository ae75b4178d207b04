// Goal: the SQLite store of provider uses keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { providerUseStoreContract } from '../../contracts/provider-use-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

providerUseStoreContract(sqliteSubject((stores) => stores.providerUses));
