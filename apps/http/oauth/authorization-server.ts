import { generateKeyPairSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider';
import type { Logger } from 'pino';
import { type Audience, DEFAULT_SCOPES, SCOPES } from '../../../core/access/credential.js';
import type { Context, Identity, Machine } from '../../../core/context.js';
import type { JsonObject } from '../../../core/json.js';
import {
  ACCESS_TOKEN_KIND,
  ACCESS_TOKEN_PREFIX,
  endGrant,
  findGrant,
  noteGrantUse,
  secretDigest,
} from '../../../core/people/grants.js';
import type { Artefact } from '../../../core/people/person.js';
import { redirectFault } from './client-metadata.js';
import { deviceCodeForm, deviceConfirmForm, deviceDone, errorPage, showBeforeRedirect } from './library-pages.js';
import { audienceOf, ENDPOINTS, resourceUrl } from './metadata.js';
import { CLIENT_KIND, noteClientUse } from './registration.js';

type PortsProviderStore = Identity & Machine;

const SECOND_PROVIDERSTORE = 1_000;
/** How long an ended artefact stays distinguishable from none. */
const KEPT_MS = 86_400_000;
/** How long a used refresh token may be used again by its client: processes of one client refresh at the same time. */
const REFRESH_GRACE_MS = 30_000;

/** Anybody can make these without an account, so they take up room for no longer than somebody may ask for them. */
const BRIEFLY_KEPT_MS: Readonly<Record<string, number>> = { Interaction: 0, Session: 0, DeviceCode: 600_000 };

const KINDS: Readonly<Record<string, string>> = {
  AccessToken: ACCESS_TOKEN_KIND,
  AuthorizationCode: 'authorization-code',
  RefreshToken: 'refresh-token',
  DeviceCode: 'device-code',
  Client: CLIENT_KIND,
  Interaction: 'oauth-interaction',
  Session: 'oauth-session',
};

/** Kept as an artefact of its own while a grant lives: its authorization code was exchanged for tokens. */
const REDEEMED = 'redeemed-code';

/**
 * What the library stores, as artefacts. It keeps a digest of each secret and never the secret. The library decides by
 * what `find` returns; what must hold among several processes is decided by the store: `consume` lets one caller
 * through, and nothing can be put into a group that has ended.
 */
export class ProviderStore implements Adapter {
  private readonly kind: string;

  /** `model`: the name that the library has for it. */
  constructor(
    private readonly ports: PortsProviderStore,
    private readonly model: string,
  ) {
    const kind = KINDS[model];
    if (kind === undefined) throw new Error(`The OAuth server must not store ${model}.`);
    this.kind = kind;
  }

  async upsert(id: string, payload: AdapterPayload, expiresInSeconds: number): Promise<void> {
    const { clock } = this.ports;
    const { jti: _jti, grantId, accountId, userCode, ...data } = payload;
    const now = clock.now();
    const expiresAt = now + expiresInSeconds * SECOND_PROVIDERSTORE;
    const artefact: Artefact = {
      kind: this.kind,
      id: this.digestOf(id),
      ...(grantId === undefined ? {} : { group: grantId }),
      ...(accountId === undefined ? {} : { owner: accountId }),
      ...(userCode === undefined ? {} : { alias: this.aliasOf(userCode) }),
      data: data as JsonObject,
      createdAt: now,
      expiresAt,
      removeAt: expiresAt + (BRIEFLY_KEPT_MS[this.model] ?? KEPT_MS),
    };
    if ((await this.ports.artefacts.put(artefact)) === 'ended') throw new errors.InvalidGrant('grant has ended');
    if (this.model === 'AccessToken' && grantId !== undefined) await this.noteUse(grantId);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const found = await this.ports.artefacts.find({ kind: this.kind, id: this.digestOf(id) });
    return found ? this.payloadOf(id, found) : undefined;
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    const found = await this.ports.artefacts.findByAlias(this.kind, this.aliasOf(userCode));
    if (!found) return undefined;
    const payload = await this.payloadOf(this.referenceTo(found.id), found);
    return payload && { ...payload, userCode };
  }

  /** The library asks for it where sessions end tokens, which ours do not. */
  findByUid(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async consume(id: string): Promise<void> {
    const key = { kind: this.kind, id: this.digestOf(id) };
    const now = this.ports.clock.now();
    if ((await this.ports.artefacts.consume(key, now)) === 'consumed') return;
    const found = await this.ports.artefacts.find(key);
    if (this.model === 'RefreshToken' && found !== null && this.isInGrace(found, now)) return;
    throw new errors.InvalidGrant('it was used already');
  }

  async destroy(id: string): Promise<void> {
    await this.ports.artefacts.end({ kind: this.kind, id: this.digestOf(id) }, this.ports.clock.now());
  }

  /** The library destroys the grant as well, which ends everything of its group at once. */
  revokeByGrantId(): Promise<void> {
    return Promise.resolve();
  }

  private async payloadOf(id: string, artefact: Artefact): Promise<AdapterPayload | undefined> {
    const { data, group, owner, createdAt, expiresAt, consumedAt, endedAt } = artefact;
    if (endedAt !== undefined) return undefined;
    if (consumedAt !== undefined && this.model === 'AuthorizationCode' && !(await this.wasRedeemed(group)))
      // Its first exchange is still under way: to end the grant now would take the tokens from the client.
      throw new errors.InvalidGrant('authorization code is being exchanged');
    const isUsed = consumedAt !== undefined && !this.isInGrace(artefact, this.ports.clock.now());
    return {
      iat: Math.floor(createdAt / SECOND_PROVIDERSTORE),
      exp: Math.floor(expiresAt / SECOND_PROVIDERSTORE),
      // The library changes what it is given.
      ...structuredClone(data),
      jti: id,
      ...(group === undefined ? {} : { grantId: group }),
      ...(owner === undefined || this.model === 'Client' ? {} : { accountId: owner }),
      ...(isUsed ? { consumed: Math.floor(consumedAt / SECOND_PROVIDERSTORE) } : {}),
    };
  }

  private isInGrace({ consumedAt, endedAt }: Artefact, now: number): boolean {
    return (
      this.model === 'RefreshToken' &&
      endedAt === undefined &&
      consumedAt !== undefined &&
      now - consumedAt <= REFRESH_GRACE_MS
    );
  }

  private async wasRedeemed(grantId: string | undefined): Promise<boolean> {
    return grantId !== undefined && (await this.ports.artefacts.find({ kind: REDEEMED, id: grantId })) !== null;
  }

  private async noteUse(grantId: string): Promise<void> {
    const grant = await findGrant(this.ports, grantId);
    if (!grant) return;
    await noteGrantUse(this.ports, grant);
    await noteClientUse(this.ports, grant.clientId);
  }

  /**
   * What a client sends is always digested. The library also works with device codes that it found by their user code,
   * whose secret nobody knows here: it gets a reference to them, which nobody can make without the installation's
   * secret.
   */
  private digestOf(id: string): string {
    const [, digest = '', proof] = /^reference:([0-9a-f]+)\.([0-9a-f]+)$/.exec(id) ?? [];
    return proof !== undefined && proof === this.proofOf(digest) ? digest : secretDigest(this.ports, this.kind, id);
  }

  private referenceTo(digest: string): string {
    return `reference:${digest}.${this.proofOf(digest)}`;
  }

  private proofOf(digest: string): string {
    return this.ports.digests.keyed(`reference to ${this.kind} ${digest}`);
  }

  private aliasOf(userCode: string): string {
    return secretDigest(this.ports, 'user-code', userCode);
  }
}

/** The library's view of a grant of core, which alone makes and ends them. */
export class GrantView implements Adapter {
  constructor(
    private readonly ports: PortsProviderStore,
    private readonly publicUrl: () => string,
  ) {}

  async find(grantId: string): Promise<AdapterPayload | undefined> {
    const grant = await findGrant(this.ports, grantId);
    if (!grant || grant.endedAt !== undefined || grant.expiresAt <= this.ports.clock.now()) return undefined;
    const { personId, clientId, audience, scopes, createdAt, expiresAt } = grant;
    const resource = resourceUrl(this.publicUrl(), audience);
    const scope = scopes.join(' ');
    return {
      jti: grantId,
      kind: 'Grant',
      accountId: personId,
      clientId,
      iat: Math.floor(createdAt / SECOND_PROVIDERSTORE),
      exp: Math.floor(expiresAt / SECOND_PROVIDERSTORE),
      // Clients name a resource with a slash at its end, too.
      resources: { [resource]: scope, [`${resource}/`]: scope },
    };
  }

  async destroy(grantId: string): Promise<void> {
    await endGrant(this.ports, grantId);
  }

  upsert(): Promise<void> {
    return Promise.reject(new Error('Grants are made by core.'));
  }

  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  findByUid(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  consume(): Promise<void> {
    return Promise.resolve();
  }

  revokeByGrantId(): Promise<void> {
    return Promise.resolve();
  }
}

/** Marks the code of a grant as exchanged: using it again now ends the grant. Called before the tokens are sent. */
export async function markRedeemed({ artefacts, clock }: PortsProviderStore, grantId: string): Promise<void> {
  const now = clock.now();
  await artefacts.put({
    kind: REDEEMED,
    id: grantId,
    group: grantId,
    data: {},
    createdAt: now,
    expiresAt: now + KEPT_MS,
    removeAt: now + KEPT_MS,
  });
}

export interface AuthorizationServerOptions {
  readonly context: Context;
  readonly logger: Logger;
  /** The issuer: the public address, without a path. */
  readonly publicUrl: () => string;
  /** The resources that tokens are given out for. */
  readonly audiences: readonly Audience[];
  /** Where a request comes from, as its rates count it. */
  readonly addressOf: (req: IncomingMessage) => string;
  /** Fetches a client's metadata document; absent where an operator allows none. */
  readonly fetchClientDocument?: ClientDocumentFetch | undefined;
}

export interface ClientDocumentFetch {
  /** Whether the document may be asked for at all, for a request from this address. */
  readonly allows: (url: string, address: string) => Promise<boolean>;
  readonly fetch: (url: string) => Promise<Response>;
}

const SECOND_PROVIDERFEATURES = 1_000;
const DOCUMENT_CACHE_SECONDS = { min: 60, max: 3_600 };

/** The library refuses lives that are no whole number of seconds. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / SECOND_PROVIDERFEATURES);
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
