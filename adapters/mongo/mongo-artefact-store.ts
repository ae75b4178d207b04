import type { Collection, Filter } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { JsonObject } from '../../core/json.js';
import { checkedLimit } from '../../core/paging.js';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactKey, ArtefactStore } from '../../core/ports/stores.js';
import { isDuplicateKey, type MongoConnection } from './connection.js';
import { removeDue } from './documents.js';
import { BY_ID } from './schema.js';

interface ArtefactDocument {
  /** Kind and id. */
  readonly _id: string;
  readonly group?: string;
  /** Kind and owner, or kind and alias, as one text. */
  readonly owner?: string;
  readonly alias?: string;
  readonly data: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly removeAt: number;
  readonly consumedAt: number | null;
  readonly endedAt: number | null;
}

interface EndedGroupDocument {
  readonly _id: string;
  readonly at: number;
  readonly removeAt: number;
}

const USABLE = { consumedAt: null, endedAt: null };

/**
 * Sessions, sign-in links and what the OAuth server hands out, in MongoDB. A group and its artefacts are separate
 * documents: its end is written first, and whoever adds or uses an artefact reads it afterwards, so that one of the two
 * sees the other.
 */
export class MongoArtefactStore implements ArtefactStore {
  private readonly artefacts: Collection<ArtefactDocument>;
  private readonly endedGroups: Collection<EndedGroupDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.artefacts = connection.collection('artefacts');
    this.endedGroups = connection.collection('ended_groups');
  }

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const { _id, ...content } = documentOf(artefact);
    try {
      await this.connection.ask((limits) =>
        this.artefacts.replaceOne({ _id, ...USABLE }, content, { ...limits, hint: BY_ID, upsert: true }),
      );
    } catch (error) {
      // The one that is there is not usable any more, or another process has put it first: then that one counts.
      if (!isDuplicateKey(error)) throw error;
      const current = await this.find(artefact);
      if (current !== null && isUsable(current)) return this.put(artefact);
      return 'ended';
    }
    const groupEndedAt = await this.endOf(artefact.group);
    if (groupEndedAt === undefined) return 'kept';
    await this.end(artefact, groupEndedAt);
    return 'ended';
  }

  async find({ kind, id }: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    const found = await this.connection.ask((limits) => this.artefacts.findOne({ _id: `${kind}:${id}` }, limits), call);
    return this.withEnd(found);
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    const [found = null] = await this.newest({ alias: `${kind}:${alias}` }, 'artefacts_by_alias', 1);
    return this.withEnd(found);
  }

  async consume({ kind, id }: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    const filter = { _id: `${kind}:${id}`, ...USABLE };
    const { matchedCount } = await this.connection.ask((limits) =>
      this.artefacts.updateOne(filter, { $set: { consumedAt: at } }, { ...limits, hint: BY_ID }),
    );
    if (matchedCount === 0) return 'refused';
    return (await this.find({ kind, id }))?.endedAt === undefined ? 'consumed' : 'refused';
  }

  async end({ kind, id }: ArtefactKey, at: number): Promise<void> {
    const filter = { _id: `${kind}:${id}`, endedAt: null };
    await this.connection.ask((limits) =>
      this.artefacts.updateOne(filter, { $set: { endedAt: at } }, { ...limits, hint: BY_ID }),
    );
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    await this.connection.ask((limits) =>
      this.endedGroups.updateOne(
        { _id: group },
        { $setOnInsert: { at, removeAt } },
        { ...limits, hint: BY_ID, upsert: true },
      ),
    );
    await this.connection.ask((limits) =>
      this.artefacts.updateMany(
        { group, endedAt: null },
        { $set: { endedAt: at } },
        { ...limits, hint: 'artefacts_by_group' },
      ),
    );
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    const found = await this.newest({ owner: `${kind}:${owner}` }, 'artefacts_by_owner', checkedLimit(limit));
    return found.map(artefactOf);
  }

  async remove({ kind, id }: ArtefactKey): Promise<void> {
    await this.connection.ask((limits) =>
      this.artefacts.deleteOne({ _id: `${kind}:${id}` }, { ...limits, hint: BY_ID }),
    );
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const removed = await removeDue(this.connection, this.artefacts, 'artefacts_by_removal', now, checkedLimit(limit));
    const left = limit - removed;
    return left > 0
      ? removed + (await removeDue(this.connection, this.endedGroups, 'ended_groups_by_removal', now, left))
      : removed;
  }

  private newest(filter: Filter<ArtefactDocument>, hint: string, limit: number): Promise<ArtefactDocument[]> {
    return this.connection.ask((limits) =>
      this.artefacts.find(filter, { sort: { createdAt: -1, _id: 1 }, limit, hint, ...limits }).toArray(),
    );
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
    if (group === undefined) return undefined;
    const found = await this.connection.ask((limits) => this.endedGroups.findOne({ _id: group }, limits));
    return found?.at;
  }
}

function documentOf({
  kind,
  id,
  group,
  owner,
  alias,
  data,
  consumedAt,
  endedAt,
  ...times
}: Artefact): ArtefactDocument {
  return {
    _id: `${kind}:${id}`,
    ...(group === undefined ? {} : { group }),
    ...(owner === undefined ? {} : { owner: `${kind}:${owner}` }),
    ...(alias === undefined ? {} : { alias: `${kind}:${alias}` }),
    data: JSON.stringify(data),
    ...times,
    consumedAt: consumedAt ?? null,
    endedAt: endedAt ?? null,
  };
}

function artefactOf({
  _id,
  group,
  owner,
  alias,
  data,
  createdAt,
  expiresAt,
  removeAt,
  consumedAt,
  endedAt,
}: ArtefactDocument): Artefact {
  const kind = _id.slice(0, _id.indexOf(':'));
  const own = (text: string) => text.slice(kind.length + 1);
  return {
    kind,
    id: own(_id),
    ...(group === undefined ? {} : { group }),
    ...(owner === undefined ? {} : { owner: own(owner) }),
    ...(alias === undefined ? {} : { alias: own(alias) }),
    data: JSON.parse(data) as JsonObject,
    createdAt,
    expiresAt,
    removeAt,
    ...(consumedAt === null ? {} : { consumedAt }),
    ...(endedAt === null ? {} : { endedAt }),
  };
}

function isUsable({ consumedAt, endedAt }: Artefact): boolean {
  return consumedAt === undefined && endedAt === undefined;
}
