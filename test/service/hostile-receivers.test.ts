// Goal: whatever receivers of webhooks do, the service keeps its memory and its sockets, reveals nothing of their URLs,
// and serves other accounts.
// Method: the started program, and receivers that answer with bombs, endless headers and bodies, one byte at a time, or never.
import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { SCOPES } from '../../core/access/credential.js';
import type { JsonObject } from '../../core/json.js';
import { residentBytes, tellsResidentMemory } from '../fixtures/resident-memory.js';
import { type Client, LiveService } from './live-service.js';

const MEBIBYTE = 1_024 * 1_024;
const BOMB = gzipSync(Buffer.alloc(200 * MEBIBYTE));
const IN_THE_ADDRESS = 'only-for-the-receiver';
/** The concurrent deliveries of a process for one account, and the bound on its other open files. */
const [SENT_AT_ONCE, OTHERS] = [16, 200];

type Conduct = (response: ServerResponse) => void;

const CONDUCTS: Readonly<Record<string, Conduct>> = {
  'bomb': (response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(BOMB),
  'bomb-in-a-failure': (response) => response.writeHead(500, { 'Content-Encoding': 'gzip, gzip' }).end(gzipSync(BOMB)),
  'headers': (response) => {
    const { socket } = response;
    socket?.write('HTTP/1.1 200 OK\r\n');
    repeat(response, () => socket?.write(`x: ${'y'.repeat(4_000)}\r\n`));
  },
  'hints': (response) => repeat(response, () => response.writeEarlyHints({ link: '</x>; rel=preload' })),
  'bytes': (response) => {
    response.writeHead(200);
    repeat(response, () => response.write('x'));
  },
  'weeks': (response) => response.writeHead(503, { 'Retry-After': '1000000' }).end(),
  'elsewhere': (response) => response.writeHead(302, { Location: 'http://169.254.169.254/latest' }).end(),
  'hangs': () => undefined,
  'takes': (response) => response.writeHead(204).end(),
};

function repeat(response: ServerResponse, write: () => void): void {
  const timer = setInterval(() => {
    if (response.socket?.destroyed !== false) clearInterval(timer);
    else write();
  }, 10);
}

describe('receivers of webhooks that mean harm', function suite() {
  this.timeout(240_000);
  let server: Server;
  let service: LiveService;
  const came = new Map<string, number>();

  before(async () => {
    server = createServer((request, response) => {
      const [, conduct = '', number = ''] = /^\/([\w-]+?)(?:-(\d+))?\?/.exec(request.url ?? '') ?? [];
      request.resume().on('end', () => {
        came.set(conduct, (came.get(conduct) ?? 0) + 1);
        came.set(`${conduct}-${number}`, (came.get(`${conduct}-${number}`) ?? 0) + 1);
        CONDUCTS[conduct]?.(response);
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    service = await LiveService.start({
      config: { webhooks: { allowed_hosts: [`127.0.0.1:${port()}`] }, log: { level: 'info', format: 'json' } },
    });
  });
  after(async () => {
    await service.remove();
    server.closeAllConnections();
    server.close();
  });

  afterEach('their addresses are in no log', () => {
    expect(service.server.log).not.to.equal('');
    expect(service.server.log).not.to.include(IN_THE_ADDRESS);
  });

  const port = (): number => (server.address() as AddressInfo).port;
  const newClient = async (): Promise<Client> => service.client((await service.tenant(10_000, SCOPES)).secret);
  const listen = async (client: Client, name: string): Promise<string> => {
    const url = `http://127.0.0.1:${port()}/${name}?token=${IN_THE_ADDRESS}`;
    const { status, data } = await client.request('POST', '/webhooks', { body: { url } });
    expect(status).to.equal(201);
    return data['webhook_id'] as string;
  };
  const residentMebibytes = (): number => residentBytes(service.server.pid!) / 1_048_576;
  const openFiles = (): number => readdirSync(`/proc/${service.server.pid}/fd`).length;

  it('are held to what may be answered, and their failures to their causes', async function bounds() {
    if (!tellsResidentMemory) this.skip();
    const client = await newClient();
    const before = residentMebibytes();
    const names = Object.keys(CONDUCTS).filter((name) => name !== 'hangs');
    const ids = new Map<string, string>();
    for (const name of names) ids.set(name, await listen(client, name));
    for (let number = 0; number < 8; number += 1) await client.create(`bounds-${number}`, 'sandbox-noop');
    const lastOf = async (name: string): Promise<JsonObject | undefined> => {
      const { data } = await client.request('GET', `/webhooks/${ids.get(name)}/deliveries?limit=100`);
      const deliveries = data['deliveries'] as { attempts: JsonObject[] }[];
      const [attempts] = deliveries.map((one) => one.attempts).filter(({ length }) => length > 0);
      return attempts?.at(-1);
    };
    const found: Record<string, unknown> = {};
    for (const name of names) {
      let last = await lastOf(name);
      for (; last === undefined; last = await lastOf(name)) await sleep(100);
      found[name] = last['status'] ?? last['fault'];
    }
    expect(found).to.deep.equal({
      'bomb': 200,
      'bomb-in-a-failure': 500,
      'headers': 'answer',
      'hints': 'timeout',
      'bytes': 200,
      'weeks': 503,
      'elsewhere': 302,
      'takes': 204,
    });
    expect(residentMebibytes() - before).to.be.at.most(150);
    for (const id of ids.values()) await client.request('DELETE' as 'POST', `/webhooks/${id}`);
  });

  it('delay nobody else, with more to be sent to ten of them than they ever take', async function others() {
    if (process.platform !== 'linux') this.skip();
    const [hanging, well] = [await newClient(), await newClient()];
    for (let number = 0; number < 10; number += 1) await listen(hanging, `hangs-${number}`);
    await listen(well, 'takes-1');
    for (let number = 0; number < 150; number += 1) await hanging.create(`hanging-${number}`, 'sandbox-noop');
    while ((came.get('hangs') ?? 0) < SENT_AT_ONCE) await sleep(20);
    const taken = came.get('takes-1') ?? 0;
    const hung = came.get('hangs') ?? 0;
    for (let number = 0; number < 30; number += 1) await well.create(`well-${number}`, 'sandbox-noop');
    while ((came.get('takes-1') ?? 0) < taken + 30) await sleep(20);
    // No hanging delivery had to end for that: its replacement would take another fifteen seconds.
    expect((came.get('hangs') ?? 0) - hung).to.be.at.most(2 * SENT_AT_ONCE);
    expect(openFiles()).to.be.at.most(OTHERS + SENT_AT_ONCE);
  });
});
