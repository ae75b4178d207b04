import { generateKeyPairSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { SCOPES } from '../../../core/access/credential.js';
import type { Identity, Machine } from '../../../core/context.js';
import { ACCESS_TOKEN_PREFIX } from '../../../core/people/grants.js';
import { deviceCodeForm, deviceConfirmForm, deviceDone, errorPage, showBeforeRedirect } from './library-pages.js';
import { audienceOf, ENDPOINTS, type MetadataOptions, resourceUrl } from './metadata.js';
import { GrantView, markRedeemed, ProviderStore } from './provider-store.js';
import { redirectFault } from './registration.js';
import { defaultAudience, NOT_A_NUMBER, OWN_PARAMS } from './requests.js';

export interface AuthorizationServerOptions extends Pick<MetadataOptions, 'publicUrl' | 'audiences'> {
  readonly context: Identity & Machine;
  readonly logger: Logger;
  /** The client address of a request, which its rates count. */
  readonly addressOf: (req: IncomingMessage) => string;
  /** Fetches a client's metadata document; absent where an operator allows none. */
  readonly fetchClientDocument?: ClientDocumentFetch | undefined;
}

export interface ClientDocumentFetch {
  /** Whether a request from this address may fetch the document at all. */
  readonly allows: (url: string, address: string) => Promise<boolean>;
  readonly fetch: (url: string) => Promise<Response>;
}

const DOCUMENT_CACHE_SECONDS = { min: 60, max: 3_600 };
const CODE_SECONDS = 60;
const DEVICE_CODE_SECONDS = 600;
const INTERACTION_SECONDS = 900;

/** The OAuth 2.1 server, by the library, over the artefact store of core. */
export function createAuthorizationServer(options: AuthorizationServerOptions): Provider {
  const provider = new Provider(options.publicUrl(), configurationOf(options));
  // The address that this process itself sets before it passes a request on.
  provider.proxy = true;
  prefixAccessTokens(provider);
  provider.use(async (ctx, next) => showBeforeRedirect(ctx as KoaContextWithOIDC, next));
  provider.use(async (ctx, next) => {
    await next();
    const { AuthorizationCode: code } = (ctx as KoaContextWithOIDC).oidc?.entities ?? {};
    if (ctx.path === ENDPOINTS.token && ctx.status === 200 && code?.grantId !== undefined)
      await markRedeemed(options.context, code.grantId);
  });
  const failed = (error: unknown) => options.logger.error({ err: error }, 'the OAuth server failed');
  provider.on('server_error', (_, error) => failed(error));
  (provider as EventEmitter).on('error', failed);
  return provider;
}

function configurationOf(options: AuthorizationServerOptions): Configuration {
  const { context, publicUrl, fetchClientDocument } = options;
  const { settings, people, digests } = context;
  return {
    adapter: (model: string) =>
      model === 'Grant' ? new GrantView(context, publicUrl) : new ProviderStore(context, model, options),
    routes: {
      ...ENDPOINTS,
      code_verification: '/oauth/device',
      end_session: '/oauth/session/end',
      jwks: '/oauth/keys',
    },
    scopes: [],
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    // No identity token is ever made, but the library does not start without a key for them.
    jwks: { keys: [unusedKey()] },
    features: featuresOf(options),
    ...(fetchClientDocument === undefined
      ? {}
      : { fetch: (url) => fetchClientDocument.fetch(url instanceof Request ? url.url : url.toString()) }),
    extraClientMetadata: { properties: ['redirect_policy'], validator: checkRedirects },
    extraParams: EXTRA_PARAMS,
    pkce: { required: () => true },
    formats: { bitsOfOpaqueRandomness: 256 },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: rotateForItsResource,
    revokeGrantPolicy: () => true,
    expiresWithSession: () => false,
    clientBasedCORS: () => true,
    renderError: errorPage,
    findAccount: async (_ctx, personId) => {
      const person = await people.read(personId);
      return person && person.disabledAt === undefined
        ? { accountId: personId, claims: () => ({ sub: personId }) }
        : undefined;
    },
    // Each consent is a grant of its own. A browser that has consented before is asked again.
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
    },
    interactions: {
      url: (_ctx, { uid }) => `/oauth/consent/${uid}`,
      policy: [
        promptUnless('login', (ctx) => ctx.oidc.result?.login !== undefined),
        promptUnless('consent', (ctx) => ctx.oidc.result?.consent?.grantId !== undefined),
      ],
    },
    ttl: {
      AccessToken: wholeSeconds(settings.accessTokenMs),
      AuthorizationCode: CODE_SECONDS,
      DeviceCode: DEVICE_CODE_SECONDS,
      Grant: wholeSeconds(settings.grantIdleMs),
      IdToken: CODE_SECONDS,
      Interaction: INTERACTION_SECONDS,
      RefreshToken: wholeSeconds(settings.grantIdleMs),
      Session: INTERACTION_SECONDS,
    },
    cookies: {
      names: {
        session: 'darkroom_oauth_session',
        interaction: 'darkroom_oauth_interaction',
        resume: 'darkroom_oauth_resume',
      },
      keys: [digests.keyed('cookies of the OAuth server')],
      long: { signed: true, httpOnly: true, sameSite: 'lax' },
      short: { signed: true, httpOnly: true, sameSite: 'lax' },
    },
  };
}

/** Checked once the client and the address to redirect to are known. */
const EXTRA_PARAMS: NonNullable<Configuration['extraParams']> = {
  resource: requireOneResource,
  response_mode: requireQueryMode,
  [OWN_PARAMS.since]: requireSeconds,
  [OWN_PARAMS.isDefault]: null,
};

/** The features of the library that are used. */
function featuresOf({
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
        (Array.isArray(oneOf) ? oneOf[0] : oneOf) ?? resourceUrl(publicUrl(), defaultAudience(audiences)),
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

/** A prompt that is shown until the interaction of this very request has answered it. */
function promptUnless(
  name: 'login' | 'consent',
  isAnswered: (ctx: KoaContextWithOIDC) => boolean,
): interactionPolicy.Prompt {
  const { Check, Prompt } = interactionPolicy;
  const missing = { login: 'nobody has signed in for this request', consent: 'nobody has allowed this request' }[name];
  const check = new Check(`${name}_missing`, missing, `${name}_required`, (ctx) =>
    isAnswered(ctx) ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
  );
  return new Prompt({ name, requestable: true }, check);
}

async function requireOneResource(_ctx: KoaContextWithOIDC, value: unknown): Promise<void> {
  if (Array.isArray(value)) throw new errors.InvalidTarget('name one resource');
}

async function requireSeconds(_ctx: KoaContextWithOIDC, value: unknown): Promise<void> {
  if (value === NOT_A_NUMBER) throw new errors.InvalidRequest('max_age must be a whole number of seconds');
}

/** Other modes need a script on one of our pages, or put codes where they stay in the browser's history. */
async function requireQueryMode(_ctx: KoaContextWithOIDC, value: unknown): Promise<void> {
  if (value !== undefined && value !== 'query') throw new errors.InvalidRequest('response_mode must be query');
}

function checkRedirects(_ctx: unknown, _key: string, _value: unknown, metadata: { redirect_uris?: unknown }): void {
  const { redirect_uris: uris } = metadata;
  // A device has no browser to redirect.
  if (uris === undefined || (Array.isArray(uris) && uris.length === 0)) return;
  if (redirectFault(uris) !== undefined) throw new errors.InvalidRedirectUri();
}

/**
 * A refresh token is replaced at each use. Called just before: the library would use it up first, and then refuse a
 * request for another resource.
 */
function rotateForItsResource({ oidc }: KoaContextWithOIDC): boolean {
  const { resource } = oidc.params ?? {};
  const token = oidc.entities.RefreshToken;
  if (typeof resource === 'string' && token !== undefined && !token.resourceIndicators.has(resource))
    throw new errors.InvalidTarget('the refresh token is for another resource');
  return true;
}

/** The interface names the prefix of delegated access tokens. */
function prefixAccessTokens(provider: Provider): void {
  const model = provider.AccessToken.prototype as unknown as { generateTokenId: () => string };
  const generate: (this: unknown) => string = model.generateTokenId;
  model.generateTokenId = function generatePrefixed(this: unknown) {
    return ACCESS_TOKEN_PREFIX + generate.call(this);
  };
}

function unusedKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' };
}

/** The library requires lifetimes in whole seconds. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
