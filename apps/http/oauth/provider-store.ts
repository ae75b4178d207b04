import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { Identity, Machine } from '../../../core/context.js';
import type { JsonObject } from '../../../core/json.js';
import { ACCESS_TOKEN_KIND, endGrant, findGrant, findLivingGrant, noteGrantUse } from '../../../core/people/grants.js';
import { exchangeRefreshToken, isInGrace, REFRESH_TOKEN_KIND } from '../../../core/people/refresh-tokens.js';
import { secretDigest } from '../../../core/people/secrets.js';
import type { Artefact } from '../../../core/people/person.js';
import { resourceUrl } from './metadata.js';
import {
  CLIENT_KIND,
  DEVICE_CODE_KIND,
  INTERACTION_KIND,
  isClients,
  noteClientUse,
  requestsOf,
} from './registration.js';
import { canonicalResource, type Resources } from './requests.js';

type ProviderStorePorts = Identity & Machine;

const SECOND_MS = 1_000;
/** How long an ended artefact stays distinguishable from none. */
const KEPT_MS = 86_400_000;

/** Anybody can make these without an account, so they take up room for no longer than somebody may ask for them. */
const BRIEFLY_KEPT_MS: Readonly<Record<string, number>> = { Interaction: 0, Session: 0, DeviceCode: 600_000 };

const KINDS: Readonly<Record<string, string>> = {
  AccessToken: ACCESS_TOKEN_KIND,
  AuthorizationCode: 'authorization-code',
  RefreshToken: REFRESH_TOKEN_KIND,
  DeviceCode: DEVICE_CODE_KIND,
  Client: CLIENT_KIND,
  Interaction: INTERACTION_KIND,
  Session: 'oauth-session',
};

/** Kept as an artefact of its own while a grant lives: its authorization code was exchanged for tokens. */
const REDEEMED = 'redeemed-code';

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

/**
 * Stores the library's records as artefacts, with a digest of each secret and never the secret. The library decides by the
 * result of `find`; rules among several processes are decided by the store: `consume` succeeds for one caller, and nothing
 * can be put into a group that has ended.
 */
export class ProviderStore implements Adapter {
  private readonly kind: string;

  /** `model`: the name that the library has for it. */
  constructor(
    private readonly ports: ProviderStorePorts,
    private readonly model: string,
    private readonly resources: Resources,
  ) {
    const kind = KINDS[model];
    if (kind === undefined) throw new Error(`The OAuth server must not store ${model}.`);
    this.kind = kind;
  }

  async upsert(id: string, payload: AdapterPayload, expiresInSeconds: number): Promise<void> {
    const { clock } = this.ports;
    const { jti: _jti, grantId, accountId, userCode, ...data } = payload;
    const owner = accountId ?? this.clientOf(payload);
    const now = clock.now();
    const expiresAt = now + expiresInSeconds * SECOND_MS;
    const artefact: Artefact = {
      kind: this.kind,
      id: this.digestOf(id),
      ...(grantId === undefined ? {} : { group: grantId }),
      ...(owner === undefined ? {} : { owner }),
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
  readonly findByUid = nothing;
  /** The library destroys the grant as well, which ends everything of its group at once. */
  readonly revokeByGrantId = nothing;

  async consume(id: string): Promise<void> {
    const { artefacts, clock } = this.ports;
    const digest = this.digestOf(id);
    const isConsumed =
      this.model === 'RefreshToken'
        ? (await exchangeRefreshToken(this.ports, digest)) === 'exchanged'
        : (await artefacts.consume({ kind: this.kind, id: digest }, clock.now())) === 'consumed';
    if (!isConsumed) throw new errors.InvalidGrant('it was used already');
  }

  async destroy(id: string): Promise<void> {
    await this.ports.artefacts.end({ kind: this.kind, id: this.digestOf(id) }, this.ports.clock.now());
  }

  private async payloadOf(id: string, artefact: Artefact): Promise<AdapterPayload | undefined> {
    const { data, group, owner, createdAt, expiresAt, consumedAt, endedAt } = artefact;
    if (endedAt !== undefined) return undefined;
    if (consumedAt !== undefined && this.model === 'AuthorizationCode' && !(await this.wasRedeemed(group)))
      // Its first exchange is still under way: to end the grant now would take the tokens from the client.
      throw new errors.InvalidGrant('authorization code is being exchanged');
    const mayBeUsedAgain = this.model === 'RefreshToken' && isInGrace(artefact, this.ports.clock.now());
    const isUsed = consumedAt !== undefined && !mayBeUsedAgain;
    return {
      iat: Math.floor(createdAt / SECOND_MS),
      exp: Math.floor(expiresAt / SECOND_MS),
      // The library changes what it is given.
      ...structuredClone(data),
      ...this.resourceOf(data),
      jti: id,
      ...(group === undefined ? {} : { grantId: group }),
      ...(owner === undefined || this.model === 'Client' || isClients(owner) ? {} : { accountId: owner }),
      ...(isUsed ? { consumed: Math.floor(consumedAt / SECOND_MS) } : {}),
    };
  }

  /** Earlier releases stored a resource as the client spelled it, while requests now name it as its metadata does. */
  private resourceOf({ resource }: Pick<AdapterPayload, 'resource'>): Pick<AdapterPayload, 'resource'> {
    if (resource === undefined) return {};
    const canonical = [resource].flat().map((one) => canonicalResource(one, this.resources));
    return { resource: Array.isArray(resource) ? canonical : (canonical[0] ?? resource) };
  }

  /** The owner of a request that no person has answered yet. */
  private clientOf({ clientId, params }: AdapterPayload): string | undefined {
    const asked =
      this.model === 'Interaction' ? params?.['client_id'] : this.model === 'DeviceCode' ? clientId : undefined;
    return typeof asked === 'string' ? requestsOf(this.ports, asked) : undefined;
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
   * A value that a client sends is always digested. The library also works with device codes that it found by their user code,
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
    private readonly ports: ProviderStorePorts,
    private readonly publicUrl: () => string,
  ) {}

  async find(grantId: string): Promise<AdapterPayload | undefined> {
    const grant = await findLivingGrant(this.ports, grantId);
    if (!grant) return undefined;
    const { personId, clientId, audience, scopes, createdAt, expiresAt } = grant;
    const resource = resourceUrl(this.publicUrl(), audience);
    const scope = scopes.join(' ');
    return {
      jti: grantId,
      kind: 'Grant',
      accountId: personId,
      clientId,
      iat: Math.floor(createdAt / SECOND_MS),
      exp: Math.floor(expiresAt / SECOND_MS),
      // Requests that began in an earlier release may name the resource with a slash at its end.
      resources: { [resource]: scope, [`${resource}/`]: scope },
    };
  }

  async destroy(grantId: string): Promise<void> {
    await endGrant(this.ports, grantId);
  }

  upsert(): Promise<void> {
    return Promise.reject(new Error('Grants are made by core.'));
  }

  readonly findByUserCode = nothing;
  readonly findByUid = nothing;
  readonly consume = nothing;
  readonly revokeByGrantId = nothing;
}

/** Marks the code of a grant as exchanged: using it again now ends the grant. Called before the tokens are sent. */
export async function markRedeemed({ artefacts, clock }: ProviderStorePorts, grantId: string): Promise<void> {
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
