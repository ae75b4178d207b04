// Goal: a wait sees every event once and in order although streams are cut, and ends where there are no events at all.
// Method: the compiled program behind a link in this process that answers, cuts or passes on the requests for events.
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { ApiError, type Darkroom, type GenerationTask, type SeenEvent } from '../src/index.js';
import { cutAfter, passOn, type EventsLink } from './events-link.js';
import { LinkedService, ORDER, slowRequest } from './linked-service.js';

const REQUEST = slowRequest(400);

describe('waiting with the TypeScript client', () => {
  let linked: LinkedService;
  let link: EventsLink;
  let darkroom: Darkroom;

  before(async () => {
    linked = await LinkedService.start();
    ({ link } = linked);
  });
  after(() => linked.remove());
  beforeEach(async () => {
    darkroom = await linked.newClient();
  });

  const ended = async (): Promise<GenerationTask> => darkroom.wait(await darkroom.createGeneration(REQUEST));

  it('continues after the last event when streams are cut after each event', async () => {
    link.onEvents = cutAfter(1);
    const { generation_id } = await darkroom.createGeneration(REQUEST);
    const seen: SeenEvent[] = [];
    for await (const event of darkroom.events(generation_id)) seen.push(event);
    const types = seen.map(({ type }) => type);
    expect(types).to.deep.equal(types.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)));
    expect(types).to.include.members(['queued', 'running', 'ended']);
    expect(new Set(seen.map(({ id }) => id)).size).to.equal(seen.length);
    expect(seen.at(-1)?.task.status).to.equal('succeeded');
    expect(link.asked.events).to.deep.equal(['undefined', ...seen.slice(0, -1).map(({ id }) => String(id))]);
    expect(link.asked.polls).to.equal(0);
  });

  it('sends nothing after the last event', async () => {
    link.onEvents = passOn;
    const { generation_id } = await ended();
    const seen: SeenEvent[] = [];
    for await (const event of darkroom.events(generation_id)) seen.push(event);
    const lastEventId = seen.at(-1)?.id ?? '';
    for await (const event of darkroom.events(generation_id, { lastEventId })) throw new Error(event.type);
    expect(link.asked.polls).to.equal(0);
  });

  it('polls a service that is too old for events, and behind a proxy that does not pass them', async () => {
    const refusal = JSON.stringify({ success: false, code: 'ROUTE_NOT_FOUND', message: 'No.', request_id: 'r' });
    for (const [status, type, text] of [
      [404, 'application/json', refusal],
      [200, 'text/html', '<html>'],
      [406, 'text/html', '<html>'],
    ] as const) {
      link.asked.polls = 0;
      link.onEvents = (response) => response.writeHead(status, { 'content-type': type }).end(text);
      expect((await ended()).status).to.equal('succeeded');
      expect(link.asked.polls).to.be.greaterThan(0);
    }
  });

  it('tries again when streams are refused for a moment, and gives up on a refusal that stays', async () => {
    const refuse = (response: ServerResponse, status: number, code: string) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
        .end(JSON.stringify({ success: false, code, message: 'No.', request_id: 'r' }));
    link.onEvents = (response, pass) => {
      if (link.asked.events.length === 1) refuse(response, 503, 'SERVICE_UNAVAILABLE');
      else if (link.asked.events.length === 2) response.writeHead(503, { 'retry-after': '0' }).end();
      else passOn(response, pass);
    };
    expect((await ended()).status).to.equal('succeeded');
    expect(link.asked).to.deep.include({ polls: 0 });
    link.onEvents = (response) => refuse(response, 401, 'DEVELOPER_TOKEN_REVOKED');
    const error = await ended().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ApiError).with.property('code', 'DEVELOPER_TOKEN_REVOKED');
  });
});
