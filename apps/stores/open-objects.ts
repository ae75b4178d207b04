import type { CloseOptions, Installation, OpenedAs, OpenObjects } from '../../adapters/driver.js';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/machine.js';
import type { ObjectStore } from '../../core/ports/object-store.js';
import type { Config } from '../config/config.js';
import { closeDataFolder, type DataFolderLock, ensureFolder, lockDataFolder } from '../wiring/built-in-drivers.js';
import { readOrCreateToken, readSecrets } from '../wiring/secrets.js';
import { BESIDE_THE_DATABASE, identityFile } from './migrate-stores.js';
import { objectsOpeningOf, type OpeningNeeds, QUIETLY } from './open-database.js';
import { isInUse, refuseObjects } from './same-installation.js';

/** The open object store of one process. */
export interface ProgramObjects {
  readonly store: ObjectStore;
  /** Serves signed addresses, for a store without its own server. */
  readonly signedObjects?: SignedObjectGate;
  /** The identity of the objects, so that a database is never used with others. */
  identity(): Promise<string>;
  /**
   * Present if the store was unavailable. It is tried again once it has been given the check that these are the right
   * objects.
   */
  readonly awaited?: AwaitedObjects;
  close(options?: CloseOptions): Promise<void>;
}

export interface ObjectsNeeds extends OpeningNeeds {
  readonly as: OpenedAs;
  readonly publicUrl: () => string;
  /** Whether what a client sends to a key of a folder still has a use. */
  readonly takesBytes: (key: string) => Promise<boolean>;
  /** Signs the addresses of a folder's objects. */
  readonly secret: Uint8Array;
  /** The installation of the database they belong to. */
  readonly installation: Installation;
}

export async function openObjects(
  config: Config,
  { as, clock, log, installation, ...needs }: ObjectsNeeds,
): Promise<ProgramObjects> {
  const { driver } = config.stores.objects;
  const open = () => driver.open({ ...objectsOpeningOf(config, { clock, log }), ...needs, as });
  if (driver.isInDataFolder) return openFolder(config, { as, log, open });
  // A key must be revocable while the object store is unavailable, so a tool does not call it.
  const checked = () => open().catch((error: unknown) => refuseObjects(config, installation, error));
  try {
    return elsewhere(await checked());
  } catch (error) {
    // The first start of all makes what every later one is compared with, so it needs its objects.
    if (as === 'tool' || !(error instanceof StoreUnavailable) || !(await isInUse(installation))) throw error;
    const awaited = new AwaitedObjects(
      { open: checked, clock: new SystemClock({ keepsProcessAlive: false }), log },
      error,
    );
    return { store: awaited, identity: () => Promise.reject(error), awaited, close: () => awaited.close() };
  }
}

/**
 * Whether a server could open objects outside the data folder. Throws as `openObjects` does. The secret exists already.
 */
export async function checkObjects(config: Config, needs: Pick<ObjectsNeeds, 'clock' | 'publicUrl'>): Promise<void> {
  const { driver } = config.stores.objects;
  if (driver.isInDataFolder) return;
  const { objects: secret } = readSecrets(config.secretFile, { inUse: true, isShared: true });
  const { log } = QUIETLY;
  const objects = await driver.open({
    ...objectsOpeningOf(config, { clock: needs.clock, log }),
    publicUrl: needs.publicUrl,
    as: 'server',
    secret,
    takesBytes: () => Promise.resolve(true),
  });
  await objects.close?.();
}

/** A database in the folder keeps other servers and users out of it; with another database this does. */
async function openFolder(
  { stores, dataFolder }: Config,
  { as, log, open }: Pick<ObjectsNeeds, 'as' | 'log'> & { readonly open: () => Promise<OpenObjects> },
): Promise<ProgramObjects> {
  const isBeside = stores.database.driver.isInDataFolder === true;
  let lock: DataFolderLock | undefined;
  if (!isBeside) {
    ensureFolder(dataFolder);
    if (as === 'server') {
      lock = await lockDataFolder(dataFolder);
      closeDataFolder(dataFolder, log);
    }
  }
  const objects = await open().catch((error: unknown) => {
    lock?.release();
    throw error;
  });
  return {
    ...shownOf(objects),
    identity: () => Promise.resolve(isBeside ? BESIDE_THE_DATABASE : readOrCreateToken(identityFile(dataFolder))),
    async close({ keepsLock = false } = {}) {
      await objects.close?.();
      if (keepsLock) lock?.keep();
      else lock?.release();
    },
  };
}

/** A driver that keeps its objects outside of the data folder says which they are. */
function elsewhere(objects: OpenObjects): ProgramObjects {
  return { ...shownOf(objects), identity: () => identityOf(objects), close: async () => objects.close?.() };
}

function shownOf({ store, signedObjects }: OpenObjects): Pick<ProgramObjects, 'store' | 'signedObjects'> {
  return { store, ...(signedObjects === undefined ? {} : { signedObjects }) };
}

/** Throws what refuses to use these objects. */
type Check = (identity: () => Promise<string>) => Promise<void>;

export interface AwaitedObjectsParts {
  /**
   * Opens the store, and finds out what may be signed for it. Throws `StoreUnavailable` while it is unavailable, and
   * the error of a refusal.
   */
  readonly open: () => Promise<OpenObjects>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
}

/**
 * An object store that was unavailable when the process started: it is tried again with growing delays, and until it
 * was opened and checked every call is `StoreUnavailable`, including the signing of addresses. One that turns out to be
 * wrong or unusable is reported and stays closed; it is tried again, as the fault may be fixed.
 */
export class AwaitedObjects implements ObjectStore {
  readonly signPut = this.onceReached('signPut');
  readonly signGet = this.onceReached('signGet');
  readonly stat = this.onceReached('stat');
  readonly read = this.onceReached('read');
  readonly write = this.onceReached('write');
  readonly copy = this.onceReached('copy');
  readonly remove = this.onceReached('remove');
  private opened: OpenObjects | undefined;
  private lastRefusal: string | undefined;
  private cancelTry: (() => void) | undefined;
  private isClosed = false;
  private readonly since: number;

  constructor(
    private readonly parts: AwaitedObjectsParts,
    away: StoreUnavailable,
  ) {
    this.since = parts.clock.now();
    parts.log.warn('object store not reached at the start', { fault: away.message });
  }

  /** Tries from now on. `check` says whether the store that was opened has the right objects. */
  begin(check: Check): void {
    this.tryAfter(FIRST_PAUSE_MS, check);
  }

  /** Tries no more, and closes what was opened. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelTry?.();
    await this.opened?.close?.();
  }

  private onceReached<N extends keyof ObjectStore>(name: N): ObjectStore[N] {
    const call = async (...args: unknown[]): Promise<unknown> => {
      if (this.opened === undefined)
        throw new StoreUnavailable('The object store has not been reached since this process started.');
      const store = this.opened.store as unknown as Readonly<Record<N, (...of: unknown[]) => unknown>>;
      return store[name](...args);
    };
    return call as ObjectStore[N];
  }

  private tryAfter(pauseMs: number, check: Check): void {
    if (!this.isClosed) this.cancelTry = this.parts.clock.after(pauseMs, () => void this.tryAgain(pauseMs, check));
  }

  private async tryAgain(pauseMs: number, check: Check): Promise<void> {
    const { open, clock, log } = this.parts;
    let opened: OpenObjects | undefined;
    try {
      const reached = (opened = await open());
      await check(() => identityOf(reached));
      if (this.isClosed) return await opened.close?.();
      this.opened = opened;
      log.info('object store reached', { awayMs: clock.now() - this.since });
    } catch (error) {
      await opened?.close?.().catch(() => undefined);
      this.report(error);
      this.tryAfter(Math.min(2 * pauseMs, LONGEST_PAUSE_MS), check);
    }
  }

  /** Its unavailability is already known; a refusal is logged once, until the reason changes. */
  private report(error: unknown): void {
    if (error instanceof StoreUnavailable) return;
    const fault = error instanceof Error ? error.message : String(error);
    if (fault !== this.lastRefusal) this.parts.log.warn('object store refused', { fault });
    this.lastRefusal = fault;
  }
}

/** Throws what the store throws. */
function identityOf(objects: OpenObjects): Promise<string> {
  if (objects.identity === undefined)
    throw new Error('The driver of these objects provides no identity for them, and they are not in the data folder.');
  return objects.identity();
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;
