import type { Context } from '../../core/context.js';
import { replayDeliveries } from '../../core/webhooks/deliveries.js';
import { createEndpoint, listEndpoints } from '../../core/webhooks/manage-endpoints.js';
import type { Credential } from './program.js';

type Owner = Pick<Credential, 'accountId' | 'appId'>;

/** What the program under measurement is asked for about webhooks. */
export function webhookCommands(context: Context) {
  return {
    /** An endpoint of these Apps at each of these addresses. */
    async makeEndpoints({ owners, urls }: { readonly owners: readonly Owner[]; readonly urls: readonly string[] }) {
      for (const owner of owners)
        for (const url of urls) await createEndpoint(context, owner, { url: `${url}?of=${owner.appId}` });
    },

    /** Has all that was delivered to these Apps sent again; answers how much that is. */
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
