import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { commandOf, MongoMessages, type Command, type MongoMessage } from '../../test/servers/mongo-messages.js';

/**
 * A database that takes a fixed time for each write and any number of them at once, made of one that is quick: a proxy that
 * holds back the answer to each write, be it that a version was another one. It also counts commands, by the link they came through.
 *
 * Toxiproxy cannot do either: it delays all bytes of a connection, those of reads and of the driver's own pings among them.
 */
const upstreamPort = Number(process.argv[2]);
let delayMs = 0;

const WRITES: ReadonlySet<string> = new Set([
  'insert',
  'update',
  'delete',
  'findAndModify',
  'findandmodify',
  'bulkWrite',
]);
/** Commands of the driver itself, and those that wait for events. */
const UNCOUNTED: ReadonlySet<string> = new Set(['hello', 'ismaster', 'isMaster', 'ping', 'endSessions', 'getMore']);

export interface CommandCounts {
  readonly writes: number;
  readonly reads: number;
  /** Counts by command and collection. */
  readonly named: Readonly<Record<string, number>>;
}

const countsByLink = new Map<string, { writes: number; reads: number; named: Record<string, number> }>();
const sockets = new Set<Socket>();

function count(link: string, { name, collection }: Command): void {
  if (UNCOUNTED.has(name)) return;
  const counts = countsByLink.get(link) ?? { writes: 0, reads: 0, named: {} };
  countsByLink.set(link, counts);
  if (WRITES.has(name)) counts.writes += 1;
  else counts.reads += 1;
  const key = collection === undefined ? name : `${name} ${collection}`;
  counts.named[key] = (counts.named[key] ?? 0) + 1;
}

function pass(link: string, client: Socket): void {
  const upstream = connect({ host: '127.0.0.1', port: upstreamPort });
  const [asked, answered] = [new MongoMessages(), new MongoMessages()];
  const writes = new Set<number>();
  client.on('data', (piece: Buffer) => {
    for (const message of asked.take(piece)) {
      const command = commandOf(message);
      if (command !== undefined) count(link, command);
      if (command !== undefined && WRITES.has(command.name)) writes.add(message.number);
      upstream.write(message.bytes);
    }
  });
  const answer = async (message: MongoMessage): Promise<void> => {
    if (writes.delete(message.answered)) await sleep(delayMs);
    if (!client.destroyed) client.write(message.bytes);
  };
  upstream.on('data', (piece: Buffer) => {
    for (const message of answered.take(piece)) void answer(message);
  });
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }
}

const commands = {
  /** Another port of the same database, whose commands are counted by themselves. */
  async open({ link }: { readonly link: string }): Promise<number> {
    const server = createServer((client) => pass(link, client));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  },
  /** How long the answer to each write is held back from now on; at first not at all. */
  slow(given: { readonly delayMs: number }): void {
    ({ delayMs } = given);
  },
  /** Since the link was opened. */
  counts: ({ link }: { readonly link: string }): CommandCounts =>
    structuredClone(countsByLink.get(link)) ?? { writes: 0, reads: 0, named: {} },
  usage: usageOfThisProcess,
};

export type SlowDatabaseCommands = typeof commands;

answerCommands(commands, async () => {
  for (const socket of sockets) socket.destroy();
});
