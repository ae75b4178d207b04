// Goal: the SQLite artefact store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.
import { artefactStoreContract } from '../../contracts/artefact-store.contract.js';
import { sqliteSubject } from './sqlite-subject.js';

artefactStoreContract(sqliteSubject((stores) => stores.artefacts));
