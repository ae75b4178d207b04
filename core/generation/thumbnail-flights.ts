import { CallOver, type Waits } from '../cancellation.js';
import { busy } from '../errors.js';
import type { ThumbnailRefusal } from '../ports/media.js';

/** Why a file has no thumbnails, whenever it is read. */
export type Undecodable = Exclude<ThumbnailRefusal, 'busy'>;

/** Files that cannot be decoded are remembered up to this number; the one that was refused first is forgotten first. */
const MAX_REFUSED = 10_000;
/** How many thumbnails of one account may be in the making, so that it leaves room in the queue for others. */
const MAX_OF_ACCOUNT = 60;

/**
 * The thumbnails that this process is making. Concurrent requests of one thumbnail share one decoding, which ends while it waits
 * once all of them have left. A file that cannot be decoded is not read again for each request.
 */
export class ThumbnailFlights {
  private readonly flights = new Map<string, Flight>();
  private readonly ofAccounts = new Map<string, number>();
  private readonly refused = new Map<string, Undecodable>();

  /** Why the object at this key has no thumbnails; undefined if that is not known. */
  refusalOf(objectKey: string): Undecodable | undefined {
    return this.refused.get(objectKey);
  }

  refuse(objectKey: string, refusal: Undecodable): void {
    this.refused.set(objectKey, refusal);
    const [oldest] = this.refused.keys();
    if (oldest !== undefined && this.refused.size > MAX_REFUSED) this.refused.delete(oldest);
  }

  /**
   * The bytes that `make` returns, or those of a call with the same key that has not ended. Throws what it throws,
   * SERVICE_UNAVAILABLE if the account has too many in the making, and `CallOver` once the caller's own call is over.
   */
  async share<T extends Uint8Array | undefined>(
    of: { readonly key: string; readonly accountId: string },
    make: (waits: Waits) => Promise<T>,
    call: Waits | undefined,
  ): Promise<T> {
    const flight = (this.flights.get(of.key) ?? this.begin(of, make)) as Flight<T>;
    return flight.join(call);
  }

  private begin<T>(
    { key, accountId }: { readonly key: string; readonly accountId: string },
    make: (waits: Waits) => Promise<T>,
  ): Flight<T> {
    const others = this.ofAccounts.get(accountId) ?? 0;
    if (others >= MAX_OF_ACCOUNT) throw busy('Too many thumbnails of this account are being made; try again.');
    this.ofAccounts.set(accountId, others + 1);
    const flight = new Flight<T>(() => this.forget(key, flight));
    this.flights.set(key, flight);
    void flight.begin(make).finally(() => {
      this.forget(key, flight);
      const left = (this.ofAccounts.get(accountId) ?? 1) - 1;
      if (left > 0) this.ofAccounts.set(accountId, left);
      else this.ofAccounts.delete(accountId);
    });
    return flight;
  }

  private forget(key: string, flight: unknown): void {
    if (this.flights.get(key) === flight) this.flights.delete(key);
  }
}

/** One piece of work for several callers. It is over once the calls of all of them are. */
class Flight<T = unknown> implements Waits {
  isOver = false;
  private result: Promise<T> | undefined;
  private callers = 0;
  private readonly listeners = new Set<() => void>();

  /** `onAbandoned`: called when all callers have left. */
  constructor(private readonly onAbandoned: () => void) {}

  /** Resolves when the work has ended, whatever its outcome. */
  begin(make: (waits: Waits) => Promise<T>): Promise<void> {
    this.result = make(this);
    return this.result.then(
      () => undefined,
      () => undefined,
    );
  }

  join(call: Waits | undefined): Promise<T> {
    const { result } = this;
    if (result === undefined) throw new Error('A flight is joined once it has begun.');
    this.callers += 1;
    if (call === undefined) return result;
    return new Promise((resolve, reject) => {
      const listenNoMore = call.onOver(() => {
        reject(new CallOver());
        this.leave();
      });
      void result.then(resolve, reject).finally(listenNoMore);
    });
  }

  onOver(tell: () => void): () => void {
    this.listeners.add(tell);
    return () => this.listeners.delete(tell);
  }

  private leave(): void {
    this.callers -= 1;
    if (this.callers > 0) return;
    this.isOver = true;
    this.onAbandoned();
    for (const tell of this.listeners) tell();
  }
}
