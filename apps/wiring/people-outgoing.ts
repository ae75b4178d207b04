import type { Log } from '../../core/log.js';
import type { Config } from '../config/config.js';
import type { PeopleFrontsOptions } from './people-fronts.js';

interface Needs {
  readonly publicUrl: () => string;
  readonly log: Log;
}

/** What the fronts for people need from other servers, as it is configured, with the connections that this takes. */
export class PeopleOutgoing {
  private constructor(
    readonly options: PeopleFrontsOptions,
    private readonly closing: readonly { close(): Promise<void> }[],
  ) {}

  /** Loads what sends requests only where something is configured that needs it. */
  static async open({ signIn, oauth }: Pick<Config, 'signIn' | 'oauth'>, needs: Needs): Promise<PeopleOutgoing> {
    const outsideProvider = await openProvider(signIn, needs);
    const clientDocuments = oauth.clientDocuments.length > 0 ? await openDocuments(oauth.clientDocuments) : undefined;
    return new PeopleOutgoing(
      {
        hasSignIn: signIn.enabled,
        hasOperatorArea: signIn.operatorArea,
        hasOAuth: oauth.enabled,
        hasRegistration: oauth.registration,
        outsideProvider,
        clientDocuments,
      },
      [outsideProvider, clientDocuments].filter((one) => one !== undefined),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.closing.map((one) => one.close()));
  }
}

/** The parts of a provider are configured all or none. */
async function openProvider(
  {
    providerIssuer: issuer,
    providerClientId: clientId,
    providerClientSecret: clientSecret,
    providerName: name,
  }: Config['signIn'],
  { publicUrl, log }: Needs,
) {
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const { OpenIdProvider } = await import('../../adapters/openid/openid-provider.js');
  return new OpenIdProvider({
    issuer,
    clientId,
    clientSecret,
    name,
    redirectUri: () => `${publicUrl()}/sign-in/provider/callback`,
    log,
  });
}

async function openDocuments(hosts: readonly string[]) {
  const { ClientDocuments } = await import('../http/oauth/client-documents.js');
  return new ClientDocuments(hosts);
}
