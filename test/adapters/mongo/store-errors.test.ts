// Goal: a failure of the server, the link or the pool is an outage, whose outcome is unknown; an error of the program
// is passed on unchanged; an unknown code is an outage.
// Method: an error of each kind that the driver has, mapped.
import { expect } from 'chai';
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
  type ServerDescription,
  type TopologyDescription,
} from 'mongodb';
import { storeError } from '../../../adapters/mongo/connection.js';
import { StoreUnavailable } from '../../../core/errors.js';

const NO_TOPOLOGY = {
  type: 'Unknown',
  servers: new Map<string, ServerDescription>(),
} as unknown as TopologyDescription;
const answered = (code: number): MongoServerError => new MongoServerError({ message: `code ${code}`, code });
/** What the driver makes of the refusals of several writes: its own code is the first one's. */
const refusedWrites = (
  codes: readonly number[],
  writeConcernError?: object,
  code = codes[0] ?? 0,
): MongoBulkWriteError => {
  const writeErrors = codes.map((one, index) => ({ code: one, index }));
  const result = { getWriteErrors: () => writeErrors, getWriteConcernError: () => writeConcernError };
  return new MongoBulkWriteError({ message: 'refused', code }, result as unknown as BulkWriteResult);
};
/** And of a command of several writes that failed as a whole. */
const refusedCommand = (code: number): MongoBulkWriteError => refusedWrites([], undefined, code);
const socketError = (code: string): Error => Object.assign(new Error(code), { code });

describe('An error of MongoDB', () => {
  const outages: Readonly<Record<string, unknown>> = {
    'a link that broke': new MongoNetworkError('reset'),
    'a link that is silent': new MongoNetworkTimeoutError('timed out'),
    'no server to be had': new MongoServerSelectionError('none', NO_TOPOLOGY),
    'a client that was closed': new MongoNotConnectedError('closed'),
    'no majority in time': new MongoWriteConcernError({
      ok: 1,
      writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
    }),
    'several writes of which none was answered': refusedWrites([]),
    'several writes in a command that ran on a host that is away': refusedCommand(6),
    'several writes, the first under a taken key and the next on a host that is away': refusedWrites([11_000, 6]),
    'several writes, the first under a taken key and the next without space': refusedWrites([11_000, 14_031]),
    'several writes without a majority in time': refusedWrites([11_000], { code: 64 }),
    'a socket that was ended': socketError('EPIPE'),
    'a socket that was destroyed': socketError('ERR_STREAM_DESTROYED'),
    ...Object.fromEntries(
      [7, 50, 64, 89, 91, 112, 134, 189, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436, 14031, 999_999].map(
        (code) => [`code ${code}`, answered(code)],
      ),
    ),
  };
  for (const [name, error] of Object.entries(outages)) {
    it(`is an outage, with the error as its cause, for ${name}`, () => {
      expect(storeError(error)).to.be.instanceOf(StoreUnavailable).and.have.property('cause', error);
    });
  }

  const mistakes: Readonly<Record<string, unknown>> = {
    'an argument the driver refuses': new MongoInvalidArgumentError('no'),
    'an argument Node refuses': Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' }),
    'several writes under taken keys': refusedWrites([11_000, 11_000]),
    'several writes in a command that is wrong': refusedCommand(2),
    'several writes, one of which is wrong': refusedWrites([11_000, 121]),
    'a broken invariant': new Error('Broken invariant'),
    ...Object.fromEntries([2, 9, 14, 40, 52, 121, 10334, 11000, 17419].map((code) => [`code ${code}`, answered(code)])),
  };
  for (const [name, error] of Object.entries(mistakes)) {
    it(`is passed on unchanged for ${name}`, () => {
      expect(storeError(error)).to.equal(error);
    });
  }

  it('has the name that the server gives it, so that missing rights are not mistaken for a broken link', () => {
    const refused = new MongoServerError({ message: 'not authorized on darkroom', code: 13, codeName: 'Unauthorized' });
    expect(storeError(refused)).to.have.property('message', 'MongoDB could not answer (Unauthorized).');
  });

  it('is passed on unchanged if it is already an outage', () => {
    const error = new StoreUnavailable('late');
    expect(storeError(error)).to.equal(error);
  });
});
