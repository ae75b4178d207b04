import Koa from 'koa';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { collectGarbage } from '../../test/fixtures/resident-memory.js';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { GroupLog } from './group-log.js';
import { listenLocally } from './local-server.js';

/**
 * The controls, in a process of their own. POST parses JSON, appends it to a raw log that is durable when it answers,
 * and gives it back; GET answers one JSON object. No checks, no routes, no store.
 */
const log = new GroupLog(join(process.argv[2] ?? '', 'control.log'));
let answer: object = {};

const app = new Koa();
app.use(async (ctx) => {
  if (ctx.method === 'GET') {
    ctx.body = answer;
    return;
  }
  const text = await readText(ctx.req);
  const body = JSON.parse(text) as object;
  await log.append(text);
  ctx.status = 202;
  ctx.body = body;
});

async function readText(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const serve = app.callback();
const server = createServer({ keepAliveTimeout: 65_000, noDelay: true }, (req, res) => void serve(req, res));

const commands = {
  listen: () => listenLocally(server),
  /** Sets the response to GET from now on. */
  answerWith({ json }: { readonly json: string }): void {
    answer = JSON.parse(json) as object;
  },
  usage: usageOfThisProcess,
  collectGarbage,
};

export type ControlCommands = typeof commands;

answerCommands(commands, async () => {
  server.closeAllConnections();
  log.close();
});
