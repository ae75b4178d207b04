import type { Cancellation } from '../../core/cancellation.js';
import type { Fingerprint, ProcessLease } from '../../core/idempotency/fingerprint.js';
import { checkedLimit } from '../../core/paging.js';
import type { FingerprintStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { BOOT_LEASES, FINGERPRINTS, idOrNull } from './columns.js';
import type { PostgresDatabase } from './connection.js';
import { outcomeOf } from './postgres-records.js';

const READ = `${FINGERPRINTS.selection} WHERE fingerprint = decode($1, 'hex')`;
const INSERT = `INSERT INTO darkroom.fingerprints (fingerprint, ${FINGERPRINTS.names})
  VALUES (decode($1, 'hex'), ${FINGERPRINTS.places(2)}) ON CONFLICT DO NOTHING`;
const REPLACE = `UPDATE darkroom.fingerprints SET ${FINGERPRINTS.assigned(3)} WHERE fingerprint = decode($1, 'hex') AND version = $2`;
const RENEW = `INSERT INTO darkroom.boot_leases (${BOOT_LEASES.names}) VALUES (${BOOT_LEASES.places(1)})
  ON CONFLICT (boot) DO UPDATE SET ${BOOT_LEASES.each(({ name }) => `${name} = excluded.${name}`)}`;
const REMOVE_OWN = `DELETE FROM darkroom.fingerprints WHERE fingerprint = ANY (ARRAY(
  SELECT fingerprint FROM darkroom.fingerprints WHERE account = $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`;
const removeExpired = (table: string, key: string): string => `DELETE FROM darkroom.${table} WHERE ${key} = ANY (ARRAY(
  SELECT ${key} FROM darkroom.${table} WHERE remove_at <= $1 ORDER BY remove_at LIMIT $2 FOR UPDATE SKIP LOCKED))`;

/** Requests without an idempotency key, and the leases of processes, in PostgreSQL. */
export class PostgresFingerprintStore implements FingerprintStore {
  constructor(private readonly db: PostgresDatabase) {}

  async read(fingerprint: string, call?: Cancellation): Promise<Fingerprint | null> {
    const [row] = (await this.db.ask(READ, [fingerprint], call)).rows;
    return row === undefined ? null : { fingerprint, ...FINGERPRINTS.recordOf(row) };
  }

  async replace(next: Fingerprint, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const values = FINGERPRINTS.valuesOf(next);
    const { rowCount } = await (expectedVersion === 0
      ? this.db.ask(INSERT, [next.fingerprint, ...values])
      : this.db.ask(REPLACE, [next.fingerprint, expectedVersion, ...values]));
    return outcomeOf(rowCount);
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const { rowCount: removed } = await this.db.ask(removeExpired('fingerprints', 'fingerprint'), [
      now,
      checkedLimit(limit),
    ]);
    const left = limit - removed;
    return left > 0
      ? removed + (await this.db.ask(removeExpired('boot_leases', 'boot'), [now, left])).rowCount
      : removed;
  }

  async removeOfAccount(accountId: string, limit: number): Promise<number> {
    return (await this.db.ask(REMOVE_OWN, [idOrNull(accountId), checkedLimit(limit)])).rowCount;
  }

  async renewLease(lease: ProcessLease): Promise<void> {
    await this.db.ask(RENEW, BOOT_LEASES.valuesOf(lease));
  }

  async readLease(bootId: string): Promise<ProcessLease | null> {
    if (!isUuid(bootId)) return null;
    return BOOT_LEASES.found((await this.db.ask(`${BOOT_LEASES.selection} WHERE boot = $1`, [bootId])).rows[0]);
  }
}
