import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit } from '../../core/paging.js';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactKey, ArtefactStore } from '../../core/ports/stores.js';
import { ARTEFACTS } from './columns.js';
import type { Connections } from './reader.js';

const NEWEST_FIRST = 'ORDER BY created_at DESC, id LIMIT ?';

/** Sessions, sign-in links and what the OAuth server hands out, in SQLite. */
export class SqliteArtefactStore implements ArtefactStore {
  constructor(private readonly db: Connections) {}

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    return (await this.db.writer.write('putArtefact', ...ARTEFACTS.valuesOf(artefact))) === 1 ? 'kept' : 'ended';
  }

  async find({ kind, id }: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    throwIfAborted(call);
    return ARTEFACTS.found(this.db.reader.get(`${ARTEFACTS.selection} WHERE kind = ? AND id = ?`, kind, id));
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    const sql = `${ARTEFACTS.selection} WHERE kind = ? AND alias = ? ${NEWEST_FIRST}`;
    return ARTEFACTS.found(this.db.reader.get(sql, kind, alias, 1));
  }

  async consume({ kind, id }: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    const usable = 'kind = ? AND id = ? AND consumed_at IS NULL AND ended_at IS NULL';
    const consumed = await this.db.writer.run(`UPDATE artefacts SET consumed_at = ? WHERE ${usable}`, at, kind, id);
    return consumed === 1 ? 'consumed' : 'refused';
  }

  async end({ kind, id }: ArtefactKey, at: number): Promise<void> {
    const sql = 'UPDATE artefacts SET ended_at = ? WHERE kind = ? AND id = ? AND ended_at IS NULL';
    await this.db.writer.run(sql, at, kind, id);
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    await this.db.writer.write('endArtefactGroup', group, at, removeAt);
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    const sql = `${ARTEFACTS.selection} WHERE kind = ? AND owner = ? ${NEWEST_FIRST}`;
    return this.db.reader.all(sql, kind, owner, checkedLimit(limit)).map(ARTEFACTS.recordOf);
  }

  async remove({ kind, id }: ArtefactKey, owner: string): Promise<void> {
    await this.db.writer.run('DELETE FROM artefacts WHERE kind = ? AND id = ? AND owner = ?', kind, id, owner);
  }

  async removeOwned(kind: string, owner: string, limit: number): Promise<number> {
    return (await this.db.writer.write('removeOwnedArtefacts', kind, owner, checkedLimit(limit))) as number;
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    return (await this.db.writer.write('removeExpiredArtefacts', now, checkedLimit(limit))) as number;
  }
}
