import type { ApiKey, App } from '../../../core/access/credential.js';
import { type Cancellation, throwIfAborted } from '../../../core/cancellation.js';
import { checkedLimit, type Page, type PageRequest } from '../../../core/paging.js';
import type { Artefact, OutsideIdentity, Person } from '../../../core/people/person.js';
import type {
  ArtefactKey,
  ArtefactStore,
  CredentialStore,
  IdentityKey,
  PersonStore,
} from '../../../core/ports/stores.js';
import { AccountThings, frozenCopy } from './records.js';

/** Apps and API keys in this process's memory; gone when the process ends. */
export class MemoryCredentialStore implements CredentialStore {
  private readonly apps = new AccountThings<App>((app) => app.appId);
  private readonly keys = new AccountThings<ApiKey>((key) => key.keyId);
  private readonly keyIdByDigest = new Map<string, string>();

  async insertApp(app: App): Promise<'created' | 'exists'> {
    if (this.apps.get(app.appId) !== undefined) return 'exists';
    this.apps.insert(app);
    return 'created';
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    throwIfAborted(call);
    return this.apps.get(appId) ?? null;
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    throwIfAborted(call);
    return this.apps.list(accountId, page);
  }

  async renameApp(appId: string, name: string): Promise<void> {
    const app = this.apps.get(appId);
    if (app !== undefined) this.apps.put({ ...app, name });
  }

  async insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    if (this.keys.get(key.keyId) !== undefined || this.keyIdByDigest.has(key.digest)) return 'exists';
    this.keys.insert(key);
    this.keyIdByDigest.set(key.digest, key.keyId);
    return 'created';
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    const keyId = 'keyId' in by ? by.keyId : this.keyIdByDigest.get(by.digest);
    return (keyId === undefined ? undefined : this.keys.get(keyId)) ?? null;
  }

  async replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const current = this.keys.get(next.keyId);
    if (current?.version !== expectedVersion) return 'conflict';
    const { hint: _hint, ...changed } = next;
    const { accountId, digest, hint } = current;
    this.keys.put({ ...changed, accountId, digest, ...(hint === undefined ? {} : { hint }) });
    return 'applied';
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    throwIfAborted(call);
    return this.keys.list(accountId, page);
  }
}

/** People in this process's memory; gone when the process ends. */
export class MemoryPersonStore implements PersonStore {
  private readonly people = new AccountThings<Person>((person) => person.personId);
  private readonly idByEmail = new Map<string, string>();
  private readonly identities = new Map<string, OutsideIdentity>();

  async insert(person: Person): Promise<'created' | 'exists'> {
    if (this.people.get(person.personId) !== undefined || this.idByEmail.has(person.email)) return 'exists';
    this.people.insert(person);
    this.idByEmail.set(person.email, person.personId);
    return 'created';
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    throwIfAborted(call);
    return this.people.get(personId) ?? null;
  }

  async findByEmail(email: string): Promise<Person | null> {
    const personId = this.idByEmail.get(email);
    return (personId === undefined ? undefined : this.people.get(personId)) ?? null;
  }

  async replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const current = this.people.get(next.personId);
    if (current?.version !== expectedVersion) return 'conflict';
    this.people.put({ ...next, accountId: current.accountId, email: current.email });
    return 'applied';
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    throwIfAborted(call);
    return this.people.list(accountId, page);
  }

  async remove(personId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const current = this.people.get(personId);
    if (current?.version !== expectedVersion) return 'conflict';
    this.people.remove(current);
    this.idByEmail.delete(current.email);
    return 'applied';
  }

  async insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'> {
    if (this.identities.has(identityKey(identity))) return 'exists';
    this.identities.set(identityKey(identity), frozenCopy(identity));
    return 'created';
  }

  async findIdentity(key: IdentityKey): Promise<OutsideIdentity | null> {
    return this.identities.get(identityKey(key)) ?? null;
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    const own = [...this.identities.values()].filter((identity) => identity.personId === personId);
    return own.sort((a, b) => a.linkedAt - b.linkedAt);
  }

  async removeIdentity(key: IdentityKey, personId: string): Promise<void> {
    if (this.identities.get(identityKey(key))?.personId === personId) this.identities.delete(identityKey(key));
  }
}

function identityKey({ issuer, subject }: IdentityKey): string {
  return JSON.stringify([issuer, subject]);
}

/** Artefacts in this process's memory; gone when the process ends. */
export class MemoryArtefactStore implements ArtefactStore {
  private readonly artefacts = new Map<string, Artefact>();
  private readonly endedGroups = new Map<string, { readonly at: number; readonly removeAt: number }>();

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const current = this.artefacts.get(artefactKey(artefact));
    if (current !== undefined && !isUsable(current)) return 'ended';
    const ended = artefact.group === undefined ? undefined : this.endedGroups.get(artefact.group);
    this.keep(ended === undefined ? artefact : { ...artefact, endedAt: ended.at });
    return ended === undefined ? 'kept' : 'ended';
  }

  async find(key: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    throwIfAborted(call);
    return this.artefacts.get(artefactKey(key)) ?? null;
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    const found = [...this.artefacts.values()].filter((one) => one.kind === kind && one.alias === alias);
    return found.sort(byAge)[0] ?? null;
  }

  async consume(key: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    const current = this.artefacts.get(artefactKey(key));
    if (current === undefined || !isUsable(current)) return 'refused';
    this.keep({ ...current, consumedAt: at });
    return 'consumed';
  }

  async end(key: ArtefactKey, at: number): Promise<void> {
    const current = this.artefacts.get(artefactKey(key));
    if (current !== undefined && current.endedAt === undefined) this.keep({ ...current, endedAt: at });
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    if (!this.endedGroups.has(group)) this.endedGroups.set(group, { at, removeAt });
    for (const artefact of this.artefacts.values()) {
      if (artefact.group === group && artefact.endedAt === undefined) this.keep({ ...artefact, endedAt: at });
    }
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    return [...this.artefacts.values()]
      .filter((artefact) => artefact.kind === kind && artefact.owner === owner)
      .sort(byAge)
      .slice(0, checkedLimit(limit));
  }

  async remove(key: ArtefactKey, owner: string): Promise<void> {
    if (this.artefacts.get(artefactKey(key))?.owner === owner) this.artefacts.delete(artefactKey(key));
  }

  async removeOwned(kind: string, owner: string, limit: number): Promise<number> {
    const own = await this.listOwned(kind, owner, limit);
    for (const artefact of own) this.artefacts.delete(artefactKey(artefact));
    return own.length;
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const due = [...this.artefacts].filter(([, { removeAt }]) => removeAt <= now).slice(0, checkedLimit(limit));
    for (const [key] of due) this.artefacts.delete(key);
    const groups = [...this.endedGroups].filter(([, { removeAt }]) => removeAt <= now).slice(0, limit - due.length);
    for (const [group] of groups) this.endedGroups.delete(group);
    return due.length + groups.length;
  }

  private keep(artefact: Artefact): void {
    this.artefacts.set(artefactKey(artefact), frozenCopy(artefact));
  }
}

function artefactKey({ kind, id }: ArtefactKey): string {
  return `${kind}:${id}`;
}

/** The newest first. */
function byAge(a: Artefact, b: Artefact): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1);
}

function isUsable({ consumedAt, endedAt }: Artefact): boolean {
  return consumedAt === undefined && endedAt === undefined;
}
