import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit } from '../../core/paging.js';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactKey, ArtefactStore } from '../../core/ports/stores.js';
import { ARTEFACTS } from './columns.js';
import type { PostgresDatabase } from './connection.js';

/** The end of a group counts from when it is noted, for artefacts that were put at the same moment too. */
const END = `coalesce(stored.ended_at, ended.at)`;
const ARTEFACT = `SELECT ${ARTEFACTS.each(({ name }) => (name === 'ended_at' ? `${END} AS ended_at` : `stored.${name}`))}
  FROM darkroom.artefacts AS stored LEFT JOIN darkroom.ended_groups AS ended ON ended.grp = stored.grp`;
const NEWEST_FIRST = 'ORDER BY stored.created_at DESC, stored.id LIMIT $3';
const FIND = `${ARTEFACT} WHERE stored.kind = $1 AND stored.id = $2`;
const FIND_BY_ALIAS = `${ARTEFACT} WHERE stored.kind = $1 AND stored.alias = $2 ${NEWEST_FIRST}`;
const LIST_OWNED = `${ARTEFACT} WHERE stored.kind = $1 AND stored.owner = $2 ${NEWEST_FIRST}`;

const GROUP_END = '(SELECT at FROM darkroom.ended_groups WHERE grp = $3)';
/** One that was consumed or has ended stays as it is. */
const PUT = `INSERT INTO darkroom.artefacts AS stored (${ARTEFACTS.names})
  VALUES (${ARTEFACTS.each(({ name }, index) => (name === 'ended_at' ? `coalesce(${GROUP_END}, $${index + 1})` : `$${index + 1}`))})
  ON CONFLICT (kind, id) DO UPDATE SET ${ARTEFACTS.each(({ name }) => `${name} = excluded.${name}`)}
  WHERE stored.consumed_at IS NULL AND stored.ended_at IS NULL
  RETURNING ${GROUP_END} IS NULL AS kept`;
const CONSUME = `UPDATE darkroom.artefacts AS stored SET consumed_at = $3
  WHERE kind = $1 AND id = $2 AND consumed_at IS NULL AND ended_at IS NULL
    AND NOT EXISTS (SELECT FROM darkroom.ended_groups AS ended WHERE ended.grp = stored.grp)`;
const END_ONE = 'UPDATE darkroom.artefacts SET ended_at = $3 WHERE kind = $1 AND id = $2 AND ended_at IS NULL';
const END_GROUP = `
  WITH noted AS (INSERT INTO darkroom.ended_groups (grp, at, remove_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)
  UPDATE darkroom.artefacts SET ended_at = $2 WHERE grp = $1 AND ended_at IS NULL`;

const REMOVE = 'DELETE FROM darkroom.artefacts WHERE kind = $1 AND id = $2 AND owner = $3';
const REMOVE_OWNED = `DELETE FROM darkroom.artefacts WHERE kind = $1 AND id = ANY (ARRAY(
  SELECT id FROM darkroom.artefacts WHERE kind = $1 AND owner = $2 LIMIT $3 FOR UPDATE SKIP LOCKED))`;
/** Finds rows by their physical place, because the key has two columns. A row that was just updated is left to the next run. */
const REMOVE_EXPIRED = `DELETE FROM darkroom.artefacts WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM darkroom.artefacts WHERE remove_at <= $1 ORDER BY remove_at LIMIT $2 FOR UPDATE SKIP LOCKED))`;
const REMOVE_GROUPS = `DELETE FROM darkroom.ended_groups WHERE grp = ANY (ARRAY(
  SELECT grp FROM darkroom.ended_groups WHERE remove_at <= $1 ORDER BY remove_at LIMIT $2 FOR UPDATE SKIP LOCKED))`;

/** Sessions, sign-in links and what the OAuth server hands out, in PostgreSQL. */
export class PostgresArtefactStore implements ArtefactStore {
  constructor(private readonly db: PostgresDatabase) {}

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const { rows } = await this.db.ask(PUT, ARTEFACTS.valuesOf(artefact));
    return rows[0]?.['kept'] === true ? 'kept' : 'ended';
  }

  async find({ kind, id }: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    return ARTEFACTS.found((await this.db.ask(FIND, [kind, id], call)).rows[0]);
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    return ARTEFACTS.found((await this.db.ask(FIND_BY_ALIAS, [kind, alias, 1])).rows[0]);
  }

  async consume({ kind, id }: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    return (await this.db.ask(CONSUME, [kind, id, at])).rowCount === 1 ? 'consumed' : 'refused';
  }

  async end({ kind, id }: ArtefactKey, at: number): Promise<void> {
    await this.db.ask(END_ONE, [kind, id, at]);
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    await this.db.ask(END_GROUP, [group, at, removeAt]);
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    return (await this.db.ask(LIST_OWNED, [kind, owner, checkedLimit(limit)])).rows.map(ARTEFACTS.recordOf);
  }

  async remove({ kind, id }: ArtefactKey, owner: string): Promise<void> {
    await this.db.ask(REMOVE, [kind, id, owner]);
  }

  async removeOwned(kind: string, owner: string, limit: number): Promise<number> {
    return (await this.db.ask(REMOVE_OWNED, [kind, owner, checkedLimit(limit)])).rowCount;
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const { rowCount: removed } = await this.db.ask(REMOVE_EXPIRED, [now, checkedLimit(limit)]);
    const left = limit - removed;
    return left > 0 ? removed + (await this.db.ask(REMOVE_GROUPS, [now, left])).rowCount : removed;
  }
}
