// Goal: the SQLite store of webhook endpoints keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { webhookEndpointStoreContract } from '../../contracts/webhook-endpoint-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

webhookEndpointStoreContract(sqliteSubject((stores) => stores.webhookEndpoints));
