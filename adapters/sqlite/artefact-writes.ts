import type { Database, SqlValue } from './driver.js';

export function artefactWrites(database: Database) {
  const usedUp = database.prepare(
    'SELECT 1 FROM artefacts WHERE kind = ? AND id = ? AND (consumed_at IS NOT NULL OR ended_at IS NOT NULL)',
  );
  const endedGroup = database.prepare('SELECT at FROM ended_groups WHERE grp = ?');
  const put = database.prepare(`
    INSERT OR REPLACE INTO artefacts (kind, id, grp, owner, alias, data, created_at, expires_at, remove_at, consumed_at, ended_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const consume = database.prepare(`
    UPDATE artefacts SET consumed_at = ?3 WHERE kind = ?1 AND id = ?2 AND consumed_at IS NULL AND ended_at IS NULL`);
  const end = database.prepare('UPDATE artefacts SET ended_at = ?3 WHERE kind = ?1 AND id = ?2 AND ended_at IS NULL');
  const noteGroup = database.prepare(
    'INSERT INTO ended_groups (grp, at, remove_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const endAll = database.prepare('UPDATE artefacts SET ended_at = ?2 WHERE grp = ?1 AND ended_at IS NULL');
  const remove = database.prepare('DELETE FROM artefacts WHERE kind = ? AND id = ?');
  const removeExpired = database.prepare(`
    DELETE FROM artefacts WHERE (kind, id) IN
      (SELECT kind, id FROM artefacts WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)`);
  const removeGroups = database.prepare(`
    DELETE FROM ended_groups WHERE grp IN (SELECT grp FROM ended_groups WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)`);

  return {
    /** Answers 1 if the artefact is usable, else 0. */
    putArtefact(...columns: SqlValue[]): number {
      const [kind = null, id = null, group = null] = columns;
      if (usedUp.get(kind, id) !== undefined) return 0;
      const groupEndedAt = group === null ? undefined : (endedGroup.get(group)?.['at'] as number | undefined);
      put.run(...columns.slice(0, -1), groupEndedAt ?? columns.at(-1) ?? null);
      return groupEndedAt === undefined ? 1 : 0;
    },
    consumeArtefact: (...values: SqlValue[]) => Number(consume.run(...values).changes),
    endArtefact: (...values: SqlValue[]) => Number(end.run(...values).changes),
    endArtefactGroup(group: SqlValue, at: SqlValue, removeAt: SqlValue): number {
      noteGroup.run(group, at, removeAt);
      return Number(endAll.run(group, at).changes);
    },
    removeArtefact: (...key: SqlValue[]) => Number(remove.run(...key).changes),
    removeExpiredArtefacts(now: SqlValue, limit: SqlValue): number {
      const removed = Number(removeExpired.run(now, limit).changes);
      const left = Number(limit) - removed;
      return left > 0 ? removed + Number(removeGroups.run(now, left).changes) : removed;
    },
  };
}
