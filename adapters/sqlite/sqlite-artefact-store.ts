import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { JsonObject } from '../../core/json.js';
import { checkedLimit } from '../../core/paging.js';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactKey, ArtefactStore } from '../../core/ports/stores.js';
import type { Row } from './database.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

const ARTEFACT = `
  SELECT kind, id, grp, owner, alias, data, created_at, expires_at, remove_at, consumed_at, ended_at FROM artefacts`;

/** Sessions, sign-in links and what the OAuth server hands out, in SQLite. */
export class SqliteArtefactStore implements ArtefactStore {
  private readonly byKey: Query;
  private readonly byAlias: Query;
  private readonly byOwner: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byKey = reader.query(`${ARTEFACT} WHERE kind = ? AND id = ?`);
    this.byAlias = reader.query(`${ARTEFACT} WHERE kind = ? AND alias = ? ORDER BY created_at DESC, id LIMIT 1`);
    this.byOwner = reader.query(`${ARTEFACT} WHERE kind = ? AND owner = ? ORDER BY created_at DESC, id LIMIT ?`);
  }

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const { kind, id, group = null, owner = null, alias = null, data, createdAt, expiresAt, removeAt } = artefact;
    const { consumedAt = null, endedAt = null } = artefact;
    const kept = await this.writer.write(
      'putArtefact',
      kind,
      id,
      group,
      owner,
      alias,
      JSON.stringify(data),
      createdAt,
      expiresAt,
      removeAt,
      consumedAt,
      endedAt,
    );
    return kept === 1 ? 'kept' : 'ended';
  }

  async find({ kind, id }: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    throwIfAborted(call);
    return artefactOf(this.byKey.get(kind, id));
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    return artefactOf(this.byAlias.get(kind, alias));
  }

  async consume({ kind, id }: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    return (await this.writer.write('consumeArtefact', kind, id, at)) === 1 ? 'consumed' : 'refused';
  }

  async end({ kind, id }: ArtefactKey, at: number): Promise<void> {
    await this.writer.write('endArtefact', kind, id, at);
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    await this.writer.write('endArtefactGroup', group, at, removeAt);
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    return this.byOwner.all(kind, owner, checkedLimit(limit)).map((row) => artefactOf(row) as Artefact);
  }

  async remove({ kind, id }: ArtefactKey): Promise<void> {
    await this.writer.write('removeArtefact', kind, id);
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    return (await this.writer.write('removeExpiredArtefacts', now, checkedLimit(limit))) as number;
  }
}

function artefactOf(row: Row | undefined): Artefact | null {
  if (row === undefined) return null;
  return {
    kind: row['kind'] as string,
    id: row['id'] as string,
    ...(row['grp'] === null ? {} : { group: row['grp'] as string }),
    ...(row['owner'] === null ? {} : { owner: row['owner'] as string }),
    ...(row['alias'] === null ? {} : { alias: row['alias'] as string }),
    data: JSON.parse(row['data'] as string) as JsonObject,
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number,
    removeAt: row['remove_at'] as number,
    ...(row['consumed_at'] === null ? {} : { consumedAt: row['consumed_at'] as number }),
    ...(row['ended_at'] === null ? {} : { endedAt: row['ended_at'] as number }),
  };
}
