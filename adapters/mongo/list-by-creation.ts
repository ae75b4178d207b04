import type { Filter } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit, type PageRequest } from '../../core/paging.js';
import { placeBefore } from '../created-cursor.js';
import { uuidOf } from './uuid-binary.js';
import type { RecordDocument, VersionedDocuments } from './versioned-documents.js';

/** A list in the order of an index that begins with the fields of the filter and continues with `createdAt` and `_id`. */
export interface CreatedList {
  readonly filter: Filter<RecordDocument>;
  readonly hint: string;
  readonly createdFrom?: number;
  readonly createdBefore?: number;
}

/**
 * The records of a page, newest first, and one more where there is a next page. Asks twice, each time for a stretch of the
 * index: what was created at the time of the place, and what before.
 */
export async function listByCreation<
  R extends { readonly version: number; readonly dueAt: number },
  D extends RecordDocument,
>(
  documents: VersionedDocuments<R, D>,
  { filter, hint, createdFrom = 0, createdBefore }: CreatedList,
  page: PageRequest,
  call?: Cancellation,
): Promise<R[]> {
  const limit = checkedLimit(page.limit) + 1;
  const place = placeBefore(page.cursor, createdBefore);
  const id = uuidOf(place.id);
  if (id === null) return [];
  const ask = (createdAt: Filter<RecordDocument>, most: number) =>
    documents.find({ ...filter, ...createdAt }, { sort: { createdAt: -1, _id: -1 }, limit: most, hint }, call);
  const isContinued = page.cursor !== undefined && place.createdAt >= createdFrom;
  const sameTime = isContinued ? await ask({ createdAt: place.createdAt, _id: { $lt: id } }, limit) : [];
  if (sameTime.length === limit) return sameTime;
  return [
    ...sameTime,
    ...(await ask({ createdAt: { $gte: createdFrom, $lt: place.createdAt } }, limit - sameTime.length)),
  ];
}
