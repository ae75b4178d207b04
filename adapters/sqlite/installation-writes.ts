import type { Database, SqlValue } from './driver.js';

export function installationWrites(database: Database) {
  const insert = database.prepare(
    `INSERT INTO installation (row, secret, objects) VALUES (1, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const read = database.prepare(`SELECT secret, objects FROM installation`);

  return {
    /** Answers 1, or the columns of the existing facts. */
    claimInstallation(...facts: SqlValue[]): number | string {
      const { changes } = insert.run(...facts);
      return Number(changes) === 1 ? 1 : JSON.stringify(read.get());
    },
  };
}
