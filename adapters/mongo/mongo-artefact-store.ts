import type { Cancellation } from '../../core/cancellation.js';
import type { JsonObject } from '../../core/json.js';
import { checkedLimit } from '../../core/paging.js';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactKey, ArtefactStore } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { Documents, present, unlessTaken } from './documents.js';

interface ArtefactDocument extends Omit<Artefact, 'kind' | 'id' | 'group' | 'data' | 'consumedAt' | 'endedAt'> {
  /** Kind and id. */
  readonly _id: string;
  readonly group?: string | undefined;
  /** Kind and owner, or kind and alias, as one text. */
  readonly owner?: string;
  readonly alias?: string;
  readonly data: string;
  readonly consumedAt: number | null;
  readonly endedAt: number | null;
}

interface EndedGroupDocument {
  readonly _id: string;
  readonly at: number;
  readonly removeAt: number;
}

const USABLE = { consumedAt: null, endedAt: null };
const NEWEST_FIRST = { createdAt: -1, _id: 1 } as const;

/**
 * Sessions, sign-in links and what the OAuth server hands out, in MongoDB. A group and its artefacts are separate
 * documents: its end is written first, and whoever adds or uses an artefact reads it afterwards, so that one of the two
 * sees the other.
 */
export class MongoArtefactStore implements ArtefactStore {
  private readonly artefacts: Documents<ArtefactDocument>;
  private readonly endedGroups: Documents<EndedGroupDocument>;

  constructor(connection: MongoConnection) {
    this.artefacts = new Documents(connection, 'artefacts');
    this.endedGroups = new Documents(connection, 'ended_groups');
  }

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const content = contentOf(artefact);
    if (!(await unlessTaken(() => this.artefacts.replace({ _id: idOf(artefact), ...USABLE }, content, true)))) {
      // The one that is there is not usable any more, or another process has put it first: then that one counts.
      const current = await this.find(artefact);
      const isUsable = current !== null && current.consumedAt === undefined && current.endedAt === undefined;
      return isUsable ? this.put(artefact) : 'ended';
    }
    const groupEndedAt = await this.endOf(artefact.group);
    if (groupEndedAt === undefined) return 'kept';
    await this.end(artefact, groupEndedAt);
    return 'ended';
  }

  async find(key: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    return this.withEnd(await this.artefacts.first({ _id: idOf(key) }, {}, call));
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    const options = { sort: NEWEST_FIRST, limit: 1, hint: 'artefacts_by_alias' };
    const [found = null] = await this.artefacts.find({ alias: `${kind}:${alias}` }, options);
    return this.withEnd(found);
  }

  async consume(key: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    const outcome = await this.artefacts.update({ _id: idOf(key), ...USABLE }, { $set: { consumedAt: at } });
    if (outcome === 'conflict') return 'refused';
    return (await this.find(key))?.endedAt === undefined ? 'consumed' : 'refused';
  }

  async end(key: ArtefactKey, at: number): Promise<void> {
    await this.artefacts.update({ _id: idOf(key), endedAt: null }, { $set: { endedAt: at } });
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    await this.endedGroups.update({ _id: group }, { $setOnInsert: { at, removeAt } }, true);
    await this.artefacts.connection.ask((limits) =>
      this.artefacts.collection.updateMany(
        { group, endedAt: null },
        { $set: { endedAt: at } },
        { ...limits, hint: 'artefacts_by_group' },
      ),
    );
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    const options = { sort: NEWEST_FIRST, limit: checkedLimit(limit), hint: 'artefacts_by_owner' };
    return (await this.artefacts.find({ owner: `${kind}:${owner}` }, options)).map(artefactOf);
  }

  async remove(key: ArtefactKey, owner: string): Promise<void> {
    await this.artefacts.remove({ _id: idOf(key), owner: `${key.kind}:${owner}` });
  }

  removeOwned(kind: string, owner: string, limit: number): Promise<number> {
    const own = { owner: `${kind}:${owner}` };
    return this.artefacts.removeFirst(own, NEWEST_FIRST, checkedLimit(limit), 'artefacts_by_owner');
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const removed = await this.artefacts.removeDue('artefacts_by_removal', now, checkedLimit(limit));
    const left = limit - removed;
    return left > 0 ? removed + (await this.endedGroups.removeDue('ended_groups_by_removal', now, left)) : removed;
  }

  /** The mark of the group counts before each artefact carries it. */
  private async withEnd(document: ArtefactDocument | null): Promise<Artefact | null> {
    if (document === null) return null;
    const artefact = artefactOf(document);
    if (artefact.endedAt !== undefined) return artefact;
    const groupEndedAt = await this.endOf(artefact.group);
    return groupEndedAt === undefined ? artefact : { ...artefact, endedAt: groupEndedAt };
  }

  private async endOf(group: string | undefined): Promise<number | undefined> {
    return group === undefined ? undefined : (await this.endedGroups.first({ _id: group }))?.at;
  }
}

function idOf({ kind, id }: ArtefactKey): string {
  return `${kind}:${id}`;
}

function contentOf(artefact: Artefact): Omit<ArtefactDocument, '_id'> {
  const { kind, group, owner, alias, data, createdAt, expiresAt, removeAt, consumedAt, endedAt } = artefact;
  return {
    group,
    ...(owner === undefined ? {} : { owner: `${kind}:${owner}` }),
    ...(alias === undefined ? {} : { alias: `${kind}:${alias}` }),
    data: JSON.stringify(data),
    createdAt,
    expiresAt,
    removeAt,
    consumedAt: consumedAt ?? null,
    endedAt: endedAt ?? null,
  };
}

export function artefactOf({ _id, owner, alias, data, ...rest }: ArtefactDocument): Artefact {
  const kind = _id.slice(0, _id.indexOf(':'));
  const own = (text: string | undefined) => text?.slice(kind.length + 1);
  return present<Artefact>({
    ...rest,
    kind,
    id: _id.slice(kind.length + 1),
    owner: own(owner),
    alias: own(alias),
    data: JSON.parse(data) as JsonObject,
  });
}
