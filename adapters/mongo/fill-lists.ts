import type { AnyBulkWriteOperation, Collection, UUID } from 'mongodb';
import type { GenerationRecord } from '../../core/generation/generation.js';
import { recordFrom } from '../record-text.js';
import type { MongoConnection } from './connection.js';
import { listedFields } from './listed-fields.js';
import { BY_ID } from './schema.js';
import type { RecordDocument } from './versioned-documents.js';

const AT_ONCE = 500;

/**
 * Adds to generations that an older release wrote the fields by which an App's generations are listed. Answers how many
 * there were. Reads the whole collection in the order of its ids. What another process writes meanwhile stays as that
 * process wrote it.
 */
export async function fillLists(connection: MongoConnection): Promise<number> {
  const collection = connection.collection('generations') as Collection<RecordDocument>;
  let filled = 0;
  for (let after: UUID | undefined; ;) {
    const found = await connection.ask((limits) =>
      collection
        .find(
          {
            kind: 'generation',
            createdAt: { $exists: false },
            ...(after === undefined ? {} : { _id: { $gt: after } }),
          },
          { ...limits, sort: { _id: 1 }, limit: AT_ONCE, hint: BY_ID },
        )
        .toArray(),
    );
    if (found.length > 0) {
      const { matchedCount } = await connection.ask((limits) =>
        collection.bulkWrite(found.map(filling), { ...limits, ordered: false }),
      );
      filled += matchedCount;
    }
    after = found.at(-1)?._id;
    if (after === undefined || found.length < AT_ONCE) return filled;
  }
}

function filling({ _id, version, record }: RecordDocument): AnyBulkWriteOperation<RecordDocument> {
  const fields = listedFields(recordFrom<GenerationRecord>(record));
  return { updateOne: { filter: { _id, version }, update: { $set: fields } } };
}
