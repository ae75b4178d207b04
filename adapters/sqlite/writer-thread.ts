import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { BatchWriter, type Unit } from './writes.js';
import { configureWriter, openDatabase } from './database.js';
import type { FromWriter, ToWriter, WriterSettings } from './writer.js';

/** The thread that owns the one writing connection: everything that waits becomes one transaction. */
function main(port: MessagePort, settings: WriterSettings): void {
  const database = openDatabase(settings.path);
  configureWriter(database, settings.maxPages);
  const writer = new BatchWriter(database);
  const post = (message: FromWriter): void => port.postMessage(message);

  port.on('message', (first: ToWriter) => {
    const { messages, units, close } = drain(port, first);
    if (messages > 0) post({ messages, results: writer.apply(units) });
    if (!close) return;
    // With nothing left in the log, the next start has nothing to replay.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    post('closed');
    port.close();
  });
  post('ready');
}

/** Takes the first message and all others that have arrived since. */
function drain(
  port: MessagePort,
  first: ToWriter,
): { readonly messages: number; readonly units: readonly Unit[]; readonly close: boolean } {
  if (first === 'close') return { messages: 0, units: [], close: true };
  let messages = 1;
  let units = first;
  for (let next = received(port); next !== undefined; next = received(port)) {
    if (next === 'close') return { messages, units, close: true };
    messages += 1;
    units = units.concat(next);
  }
  return { messages, units, close: false };
}

function received(port: MessagePort): ToWriter | undefined {
  const next: { readonly message: ToWriter } | undefined = receiveMessageOnPort(port);
  return next?.message;
}

if (parentPort !== null) main(parentPort, workerData as WriterSettings);
