// Goal: the machine's ids keep the port's contract.
// Method: the contract.
import { SystemIds } from '../../../adapters/system/system-ids.js';
import { idsContract } from '../../contracts/ids.contract.js';

idsContract({ name: 'system', open: async () => new SystemIds(), close: async () => undefined, supports: {} });
