import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import PQueue from 'p-queue';
import { ServiceError } from '../../core/errors.js';
import type { PasswordHash } from '../../core/people/person.js';
import type { PasswordHasher } from '../../core/ports/machine.js';

/** Recommended by OWASP's password storage cheat sheet: 128 MiB and a few tenths of a second per hash. */
const COST = { n: 2 ** 17, r: 8, p: 1 } as const;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
/** Each hash takes 128 MiB and a thread of the pool that file calls also use. */
const AT_ONCE = 2;
const MAX_WAITING = 50;
const RETRY_AFTER_MS = 2_000;

type Cost = Pick<PasswordHash, 'n' | 'r' | 'p'>;

export interface ScryptOptions {
  /** For tests: a real cost takes a few tenths of a second each time. */
  readonly cost?: Cost;
  readonly maxWaiting?: number;
}

/** Passwords hashed with scrypt (RFC 7914), two at once in a process. */
export class ScryptHasher implements PasswordHasher {
  private readonly queue = new PQueue({ concurrency: AT_ONCE });
  private readonly cost: Cost;
  private readonly maxWaiting: number;

  constructor({ cost = COST, maxWaiting = MAX_WAITING }: ScryptOptions = {}) {
    this.cost = cost;
    this.maxWaiting = maxWaiting;
  }

  async hash(password: string): Promise<Omit<PasswordHash, 'setAt'>> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.compute(password, salt, this.cost);
    return { ...this.cost, hash: hash.toString('base64url'), salt: salt.toString('base64url') };
  }

  async matches(password: string, stored: PasswordHash | undefined): Promise<boolean> {
    const { salt, hash, ...cost } = stored ?? { ...this.cost, salt: '', hash: '' };
    const computed = await this.compute(password, Buffer.from(salt, 'base64url'), cost);
    const expected = Buffer.from(hash, 'base64url');
    return expected.byteLength === computed.byteLength && timingSafeEqual(expected, computed);
  }

  private compute(password: string, salt: Uint8Array, { n, r, p }: Cost): Promise<Buffer> {
    if (this.queue.size >= this.maxWaiting)
      throw new ServiceError('SERVICE_UNAVAILABLE', 'Too many passwords are being checked; try again.', {
        retryAfterMs: RETRY_AFTER_MS,
      });
    const options = { N: n, r, p, maxmem: 256 * n * r };
    return this.queue.add(
      () =>
        new Promise<Buffer>((resolve, reject) => {
          // The same text can be typed in several sequences of code points.
          scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, (error, key) => {
            if (error) reject(error);
            else resolve(key);
          });
        }),
    );
  }
}
