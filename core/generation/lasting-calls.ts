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

/** Whose call it is. */
type Owner = Pick<Caller, 'accountId' | 'appId' | 'credentialId'>;

/** Counts the calls of this process that last, so that no client takes its memory, however many it opens. */
export class LastingCalls {
  private readonly calls = new Bounds(MAX_IN_ALL);
  private readonly appStreams = new Bounds(MAX_APP_STREAMS);

  /** Takes a place until the returned function is called; undefined where there is none. */
  tryWait(owner: Owner): (() => void) | undefined {
    const names = namesOf(owner);
    return this.calls.hasRoom(names) ? this.calls.take(names) : undefined;
  }

  /** Throws RATE_LIMITED where `follow` would. */
  requireRoom(owner: Owner): void {
    refuseUnless(this.calls.hasRoom(namesOf(owner)));
  }

  /** Throws RATE_LIMITED where `followApp` would. */
  requireRoomForApp(owner: Owner): void {
    refuseUnless(this.calls.hasRoom(namesOf(owner)) && this.appStreams.hasRoom(appNamesOf(owner)));
  }

  /** Takes a place for a stream until the returned function is called. Throws RATE_LIMITED. */
  follow(owner: Owner): () => void {
    this.requireRoom(owner);
    return this.calls.take(namesOf(owner));
  }

  /** The same for a stream of all events of an App. */
  followApp(owner: Owner): () => void {
    this.requireRoomForApp(owner);
    const leave = [this.calls.take(namesOf(owner)), this.appStreams.take(appNamesOf(owner))];
    return () => leave.forEach((one) => one());
  }
}

/** What a call counts for, each with its bound. */
type Names = readonly (readonly [name: string, most: number])[];

function namesOf({ credentialId, accountId }: Owner): Names {
  return [
    [`credential ${credentialId}`, MAX_OF_CREDENTIAL],
    [`account ${accountId}`, MAX_OF_ACCOUNT],
  ];
}

function appNamesOf({ appId, accountId }: Owner): Names {
  return [
    [`app ${appId}`, MAX_APP_STREAMS_OF_APP],
    [`account ${accountId}`, MAX_APP_STREAMS_OF_ACCOUNT],
  ];
}

function refuseUnless(hasRoom: boolean): void {
  if (hasRoom) return;
  throw new ServiceError('RATE_LIMITED', 'Too many streams are open; close some, or try again later.', {
    retryAfterMs: RETRY_AFTER_MS,
  });
}

/** Counts by names, each with a bound of its own, and one for all. */
class Bounds {
  private readonly counts = new Map<string, number>();
  private all = 0;

  constructor(private readonly mostInAll: number) {}

  hasRoom(names: Names): boolean {
    return this.all < this.mostInAll && names.every(([name, most]) => (this.counts.get(name) ?? 0) < most);
  }

  take(names: Names): () => void {
    this.all += 1;
    for (const [name] of names) this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.all -= 1;
      for (const [name] of names) this.leave(name);
    };
  }

  private leave(name: string): void {
    const left = (this.counts.get(name) ?? 0) - 1;
    if (left > 0) this.counts.set(name, left);
    else this.counts.delete(name);
  }
}
