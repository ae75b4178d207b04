import { generateKeyPairSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { errors, interactionPolicy, Provider, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { DEFAULT_SCOPES } from '../../../core/access/credential.js';
import { ACCESS_TOKEN_PREFIX } from '../../../core/people/access-tokens.js';
import { GrantView, markRedeemed, ProviderStore } from './provider-store.js';
import type { AuthorizationServerOptions } from './authorization-server-options.js';
import { errorPage, showBeforeRedirect } from './library-pages.js';
import { ENDPOINTS } from './metadata.js';
import { featuresOf, wholeSeconds } from './provider-features.js';
import { redirectFault } from './redirect-policy.js';

const CODE_SECONDS = 60;
const DEVICE_CODE_SECONDS = 600;
const INTERACTION_SECONDS = 900;

/** The OAuth 2.1 server, by the library, over the artefact store of core. */
export function createAuthorizationServer(options: AuthorizationServerOptions): Provider {
  const provider = new Provider(options.publicUrl(), configurationOf(options));
  // The address that this process sets itself, before it hands a request over.
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
      model === 'Grant' ? new GrantView(context, publicUrl) : new ProviderStore(context, model),
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
    ...(fetchClientDocument === undefined ? {} : { fetch: (url) => fetchClientDocument.fetch(hrefOf(url)) }),
    extraClientMetadata: { properties: ['redirect_policy'], validator: checkRedirects },
    extraParams: { scope: assignScope, resource: requireOneResource, response_mode: requireQueryMode },
    pkce: { required: () => true },
    formats: { bitsOfOpaqueRandomness: 256 },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
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

function hrefOf(url: string | URL | Request): string {
  return url instanceof Request ? url.url : url.toString();
}

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

/** A client that names no scope asks for the usual ones, of which the person ticks some. */
async function assignScope(ctx: KoaContextWithOIDC): Promise<void> {
  const { params } = ctx.oidc;
  if (params !== undefined) params['scope'] ??= DEFAULT_SCOPES.join(' ');
}

async function requireOneResource(_ctx: KoaContextWithOIDC, value: unknown): Promise<void> {
  if (Array.isArray(value)) throw new errors.InvalidTarget('name one resource');
}

/** Other modes need a script in a page of ours, or put codes where they stay in the browser's history. */
async function requireQueryMode(_ctx: KoaContextWithOIDC, value: unknown): Promise<void> {
  if (value !== undefined && value !== 'query') throw new errors.InvalidRequest('response_mode must be query');
}

function checkRedirects(_ctx: unknown, _key: string, _value: unknown, metadata: { redirect_uris?: unknown }): void {
  if (metadata.redirect_uris === undefined || isEmptyList(metadata.redirect_uris)) return;
  const fault = redirectFault(metadata.redirect_uris);
  if (fault !== undefined) throw new errors.InvalidRedirectUri();
}

/** A device has no browser to redirect. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
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
