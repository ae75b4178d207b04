import { providerJson } from '../../../../operator/provider-records.js';
import type { OperatorOperation } from '../operator-operation.js';

/** All connected providers as the workers see them, in the order of the configuration. */
export const listProviders: OperatorOperation = {
  method: 'GET',
  path: '/providers',
  act: 'list providers',
  async answer({ context }, { operator }) {
    return {
      now: new Date(context.clock.now()).toISOString(),
      providers: (await operator.listProviders()).map(providerJson),
    };
  },
};
