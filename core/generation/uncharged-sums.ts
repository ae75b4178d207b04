import type { Ports } from '../ports/ports.js';
import { MAX_REQUEST_BYTES } from './generation.js';

/**
 * Upper bound of the stored content of one generation, in bytes. A control character, which is one byte in a
 * request over gRPC, takes six bytes in the stored JSON.
 */
const MAX_BYTES_OF_ONE = 6 * MAX_REQUEST_BYTES;
const TRUSTED_MS = 1_000;
const MAX_ACCOUNTS = 10_000;

interface Sum {
  readonly bytes: number;
  readonly readAt: number;
  /** How many more creates cannot take the account past its bound. */
  left: number;
}

/**
 * Content that accounts keep of generations that ended without charge, summed by the store. A sum is trusted for a
 * second, and for no more creates than fit below the bound at their largest size, so that an account far from its bound
 * does not cost a sum for each create. Create one per process; several processes together may exceed the bound by the
 * creates they accept in that second.
 */
export class UnchargedSums {
  /** In the order in which they were read. */
  private readonly sums = new Map<string, Sum>();

  constructor(private readonly ports: Pick<Ports, 'generations' | 'clock'>) {}

  /** The bytes an account keeps and may keep `max` of, for a create that may add to them. Throws `StoreUnavailable`. */
  async bytesFor(accountId: string, max: number): Promise<number> {
    const now = this.ports.clock.now();
    const known = this.sums.get(accountId);
    if (known && known.left > 0 && now >= known.readAt && now - known.readAt < TRUSTED_MS) {
      known.left -= 1;
      return known.bytes;
    }
    const { bytes } = await this.ports.generations.stored(accountId, 'uncharged');
    this.sums.delete(accountId);
    const [oldest] = this.sums.keys();
    if (oldest !== undefined && this.sums.size >= MAX_ACCOUNTS) this.sums.delete(oldest);
    this.sums.set(accountId, { bytes, readAt: now, left: Math.floor((max - bytes) / MAX_BYTES_OF_ONE) - 1 });
    return bytes;
  }
}
