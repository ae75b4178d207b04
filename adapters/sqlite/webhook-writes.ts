import type { Database, SqlValue } from './driver.js';
import { replaceNamed } from './named-writes.js';

export function webhookWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO deliveries (id, version, attention_at, doc, endpoint, created_at)
    VALUES (unhex(?, '-'), ?, ?, ?, unhex(?, '-'), ?) ON CONFLICT DO NOTHING`);
  const read = database.prepare(`SELECT doc FROM deliveries WHERE id = unhex(?, '-')`);
  const replace = database.prepare(`
    UPDATE deliveries SET version = ?3, attention_at = ?4, doc = ?5 WHERE id = unhex(?1, '-') AND version = ?2`);
  const remove = database.prepare(`DELETE FROM deliveries WHERE id = unhex(?, '-') AND version = ?`);

  return {
    replaceAppWebhooks: replaceNamed(database, { table: 'webhook_endpoints', name: 'app' }),
    /** Answers 1, or the delivery that has the id. */
    insertDelivery(...delivery: SqlValue[]): number | string {
      const { changes } = insert.run(...delivery);
      return Number(changes) === 1 ? 1 : (read.get(delivery[0] as string)?.['doc'] as string);
    },
    replaceDelivery: (...delivery: SqlValue[]) => Number(replace.run(...delivery).changes),
    removeDelivery: (...delivery: SqlValue[]) => Number(remove.run(...delivery).changes),
  };
}
