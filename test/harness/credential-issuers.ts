import { type Scope, SCOPES } from '../../core/access/credential.js';
import { createApp, createKey, expireKey, revokeKey } from '../../core/access/manage.js';
import type { Context } from '../../core/context.js';
import type { Person } from '../../core/people/person.js';
import { issueToken, newPerson } from '../fixtures/access-tokens.js';
import { newOwner, type Owner } from '../fixtures/memory-stores.js';

export interface IssuedCredential {
  readonly secret: string;
  expire(): Promise<unknown>;
  revoke(): Promise<unknown>;
}

/**
 * Creates owners, and credentials that act for them. There is one issuer per kind of credential, so that tests cover
 * both.
 */
export interface CredentialIssuer {
  owner(name: string, credits: number): Promise<Owner>;
  /** The same account with another App. */
  otherApp(owner: Owner): Promise<Owner>;
  /** `kind` is the test's name for it. */
  issue(kind: string, of: Owner, scopes: readonly Scope[]): Promise<IssuedCredential>;
}

/** API keys. */
export class KeyIssuer implements CredentialIssuer {
  constructor(private readonly context: Context) {}

  owner(name: string, credits: number): Promise<Owner> {
    return newOwner(this.context, name, credits);
  }

  async otherApp({ accountId }: Owner): Promise<Owner> {
    return { accountId, appId: (await createApp(this.context, { accountId, name: 'other' })).appId };
  }

  async issue(kind: string, { appId }: Owner, scopes: readonly Scope[]): Promise<IssuedCredential> {
    const { context } = this;
    const { key, secret } = await createKey(context, { appId, name: kind, scopes });
    return {
      secret,
      expire: () => expireKey(context, key.keyId, context.clock.now() - 1),
      revoke: () => revokeKey(context, key.keyId),
    };
  }
}

/** OAuth access tokens. An App belongs to one person and one client. */
export class TokenIssuer implements CredentialIssuer {
  private readonly clients = new Map<string, { readonly person: Person; readonly clientId: string }>();

  constructor(private readonly context: Context) {}

  async owner(name: string, credits: number): Promise<Owner> {
    const { accountId } = await newOwner(this.context, name, credits);
    return this.connect(await newPerson(this.context, accountId), 'a client');
  }

  otherApp({ appId }: Owner): Promise<Owner> {
    return this.connect(this.clientOf(appId).person, 'another client');
  }

  issue(_kind: string, { appId }: Owner, scopes: readonly Scope[]): Promise<IssuedCredential> {
    const { person, clientId } = this.clientOf(appId);
    return issueToken(this.context, person, { clientId, scopes });
  }

  private async connect(person: Person, clientId: string): Promise<Owner> {
    const { grant } = await issueToken(this.context, person, { clientId, scopes: SCOPES });
    this.clients.set(grant.appId, { person, clientId });
    return { accountId: person.accountId, appId: grant.appId };
  }

  private clientOf(appId: string): { readonly person: Person; readonly clientId: string } {
    const client = this.clients.get(appId);
    if (client === undefined) throw new Error('No client has this App.');
    return client;
  }
}
