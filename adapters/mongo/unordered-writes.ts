import { MongoBulkWriteError, type Collection, type Document, type OptionalUnlessRequiredId } from 'mongodb';
import { StoreUnavailable } from '../../core/errors.js';
import type { CommandLimits } from './connection.js';
import { DUPLICATE_KEY } from './store-errors.js';

/**
 * Inserts documents in one command, in no order. Answers the places of those that were not inserted because their keys
 * are taken. Throws `StoreUnavailable` or the driver's error unless the server has answered for each document.
 */
export async function insertUnordered<T extends Document>(
  collection: Collection<T>,
  documents: readonly OptionalUnlessRequiredId<T>[],
  limits: CommandLimits,
): Promise<readonly number[]> {
  try {
    await collection.insertMany(documents, { ordered: false, ...limits });
    return [];
  } catch (error) {
    const taken = takenPlaces(error);
    const { insertedCount } = error as MongoBulkWriteError;
    if (insertedCount + taken.length !== documents.length)
      throw new StoreUnavailable('MongoDB has not answered for each document.', error);
    return taken;
  }
}

/**
 * The places of the writes of a bulk that the server refused because their keys are taken; at least one. Throws the error
 * itself if it tells of anything else. The driver uses the class of refused writes for a connection that was lost too, with no write refused: the
 * outcome of all of them is unknown then.
 */
export function takenPlaces(error: unknown): readonly number[] {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) throw error;
  const refused = error.result.getWriteErrors();
  if (refused.length === 0 || refused.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  return refused.map(({ index }) => index);
}
