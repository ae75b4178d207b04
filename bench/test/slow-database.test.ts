/**
 * Goal: the slow database passes on what it does not know, and counts and delays the commands it is there for. Method: messages
 * in pieces of every size; and a driver over the proxy to a real database, whose writes and reads race each other.
 */
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { freshDatabase } from '../../test/servers/fresh-places.js';
import { mongoServer, orSkip, type MongoServer } from '../../test/servers/servers.js';
import { Child } from '../child.js';
import { commandOf, MongoMessages } from '../../test/servers/mongo-messages.js';
import type { SlowDatabaseCommands } from '../servers/slow-database.js';

/** Longer than any read takes. */
const DELAY_MS = 2_000;

describe('messages of MongoDB', () => {
  const messages = [message(1, 'insert', 'claims'), message(2, 'bulkWrite', 1), message(3, 'find', 'accounts')];

  it('are the same in whatever pieces they come', () => {
    const whole = Buffer.concat(messages);
    for (let size = 1; size <= whole.byteLength; size += 1) {
      const reader = new MongoMessages();
      const pieces = Array.from({ length: Math.ceil(whole.byteLength / size) }, (_, index) =>
        whole.subarray(index * size, (index + 1) * size),
      );
      const taken = pieces.flatMap((piece) => reader.take(piece));
      expect(taken.map(({ bytes }) => bytes.toString('hex'))).to.deep.equal(messages.map((one) => one.toString('hex')));
      expect(taken.map(({ number }) => number)).to.deep.equal([1, 2, 3]);
    }
  });

  it('carry the name of a command, and of its collection where it has one', () => {
    const taken = new MongoMessages().take(Buffer.concat(messages));
    expect(taken.map(commandOf)).to.deep.equal([
      { name: 'insert', collection: 'claims' },
      { name: 'bulkWrite' },
      { name: 'find', collection: 'accounts' },
    ]);
  });
});

describe('a slow database', () => {
  let server: MongoServer;
  let child: Child<SlowDatabaseCommands> | undefined;
  before(async function find() {
    server = await orSkip(this, mongoServer('replica-set'));
  });
  after(() => child?.stop());

  it('answers reads while all writes wait, at once, and counts both', async () => {
    child = Child.start<SlowDatabaseCommands>('./servers/slow-database.js', { arguments: [new URL(server.url).port] });
    const place = freshDatabase(server);
    const port = await child.ask('open', { link: 'one' });
    const client = await MongoClient.connect(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    try {
      const things = client.db(place.database).collection<{ readonly _id: number }>('things');
      await things.insertOne({ _id: 0 });
      await child.ask('slow', { delayMs: DELAY_MS });
      const order: string[] = [];
      const write = async (_id: number) => things.insertOne({ _id }).then(() => order.push('write'));
      const read = async () => things.findOne({ _id: 0 }).then(() => order.push('read'));
      await Promise.all([write(1), write(2), write(3), read(), read()]);
      expect(order).to.deep.equal(['read', 'read', 'write', 'write', 'write']);
      expect(await child.ask('counts', { link: 'one' })).to.deep.equal({
        writes: 4,
        reads: 2,
        named: { 'insert things': 4, 'find things': 2 },
      });
      expect(await child.ask('counts', { link: 'another' })).to.deep.equal({ writes: 0, reads: 0, named: {} });
    } finally {
      await client.close();
      await place.drop();
    }
  });
});

/** A command with one field, as a driver writes it. */
function message(number: number, name: string, value: string | number): Buffer {
  const text = typeof value === 'string' ? Buffer.from(`${value}\0`) : undefined;
  const field = Buffer.concat([
    Buffer.from([text === undefined ? 0x10 : 0x02]),
    Buffer.from(`${name}\0`),
    int32(text === undefined ? Number(value) : text.byteLength),
    text ?? Buffer.alloc(0),
    Buffer.from([0]),
  ]);
  const body = Buffer.concat([int32(0), Buffer.from([0]), int32(field.byteLength + 4), field]);
  return Buffer.concat([int32(16 + body.byteLength), int32(number), int32(0), int32(2_013), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
