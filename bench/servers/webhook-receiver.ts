import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import { listenLocally } from './local-server.js';

/** A webhook receiver in a separate process: it accepts every message, except those to paths that hang. */
export const HANGS = '/hangs';

interface Arrival {
  readonly generationId: string;
  readonly atMicros: number;
}

interface Message {
  readonly data: { readonly generation_id: string };
}

let count = 0;
let lastAtMicros = 0;
let lastBody = '';
let isTimed = false;
const arrivals: Arrival[] = [];

const server = createServer({ noDelay: true }, (request, response) => {
  void text(request).then((body) => {
    if (request.url?.startsWith(HANGS) === true) return;
    count += 1;
    lastAtMicros = machineMicros();
    lastBody = body;
    if (isTimed)
      arrivals.push({ generationId: (JSON.parse(body) as Message).data.generation_id, atMicros: lastAtMicros });
    response.writeHead(204).end();
  });
});

const commands = {
  listen: () => listenLocally(server),
  /** The number of messages accepted so far; those to paths that hang do not count. */
  counts: () => ({ count, lastAtMicros }),
  /** The last message received. */
  sample: () => lastBody,
  /** Records arrivals from now on. */
  time(): void {
    isTimed = true;
    arrivals.length = 0;
  },
  arrivals: () => arrivals,
  usage: usageOfThisProcess,
};

export type WebhookReceiverCommands = typeof commands;

answerCommands(commands, async () => {
  server.closeAllConnections();
});
