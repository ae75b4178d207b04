import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, Insertion, ListedDeliveries } from '../../core/ports/stores.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { cursorAt, placeBefore } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import { isUuid } from './database.js';
import { type Query, type SqliteReader, yieldBetweenPages } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** Webhook deliveries in SQLite: the record as one JSON text, with the columns used in queries beside it. */
export class SqliteDeliveryStore implements DeliveryStore {
  private readonly byId: Query;
  private readonly byAttention: Query;
  private readonly byEndpoint: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byId = reader.query(`SELECT doc FROM deliveries WHERE id = unhex(?, '-')`);
    this.byAttention = reader.query(
      `SELECT doc FROM deliveries WHERE attention_at <= ? ORDER BY attention_at, id LIMIT ?`,
    );
    this.byEndpoint = reader.query(`
      SELECT doc FROM deliveries INDEXED BY deliveries_by_endpoint
      WHERE endpoint = unhex(?1, '-') AND created_at >= ?2 AND (created_at, id) < (?3, unhex(?4, '-'))
      ORDER BY created_at DESC, id DESC LIMIT ?5`);
  }

  async insert(delivery: Delivery): Promise<Insertion<Delivery>> {
    const { deliveryId, version, dueAt, endpointId, createdAt } = delivery;
    const result = await this.writer.write(
      'insertDelivery',
      deliveryId,
      version,
      dueAt,
      recordText(delivery),
      endpointId,
      createdAt,
    );
    return result === 1 ? { inserted: true } : { inserted: false, existing: recordOf(result) };
  }

  async read(deliveryId: string, call?: Cancellation): Promise<Delivery | null> {
    throwIfAborted(call);
    const row = isUuid(deliveryId) ? this.byId.get(deliveryId) : undefined;
    return row === undefined ? null : recordOf(row['doc']);
  }

  async replace(next: Delivery, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { deliveryId, version, dueAt } = next;
    const values = [deliveryId, expectedVersion, version, dueAt, recordText(next)] as const;
    return (await this.writer.write('replaceDelivery', ...values)) === 1 ? 'applied' : 'conflict';
  }

  async remove(deliveryId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write('removeDelivery', deliveryId, expectedVersion);
    return changed === 1 ? 'applied' : 'conflict';
  }

  async due(now: number, limit: number): Promise<readonly Delivery[]> {
    return this.byAttention.all(now, checkedLimit(limit)).map((row) => recordOf(row['doc']));
  }

  async list(
    { endpointId, createdFrom = 0, createdBefore }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    await yieldBetweenPages(call);
    const before = placeBefore(page.cursor, createdBefore);
    const limit = checkedLimit(page.limit) + 1;
    const rows = this.byEndpoint.all(endpointId, createdFrom, before.createdAt, before.id, limit);
    return pageOf(
      rows.map((row) => recordOf(row['doc'])),
      page,
      ({ createdAt, deliveryId }) => cursorAt({ createdAt, id: deliveryId }),
    );
  }
}

/** A text that only `JSON.stringify` of a record has written. */
function recordOf(doc: unknown): Delivery {
  return recordFrom(doc as string);
}
