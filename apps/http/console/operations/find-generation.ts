import { appOfGeneration } from '../../../../core/people/acting.js';
import type { ConsoleOperation } from '../console-operation.js';

/** In which App a generation is: an address of one, and a line of the ledger, do not say. */
export const findGeneration: ConsoleOperation = {
  method: 'GET',
  path: '/generations/:generation_id',
  async answer({ context }, { ctx, signedIn: { person } }) {
    return { app_id: await appOfGeneration(context, person, ctx.params['generation_id'] ?? '') };
  },
};
