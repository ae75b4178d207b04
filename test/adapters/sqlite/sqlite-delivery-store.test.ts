// Goal: the SQLite store of webhook deliveries keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { deliveryStoreContract } from '../../contracts/delivery-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

deliveryStoreContract(sqliteSubject((stores) => stores.deliveries));
