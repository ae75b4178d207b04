import { ServiceError } from '../errors.js';

/** How many waits and streams one credential may have in one process, and all together. */
const MAX_OF_CREDENTIAL = 5_000;
const MAX_IN_ALL = 20_000;
/** The same of streams of all events of one App, which remember much more, and of such streams together. */
const MAX_OF_APP = 32;
const MAX_OF_APPS = 1_000;
/** When a refused client may try again: streams end when generations do, and with their clients. */
const RETRY_AFTER_MS = 5_000;

/** Counts the calls of this process that last, so that no client takes its memory, however many it opens. */
export class LastingCalls {
  private readonly credentials = new Bound(MAX_OF_CREDENTIAL, MAX_IN_ALL);
  private readonly apps = new Bound(MAX_OF_APP, MAX_OF_APPS);

  /** Takes a place until the returned function is called; undefined where there is none. */
  tryWait(credentialId: string): (() => void) | undefined {
    return this.credentials.hasRoom(credentialId) ? this.credentials.take(credentialId) : undefined;
  }

  /** Throws RATE_LIMITED where `follow`, or with an App `followApp`, would. */
  requireRoom(credentialId: string, appId?: string): void {
    const hasRoom = this.credentials.hasRoom(credentialId) && (appId === undefined || this.apps.hasRoom(appId));
    if (hasRoom) return;
    throw new ServiceError('RATE_LIMITED', 'Too many streams are open; close some, or try again later.', {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }

  /** Takes a place for a stream until the returned function is called. Throws RATE_LIMITED. */
  follow(credentialId: string): () => void {
    this.requireRoom(credentialId);
    return this.credentials.take(credentialId);
  }

  /** The same for a stream of all events of an App. */
  followApp(credentialId: string, appId: string): () => void {
    this.requireRoom(credentialId, appId);
    const leave = [this.credentials.take(credentialId), this.apps.take(appId)];
    return () => leave.forEach((one) => one());
  }
}

/** Counts by name, with a bound for each name and one for all. */
class Bound {
  private readonly counts = new Map<string, number>();
  private all = 0;

  constructor(
    private readonly most: number,
    private readonly mostInAll: number,
  ) {}

  hasRoom(name: string): boolean {
    return this.all < this.mostInAll && (this.counts.get(name) ?? 0) < this.most;
  }

  take(name: string): () => void {
    this.all += 1;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.all -= 1;
      const left = (this.counts.get(name) ?? 0) - 1;
      if (left > 0) this.counts.set(name, left);
      else this.counts.delete(name);
    };
  }
}
