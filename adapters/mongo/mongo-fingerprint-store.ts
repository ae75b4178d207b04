import { Binary, type UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { Fingerprint, ProcessLease } from '../../core/idempotency/fingerprint.js';
import { checkedLimit } from '../../core/paging.js';
import type { FingerprintStore } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, textOf, uuidOf } from './documents.js';

interface FingerprintDocument extends Pick<Fingerprint, 'version' | 'removeAt'> {
  /** The 32 bytes of the fingerprint. */
  readonly _id: Binary;
  readonly account: UUID;
  /** JSON. */
  readonly creates: string;
}

interface LeaseDocument extends Omit<ProcessLease, 'bootId'> {
  /** The boot id. */
  readonly _id: UUID;
}

/** Requests without an idempotency key, and the leases of processes, in MongoDB: one document each. */
export class MongoFingerprintStore implements FingerprintStore {
  private readonly fingerprints: Documents<FingerprintDocument>;
  private readonly leases: Documents<LeaseDocument>;

  constructor(connection: MongoConnection) {
    this.fingerprints = new Documents(connection, 'fingerprints');
    this.leases = new Documents(connection, 'boot_leases');
  }

  async read(fingerprint: string, call?: Cancellation): Promise<Fingerprint | null> {
    const found = await this.fingerprints.first({ _id: idOf(fingerprint) }, {}, call);
    if (found === null) return null;
    const { account, version, creates, removeAt } = found;
    const decoded = JSON.parse(creates) as Fingerprint['creates'];
    return { fingerprint, accountId: textOf(account), version, creates: decoded, removeAt };
  }

  async replace(next: Fingerprint, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { fingerprint, accountId, version, creates, removeAt } = next;
    const _id = idOf(fingerprint);
    const content = { account: ownUuid(accountId), version, creates: JSON.stringify(creates), removeAt };
    if (expectedVersion > 0) return this.fingerprints.replace({ _id, version: expectedVersion }, content);
    return (await this.fingerprints.insert({ _id, ...content })) ? 'applied' : 'conflict';
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const removed = await this.fingerprints.removeDue('fingerprints_by_removal', now, checkedLimit(limit));
    const left = limit - removed;
    return left > 0 ? removed + (await this.leases.removeDue('boot_leases_by_removal', now, left)) : removed;
  }

  async removeOfAccount(accountId: string, limit: number): Promise<number> {
    const account = uuidOf(accountId);
    if (account === null) return 0;
    return this.fingerprints.removeFirst({ account }, {}, checkedLimit(limit), 'fingerprints_by_account');
  }

  async renewLease({ bootId, ...content }: ProcessLease): Promise<void> {
    await this.leases.update({ _id: ownUuid(bootId) }, { $set: content }, true);
  }

  async readLease(bootId: string): Promise<ProcessLease | null> {
    const _id = uuidOf(bootId);
    const found = _id === null ? null : await this.leases.first({ _id });
    if (found === null) return null;
    const { renewals, renewedAt, removeAt } = found;
    return { bootId, renewals, renewedAt, removeAt };
  }
}

function idOf(fingerprint: string): Binary {
  return new Binary(Buffer.from(fingerprint, 'hex'));
}
