import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { Fingerprint, ProcessLease } from '../../core/idempotency/fingerprint.js';
import { checkedLimit } from '../../core/paging.js';
import type { FingerprintStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { FINGERPRINTS, BOOT_LEASES } from './columns.js';
import type { Connections } from './reader.js';
import { applied } from './writer.js';

/** Requests without an idempotency key, and the leases of processes, in SQLite. */
export class SqliteFingerprintStore implements FingerprintStore {
  constructor(private readonly db: Connections) {}

  async read(fingerprint: string, call?: Cancellation): Promise<Fingerprint | null> {
    throwIfAborted(call);
    const row = this.db.reader.get(`${FINGERPRINTS.selection} WHERE fingerprint = unhex(?)`, fingerprint);
    return row === undefined ? null : { fingerprint, ...FINGERPRINTS.recordOf(row) };
  }

  replace(next: Fingerprint, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { names, places, assigned } = FINGERPRINTS;
    const values = [...FINGERPRINTS.valuesOf(next), next.fingerprint];
    const insertion = `INSERT INTO fingerprints (${names}, fingerprint) VALUES (${places}, unhex(?)) ON CONFLICT DO NOTHING`;
    const replacement = `UPDATE fingerprints SET ${assigned} WHERE fingerprint = unhex(?) AND version = ?`;
    const { writer } = this.db;
    return applied(
      expectedVersion === 0 ? writer.run(insertion, ...values) : writer.run(replacement, ...values, expectedVersion),
    );
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    return (await this.db.writer.write('removeExpiredFingerprints', now, checkedLimit(limit))) as number;
  }

  async removeOfAccount(accountId: string, limit: number): Promise<number> {
    const own = `SELECT fingerprint FROM fingerprints WHERE account = unhex(?, '-') LIMIT ?`;
    const sql = `DELETE FROM fingerprints WHERE fingerprint IN (${own})`;
    return this.db.writer.run(sql, accountId, checkedLimit(limit));
  }

  async renewLease(lease: ProcessLease): Promise<void> {
    const { names, places } = BOOT_LEASES;
    const sql = `INSERT OR REPLACE INTO boot_leases (${names}) VALUES (${places})`;
    await this.db.writer.run(sql, ...BOOT_LEASES.valuesOf(lease));
  }

  async readLease(bootId: string): Promise<ProcessLease | null> {
    if (!isUuid(bootId)) return null;
    return BOOT_LEASES.found(this.db.reader.get(`${BOOT_LEASES.selection} WHERE boot = unhex(?, '-')`, bootId));
  }
}
