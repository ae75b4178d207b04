// Goal: the documents of an unordered command are told as inserted, or as refused for taken keys, only where the server has answered
// for each of them.
// Method: a collection whose command fails as the driver reports it.
import { expect } from 'chai';
import { type BulkWriteResult, type Collection, MongoBulkWriteError } from 'mongodb';
import { insertUnordered } from '../../../adapters/mongo/mongo-ledger.js';
import { StoreUnavailable } from '../../../core/errors.js';

const DOCUMENTS = [{ n: 0 }, { n: 1 }, { n: 2 }];

/** A command that inserted so many documents, and was refused those at some places with a code. */
function refused(insertedCount: number, places: readonly number[], code = 11_000): MongoBulkWriteError {
  const result = {
    insertedCount,
    getWriteErrors: () => places.map((index) => ({ code, index })),
    getWriteConcernError: () => undefined,
  };
  return new MongoBulkWriteError({ message: 'refused', code }, result as unknown as BulkWriteResult);
}

async function inserted(error?: unknown): Promise<unknown> {
  const collection = {
    insertMany: async () => {
      if (error !== undefined) throw error;
    },
  } as unknown as Collection<{ n: number }>;
  return insertUnordered(collection, DOCUMENTS, { maxTimeMS: 1_000 }).catch((thrown: unknown) => thrown);
}

describe('insertUnordered', () => {
  it('answers no place where all were inserted, and the places of taken keys', async () => {
    expect(await inserted()).to.deep.equal([]);
    expect(await inserted(refused(1, [0, 2]))).to.deep.equal([0, 2]);
  });

  it('is an outage where the server has not answered for each document', async () => {
    const error = refused(1, [0]);
    expect(await inserted(error))
      .to.be.instanceOf(StoreUnavailable)
      .and.have.property('cause', error);
  });

  it('throws the error itself where a document was refused for another reason, or none was', async () => {
    for (const error of [refused(2, [1], 121), refused(0, [])]) expect(await inserted(error)).to.equal(error);
  });
});
