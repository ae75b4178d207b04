import { errors, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { SCOPES } from '../../../core/access/credential.js';
import type { AuthorizationServerOptions } from './authorization-server-options.js';
import { deviceCodeForm, deviceConfirmForm, deviceDone } from './library-pages.js';
import { audienceOf, resourceUrl } from './resources.js';

const SECOND = 1_000;
const DOCUMENT_CACHE_SECONDS = { min: 60, max: 3_600 };

/** The library refuses lives that are no whole number of seconds. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / SECOND);
}

/** What the library does and does not do here. */
export function featuresOf({
  context: { settings },
  publicUrl,
  audiences,
  addressOf,
  fetchClientDocument,
}: Omit<AuthorizationServerOptions, 'logger'>): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    revocation: { enabled: true, allowedPolicy: mayRevoke },
    deviceFlow: {
      enabled: true,
      deviceInfo: () => ({}),
      userCodeInputSource: deviceCodeForm,
      userCodeConfirmSource: deviceConfirmForm,
      successSource: deviceDone,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) =>
        Array.isArray(oneOf) ? (oneOf[0] ?? '') : (oneOf ?? resourceUrl(publicUrl(), 'rest')),
      getResourceServerInfo: (_ctx, resource) => {
        const audience = audienceOf(publicUrl(), resource, audiences);
        if (audience === undefined) throw new errors.InvalidTarget('there is no such resource here');
        return {
          scope: SCOPES.join(' '),
          audience: resourceUrl(publicUrl(), audience),
          accessTokenFormat: 'opaque',
          accessTokenTTL: wholeSeconds(settings.accessTokenMs),
        };
      },
      useGrantedResource: () => true,
    },
    ...(fetchClientDocument === undefined
      ? {}
      : {
          clientIdMetadataDocument: {
            enabled: true,
            ack: 'draft-02',
            allowFetch: ({ req }: KoaContextWithOIDC, url: string) => fetchClientDocument.allows(url, addressOf(req)),
            cacheDuration: DOCUMENT_CACHE_SECONDS,
          },
        }),
  };
}

/**
 * A client may revoke its own tokens. The library would end the whole grant with an access token; here only a refresh
 * token does that, and an access token ends alone.
 */
const mayRevoke = async (
  _ctx: KoaContextWithOIDC,
  client: { readonly clientId: string },
  token: { readonly kind: string; readonly clientId?: string | undefined; destroy(): Promise<void> },
): Promise<boolean> => {
  if (token.clientId !== client.clientId) return false;
  if (token.kind !== 'AccessToken') return true;
  await token.destroy();
  return false;
};
