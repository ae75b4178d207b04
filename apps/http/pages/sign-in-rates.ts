import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../../core/errors.js';

const BURST_SECONDS = 900;

/** Tries at first, and the seconds between two of them afterwards. */
interface Allowance {
  readonly burst: number;
  readonly secondsBetween: number;
}

const PER_ADDRESS: Allowance = { burst: 20, secondsBetween: 5 };
/** From one address, or with one browser. */
const PER_PERSON: Allowance = { burst: 10, secondsBetween: 10 };
/** From all addresses together: more than ten of them can try at the pace above. */
const PER_PERSON_IN_ALL: Allowance = { burst: 100, secondsBetween: 1 };

export interface SignInTry {
  /** Where it comes from. */
  readonly address: string;
  /** Whom it is for; the same text whether there is such a person or not. Absent where nobody is named. */
  readonly person?: string;
  /** The browser, if that person has signed in with it before. */
  readonly device?: string | undefined;
}

/**
 * Slows guesses of passwords down, for one address and for one person, in this process. No address can use up the tries
 * of another one. Many addresses that guess together can; so a browser in which the person has signed in before has a pace of its own.
 */
export class SignInRates {
  private readonly addresses = limiter('address', PER_ADDRESS);
  private readonly peopleAtAddresses = limiter('person-at-address', PER_PERSON);
  private readonly people = limiter('person', PER_PERSON_IN_ALL);
  private readonly devices = limiter('device', PER_PERSON);

  /** Counts a try, before any password is looked at. Throws RATE_LIMITED with the time to wait. */
  async take({ address, person, device }: SignInTry): Promise<void> {
    await take(this.addresses, address);
    if (person === undefined) return;
    if (device !== undefined) return take(this.devices, `${person} ${device}`);
    await take(this.peopleAtAddresses, `${person} ${address}`);
    await take(this.people, person);
  }
}

function limiter(keyPrefix: string, { burst, secondsBetween }: Allowance): BurstyRateLimiter {
  return new BurstyRateLimiter(
    new RateLimiterMemory({ keyPrefix, points: 1, duration: secondsBetween }),
    new RateLimiterMemory({ keyPrefix: `${keyPrefix}-burst`, points: burst, duration: BURST_SECONDS }),
  );
}

async function take(limiterOfOne: BurstyRateLimiter, who: string): Promise<void> {
  try {
    await limiterOfOne.consume(who);
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    throw new ServiceError('RATE_LIMITED', 'There were too many attempts to sign in; wait a moment and try again.', {
      retryAfterMs: refusal.msBeforeNext,
    });
  }
}
