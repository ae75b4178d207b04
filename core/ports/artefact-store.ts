import type { Cancellation } from '../cancellation.js';
import type { Artefact } from '../people/artefact.js';

/** Names one artefact. */
export type ArtefactKey = Pick<Artefact, 'kind' | 'id'>;

/**
 * Keeps sessions, sign-in links and what the OAuth server hands out. Each method is atomic for one artefact, except where
 * it says otherwise. Every method may throw `StoreUnavailable`.
 */
export interface ArtefactStore {
  /**
   * Keeps an artefact, in place of one of the same kind and id that is still usable. `ended` means that the one that is
   * there was consumed or ended, and stays as it is; or that its group has ended, so that the new one is found as ended.
   * Durable on return.
   */
  put(artefact: Artefact): Promise<'kept' | 'ended'>;

  /** The artefact, also when it has expired, was consumed or was ended; null once it is removed. */
  find(key: ArtefactKey, call?: Cancellation): Promise<Artefact | null>;

  /** Of several with one alias, the newest. */
  findByAlias(kind: string, alias: string): Promise<Artefact | null>;

  /**
   * Marks an artefact as used up. Of any number of callers one gets `consumed`; the others, and those that ask for one
   * that was ended or is not there, get `refused`. Durable on return.
   */
  consume(key: ArtefactKey, at: number): Promise<'consumed' | 'refused'>;

  /** Ends one artefact, which stays to be found until it is removed. No effect where there is none. Durable on return. */
  end(key: ArtefactKey, at: number): Promise<void>;

  /**
   * Ends all artefacts of a group, and all that are put in it later, until `removeAt`. Once it has returned, no artefact
   * of the group is found without `endedAt`.
   */
  endGroup(group: string, at: number, removeAt: number): Promise<void>;

  /** Artefacts of one owner and kind, newest first, at most `limit` of them (1 to 1,000). */
  listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]>;

  remove(key: ArtefactKey): Promise<void>;

  /** Removes at most `limit` artefacts and ended groups whose `removeAt` is not after `now`. Answers how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}
