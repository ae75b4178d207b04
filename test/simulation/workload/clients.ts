import { createAccount, createApp, createKey } from '../../../core/access/manage.js';
import type { Context } from '../../../core/context.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { END_EVENTS, WEBHOOK_EVENTS } from '../../../core/webhooks/endpoint.js';
import { createEndpoint } from '../../../core/webhooks/manage-endpoints.js';
import type { Credential, Network } from '../harness/network.js';
import type { Chance, Scheduler } from '../harness/scheduler.js';
import type { Service } from '../harness/service.js';
import { Developer, type KnownIds } from './developer.js';
import { Operator } from './operator.js';
import { connectProgram } from './programs.js';

/** The clients of a run. */
export interface Clients {
  readonly accountIds: readonly string[];
  readonly developers: readonly Developer[];
  readonly operators: readonly Operator[];
  /** One credential per account that is never revoked. */
  readonly lasting: readonly Credential[];
  /** Credentials with a spending cap, which are never revoked. */
  readonly capped: readonly Credential[];
  readonly secrets: readonly string[];
}

/** Time passes in steps of a quarter of an hour, and clients repeat requests from long ago. */
export async function passHours(
  scheduler: Scheduler,
  developers: readonly Developer[],
  quarters: number,
): Promise<void> {
  for (let quarter = 0; quarter < quarters; quarter += 1) {
    await scheduler.pause(15 * 60_000);
    for (const developer of developers) await developer.repeatOldRequests();
  }
}

/**
 * Two accounts, one of them with two Apps; two keys per App, of which one may be revoked, and often a third one with a
 * spending cap; one or two developers per App. Some Apps have webhooks. In some runs a person of the first account has
 * connected a program.
 */
export async function createClients(
  service: Service,
  network: Network,
  scheduler: Scheduler,
  chance: Chance,
  { programs: ofPrograms, webhooks: ofWebhooks }: { readonly programs: Chance; readonly webhooks: Chance },
): Promise<Clients> {
  const process = service.processes[0];
  if (process === undefined) throw new Error('There is no process to set things up with.');
  const { context } = process;
  const others: KnownIds = { generationIds: new Set(), uploadIds: new Set() };
  const [accountIds, developers, lasting, capped, revocable, secrets]: [
    string[],
    Developer[],
    Credential[],
    Credential[],
    Credential[],
    string[],
  ] = [[], [], [], [], [], []];
  for (const [index, apps] of [2, 1].entries()) {
    const { accountId } = await createAccount(context, { name: `account ${index + 1}` });
    accountIds.push(accountId);
    await grantCredits(context, {
      accountId,
      operationId: 'first',
      credits: chance.pick([12, 40, 90, 250]),
      reason: 'to begin with',
    });
    for (let app = 0; app < apps; app += 1) {
      const { appId } = await createApp(context, { accountId, name: `App ${app + 1}` });
      await addEndpoints(context, ofWebhooks, { accountId, appId });
      const credentials: Credential[] = [];
      for (const name of ['one', 'other']) {
        const { key, secret } = await createKey(context, { appId, name });
        credentials.push({ accountId, appId, keyId: key.keyId, secret });
        secrets.push(secret);
      }
      if (chance.happens(600)) {
        const monthlyCap = chance.pick([7, 25, 60, 150]);
        const { key, secret } = await createKey(context, { appId, name: 'capped', monthlyCap });
        const credential: Credential = {
          accountId,
          appId,
          keyId: key.keyId,
          secret,
          cap: { credits: monthlyCap, per: 'month' },
        };
        credentials.push(credential);
        capped.push(credential);
        secrets.push(secret);
      }
      if (app === 0) lasting.push(credentials[0] as Credential);
      if (chance.happens(500)) revocable.push(credentials[1] as Credential);
      for (let count = chance.between(1, 2); count > 0; count -= 1) {
        developers.push(
          new Developer(`d${developers.length + 1}`, credentials, network, scheduler, chance.fork(), others),
        );
      }
    }
  }
  // Runs without connected programs draw as they did before programs existed.
  for (const accountId of accountIds.slice(0, ofPrograms.happens(300) ? 1 : 0)) {
    const program = await connectProgram(context, ofPrograms, accountId);
    revocable.push(...program.revocable);
    capped.push(...program.credentials.filter(({ cap }) => cap !== undefined));
    secrets.push(...program.credentials.map(({ secret }) => secret));
    developers.push(
      new Developer(`d${developers.length + 1}`, program.credentials, network, scheduler, ofPrograms.fork(), others),
    );
  }
  return {
    accountIds,
    developers,
    operators: [new Operator(network, scheduler, chance.fork(), accountIds, revocable)],
    lasting,
    capped,
    secrets,
  };
}

/** An endpoint for ends, and one for all events; in half of the Apps. */
async function addEndpoints(
  context: Context,
  chance: Chance,
  owner: { readonly accountId: string; readonly appId: string },
): Promise<void> {
  const wanted = [END_EVENTS, WEBHOOK_EVENTS].slice(0, chance.pick([0, 0, 1, 2]));
  for (const [index, events] of wanted.entries())
    await createEndpoint(context, owner, {
      url: `https://receiver.example/${owner.appId}/${index}`,
      events: [...events],
    });
}
