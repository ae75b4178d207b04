// Goal: a wait sees every event once and in order although streams are cut, and ends where there are no events at all.
// Method: the compiled program behind a link in this process that answers, cuts or passes on the requests for events.
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { LiveService } from '../../../test/service/live-service.js';
import { ApiError, Darkroom, type GenerationTask, type SeenEvent } from '../src/index.js';

const REQUEST = {
  model_key: 'sandbox-test',
  operation: 'image_generation',
  prompt: 'a lighthouse',
  parameters: { behaviour: 'slow', delay_ms: 400, size: '128x128' },
} as const;
const ORDER = ['queued', 'running', 'progress', 'cancel_requested', 'ended'];

type Answered = (answer: IncomingMessage) => void;

describe('waiting with the TypeScript client', () => {
  let service: LiveService;
  let link: Server;
  let darkroom: Darkroom;
  /** Answers a request for events, or passes it on. */
  let onEvents: (response: ServerResponse, pass: (onAnswer: Answered) => void) => void;
  let asked: { events: string[]; polls: number };

  const passed =
    (response: ServerResponse): Answered =>
    (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
    };

  before(async () => {
    service = await LiveService.start();
    link = createServer((incoming, response) => {
      const { url = '', method, headers } = incoming;
      const pass = (onAnswer: Answered) => {
        incoming.pipe(request(`${service.url}${url}`, { method, headers }, onAnswer));
      };
      if (url.endsWith('/events')) {
        asked.events.push(String(headers['last-event-id']));
        onEvents(response, pass);
        return;
      }
      if (method === 'GET') asked.polls += 1;
      pass(passed(response));
    });
    await once(link.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    link.closeAllConnections();
    link.close();
    await service.remove();
  });
  beforeEach(async () => {
    asked = { events: [], polls: 0 };
    const { secret } = await service.tenant(10);
    darkroom = new Darkroom({ baseUrl: `http://127.0.0.1:${(link.address() as AddressInfo).port}`, apiKey: secret });
  });

  const ended = async (): Promise<GenerationTask> => darkroom.wait(await darkroom.createGeneration(REQUEST));

  it('goes on behind the last event when streams are cut after each event', async () => {
    onEvents = (response, pass) => {
      pass((answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        let text = '';
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          const at = text.indexOf('id: ');
          const end = at < 0 ? -1 : text.indexOf('\n\n', at);
          if (end < 0 || answer.destroyed) return;
          answer.destroy();
          // One event, and half of another one.
          response.write(`${text.slice(0, end + 2)}id: 99\nevent: ended\nda`, () => response.destroy());
        });
      });
    };
    const { generation_id } = await darkroom.createGeneration(REQUEST);
    const seen: SeenEvent[] = [];
    for await (const event of darkroom.events(generation_id)) seen.push(event);
    const types = seen.map(({ type }) => type);
    expect(types).to.deep.equal(types.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)));
    expect(types).to.include.members(['queued', 'running', 'ended']);
    expect(new Set(seen.map(({ id }) => id)).size).to.equal(seen.length);
    expect(seen.at(-1)?.task.status).to.equal('succeeded');
    expect(asked.events).to.deep.equal(['undefined', ...seen.slice(0, -1).map(({ id }) => String(id))]);
    expect(asked.polls).to.equal(0);
  });

  it('has nothing more to tell behind the last event', async () => {
    onEvents = (response, pass) => {
      pass(passed(response));
    };
    const { generation_id } = await ended();
    const seen: SeenEvent[] = [];
    for await (const event of darkroom.events(generation_id)) seen.push(event);
    const lastEventId = seen.at(-1)?.id ?? '';
    for await (const event of darkroom.events(generation_id, { lastEventId })) throw new Error(event.type);
    expect(asked.polls).to.equal(0);
  });

  it('polls a service that is too old for events, and behind a proxy that does not pass them', async () => {
    const refusal = JSON.stringify({ success: false, code: 'ROUTE_NOT_FOUND', message: 'No.', request_id: 'r' });
    for (const [status, type, text] of [
      [404, 'application/json', refusal],
      [200, 'text/html', '<html>'],
      [406, 'text/html', '<html>'],
    ] as const) {
      asked.polls = 0;
      onEvents = (response) => response.writeHead(status, { 'content-type': type }).end(text);
      expect((await ended()).status).to.equal('succeeded');
      expect(asked.polls).to.be.greaterThan(0);
    }
  });

  it('tries again when streams are refused for a moment, and gives up on a refusal that stays', async () => {
    const refuse = (response: ServerResponse, status: number, code: string) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
        .end(JSON.stringify({ success: false, code, message: 'No.', request_id: 'r' }));
    onEvents = (response, pass) => {
      if (asked.events.length === 1) refuse(response, 503, 'SERVICE_UNAVAILABLE');
      else if (asked.events.length === 2) response.writeHead(503, { 'retry-after': '0' }).end();
      else pass(passed(response));
    };
    expect((await ended()).status).to.equal('succeeded');
    expect(asked).to.deep.include({ polls: 0 });
    onEvents = (response) => refuse(response, 401, 'DEVELOPER_TOKEN_REVOKED');
    const error = await ended().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ApiError).with.property('code', 'DEVELOPER_TOKEN_REVOKED');
  });
});
