import { SCOPES } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { issueToken, newPerson } from '../../fixtures/access-tokens.js';
import type { Credential } from '../harness/network.js';
import type { Chance } from '../harness/scheduler.js';

export interface ConnectedProgram {
  /** Tokens of different grants to one program of one person: they share an App. */
  readonly credentials: readonly Credential[];
  readonly revocable: readonly Credential[];
}

/**
 * A person of the account connects a program two or three times; one grant may be ended, and the last may have a cap
 * for its whole life.
 */
export async function connectProgram(context: Context, chance: Chance, accountId: string): Promise<ConnectedProgram> {
  const person = await newPerson(context, accountId);
  const { personId } = person;
  const connect = async (credits?: number): Promise<Credential> => {
    const capped = credits === undefined ? {} : { capCredits: credits };
    const { grant, secret } = await issueToken(context, person, { clientId: 'a program', scopes: SCOPES, ...capped });
    const { appId, grantId: keyId } = grant;
    const cap = credits === undefined ? {} : { cap: { credits, per: 'life' as const } };
    return { accountId, appId, keyId, secret, personId, ...cap };
  };
  const credentials = [await connect(), await connect()];
  if (chance.happens(600)) credentials.push(await connect(chance.pick([7, 25, 60])));
  return { credentials, revocable: chance.happens(700) ? credentials.slice(1, 2) : [] };
}
