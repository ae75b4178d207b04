import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../../core/errors.js';

const BURST_SECONDS = 900;

/** Tries at first, and the seconds between two of them afterwards. */
interface Allowance {
  readonly burst: number;
  readonly secondsBetween: number;
}

const PER_ADDRESS: Allowance = { burst: 20, secondsBetween: 5 };
const PER_PERSON: Allowance = { burst: 10, secondsBetween: 10 };

export interface SignInTry {
  /** Where it comes from. */
  readonly address: string;
  /** Whom it is for; the same text whether there is such a person or not. Absent where nobody is named. */
  readonly person?: string;
  /** The browser, if that person has signed in with it before. */
  readonly device?: string | undefined;
}

/**
 * Slows guesses of passwords down, for one address and for one person, in this process. Nobody is locked out: tries go
 * on at a slower pace, and a browser in which the person has signed in before has a pace of its own, so that others who
 * guess cannot use up its tries.
 */
export class SignInRates {
  private readonly addresses = limiter('address', PER_ADDRESS);
  private readonly people = limiter('person', PER_PERSON);
  private readonly devices = limiter('device', PER_PERSON);

  /** Counts a try, before any password is looked at. Throws RATE_LIMITED with the time to wait. */
  async take({ address, person, device }: SignInTry): Promise<void> {
    await take(this.addresses, address);
    if (person === undefined) return;
    await (device === undefined ? take(this.people, person) : take(this.devices, `${person} ${device}`));
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
