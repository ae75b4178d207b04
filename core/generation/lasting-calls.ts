import type { Caller } from '../access/credential.js';
import { ServiceError } from '../errors.js';

/** How many waits and streams one credential may have in one process, one account, and all together. */
const MAX_OF_CREDENTIAL = 5_000;
const MAX_OF_ACCOUNT = 10_000;
const MAX_IN_ALL = 20_000;
/** The same of streams of all events of one App, which remember much more, of its account, and of such streams together. */
const MAX_APP_STREAMS_OF_APP = 32;
const MAX_APP_STREAMS_OF_ACCOUNT = 256;
const MAX_APP_STREAMS = 1_000;
/** When a refused client may try again: streams end when generations do, and with their clients. */
const RETRY_AFTER_MS = 5_000;

/** The owner of a call. */
type Owner = Pick<Caller, 'accountId' | 'appId' | 'credentialId'>;

/** Counts the long-lasting calls of this process, so that a client cannot exhaust its memory by opening many. */
export class LastingCalls {
  private readonly calls = new Bounds(CALL, MAX_IN_ALL);
  private readonly appStreams = new Bounds(APP_STREAM, MAX_APP_STREAMS);

  /** Reserves a place until the returned function is called; undefined if there is none. */
  tryWait(owner: Owner): (() => void) | undefined {
    return this.calls.hasRoom(owner) ? this.calls.take(owner) : undefined;
  }

  /** Throws RATE_LIMITED where `follow` would. */
  requireRoom(owner: Owner): void {
    refuseUnless(this.calls.hasRoom(owner));
  }

  /** Throws RATE_LIMITED where `followApp` would. */
  requireRoomForApp(owner: Owner): void {
    refuseUnless(this.calls.hasRoom(owner) && this.appStreams.hasRoom(owner));
  }

  /** Reserves a place for a stream until the returned function is called. Throws RATE_LIMITED. */
  follow(owner: Owner): () => void {
    this.requireRoom(owner);
    return this.calls.take(owner);
  }

  /** The same for a stream of all events of an App. */
  followApp(owner: Owner): () => void {
    this.requireRoomForApp(owner);
    const leave = [this.calls.take(owner), this.appStreams.take(owner)];
    return () => leave.forEach((one) => one());
  }
}

/** The owners that a call counts towards, each with its limit. */
type Counted = readonly (readonly [of: 'credentialId' | 'appId' | 'accountId', most: number])[];

const CALL: Counted = [
  ['credentialId', MAX_OF_CREDENTIAL],
  ['accountId', MAX_OF_ACCOUNT],
];
const APP_STREAM: Counted = [
  ['appId', MAX_APP_STREAMS_OF_APP],
  ['accountId', MAX_APP_STREAMS_OF_ACCOUNT],
];

function refuseUnless(hasRoom: boolean): void {
  if (hasRoom) return;
  throw new ServiceError('RATE_LIMITED', 'Too many streams are open; close some, or try again later.', {
    retryAfterMs: RETRY_AFTER_MS,
  });
}

/** Counts for each owner id, with a limit for each, and one limit for all. */
class Bounds {
  /**
   * Keyed by the kind of an id and the id. A call without a credential counts as if its credential had the id of its
   * App.
   */
  private readonly counts = new Map<string, number>();
  private all = 0;

  constructor(
    private readonly counted: Counted,
    private readonly mostInAll: number,
  ) {}

  hasRoom(owner: Owner): boolean {
    return (
      this.all < this.mostInAll && this.counted.every(([of, most]) => (this.counts.get(nameOf(of, owner)) ?? 0) < most)
    );
  }

  take(owner: Owner): () => void {
    this.add(owner, 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.add(owner, -1);
    };
  }

  private add(owner: Owner, calls: 1 | -1): void {
    this.all += calls;
    for (const [of] of this.counted) {
      const name = nameOf(of, owner);
      const count = (this.counts.get(name) ?? 0) + calls;
      if (count > 0) this.counts.set(name, count);
      else this.counts.delete(name);
    }
  }
}

function nameOf(of: Counted[number][0], owner: Owner): string {
  return `${of} ${owner[of]}`;
}
