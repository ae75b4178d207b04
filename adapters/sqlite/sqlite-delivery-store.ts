import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, ListedDeliveries } from '../../core/ports/stores.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { cursorAt, placeBefore } from '../created-cursor.js';
import { recordFrom } from '../record-text.js';
import { type Connections, yieldBetweenPages } from './reader.js';
import { SqliteRecords } from './sqlite-records.js';

/** Webhook deliveries in SQLite. */
export class SqliteDeliveryStore extends SqliteRecords<Delivery> implements DeliveryStore {
  constructor(db: Connections) {
    super(db, {
      name: 'deliveries',
      insert: 'insertDelivery',
      idOf: ({ deliveryId }) => deliveryId,
      insertedBeside: ({ endpointId, createdAt }) => [endpointId, createdAt],
    });
  }

  async list(
    { endpointId, createdFrom = 0, createdBefore }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    await yieldBetweenPages(call);
    const before = placeBefore(page.cursor, createdBefore);
    const rows = this.db.reader.all(
      `SELECT doc FROM deliveries INDEXED BY deliveries_by_endpoint
      WHERE endpoint = unhex(?1, '-') AND created_at >= ?2 AND (created_at, id) < (?3, unhex(?4, '-'))
      ORDER BY created_at DESC, id DESC LIMIT ?5`,
      endpointId,
      createdFrom,
      before.createdAt,
      before.id,
      checkedLimit(page.limit) + 1,
    );
    const found = rows.map((row) => recordFrom<Delivery>(row['doc'] as string));
    return pageOf(found, page, ({ createdAt, deliveryId }) => cursorAt({ createdAt, id: deliveryId }));
  }
}
