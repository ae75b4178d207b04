import { MongoClient } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';

/**
 * A client that writes small documents into the database named on the command line, as durable as the program writes.
 */
const [url = '', database = ''] = process.argv.slice(2);
const client = await MongoClient.connect(url, { writeConcern: { w: 'majority', journal: true } });
const collection = client
  .db(database)
  .collection<{ readonly _id: string; readonly version: number; readonly text: string }>('writes');
const TEXT = 'x'.repeat(1_000);

export interface WritesDone {
  readonly writes: number;
  readonly elapsedMs: number;
  readonly cpuMicros: number;
}

const commands = {
  /** Each client inserts a document and writes it once more, until the time is over. */
  async write({ clients, durationMs }: { readonly clients: number; readonly durationMs: number }): Promise<WritesDone> {
    const before = usageOfThisProcess();
    const beganAt = performance.now();
    let writes = 0;
    const drive = async (): Promise<void> => {
      while (performance.now() - beganAt < durationMs) {
        const _id = randomUUID();
        await collection.insertOne({ _id, version: 1, text: TEXT });
        await collection.updateOne({ _id, version: 1 }, { $set: { version: 2 } });
        writes += 2;
      }
    };
    await Promise.all(Array.from({ length: clients }, drive));
    return {
      writes,
      elapsedMs: performance.now() - beganAt,
      cpuMicros: usageOfThisProcess().cpuMicros - before.cpuMicros,
    };
  },
};

export type DatabaseWritesCommands = typeof commands;

answerCommands(commands, () => client.close());
