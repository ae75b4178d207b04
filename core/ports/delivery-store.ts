import type { Cancellation } from '../cancellation.js';
import type { Page, PageRequest } from '../paging.js';
import type { Delivery } from '../webhooks/delivery.js';

/** Deliveries to one endpoint of an App. For those to addresses of single generations the endpoint is the App itself. */
export interface ListedDeliveries {
  readonly endpointId: string;
  /** Only those created at this time or later, in milliseconds. */
  readonly createdFrom?: number;
  /** Only those created before this time, in milliseconds. */
  readonly createdBefore?: number;
}

/**
 * Keeps what endpoints are told, and what became of it. Each method is atomic for one delivery. Every method may throw
 * `StoreUnavailable`; the outcome of a write that does is unknown.
 */
export interface DeliveryStore {
  /** Inserts a delivery if its id is free; durable on return. Otherwise returns the one with that id. */
  insert(
    delivery: Delivery,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: Delivery }>;

  /** The newest committed version, or null. */
  read(deliveryId: string, call?: Cancellation): Promise<Delivery | null>;

  /** Replaces the delivery if its version still is `expectedVersion`. Durable on return. */
  replace(next: Delivery, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes the delivery if its version still is `expectedVersion`. */
  remove(deliveryId: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Deliveries with `dueAt` at or before `now`, most overdue first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): Promise<readonly Delivery[]>;

  /** Newest first by creation, and then by id. */
  list(wanted: ListedDeliveries, page: PageRequest, call?: Cancellation): Promise<Page<Delivery>>;
}
