import type { Context } from '../../core/context.js';
import { replayDeliveries } from '../../core/webhooks/deliveries.js';
import { createEndpoint, listEndpoints } from '../../core/webhooks/manage-endpoints.js';
import type { Credential } from './program.js';

type Owner = Pick<Credential, 'accountId' | 'appId'>;

/** The webhook commands of the program under measurement. */
export function webhookCommands(context: Context) {
  return {
    /** Creates an endpoint of each of these Apps at each of these URLs. */
    async makeEndpoints({ owners, urls }: { readonly owners: readonly Owner[]; readonly urls: readonly string[] }) {
      for (const owner of owners)
        for (const url of urls) await createEndpoint(context, owner, { url: `${url}?of=${owner.appId}` });
    },

    /** Sends all messages delivered to these Apps again; returns their number. */
    async replay({ owners }: { readonly owners: readonly Owner[] }): Promise<number> {
      const counts = await Promise.all(owners.map((owner) => replayAll(context, owner)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

async function replayAll(context: Context, owner: Owner): Promise<number> {
  let replayed = 0;
  for (const { endpointId } of await listEndpoints(context, owner)) {
    let cursor: string | undefined;
    do {
      const page = await replayDeliveries(context, owner, endpointId, { state: 'delivered' }, cursor);
      replayed += page.replayed;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
  return replayed;
}
