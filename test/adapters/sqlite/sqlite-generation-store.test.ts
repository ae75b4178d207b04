// Goal: the SQLite generation store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { generationStoreContract } from '../../contracts/generation-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

generationStoreContract(sqliteSubject((stores) => stores.generations));
