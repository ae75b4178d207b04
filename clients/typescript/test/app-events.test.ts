// Goal: a follower of the App is given every event once and in order for each generation, although its stream is cut anywhere,
// and learns when it may not follow.
// Method: the compiled program behind a link in this process that cuts streams or refuses them.
import { expect } from 'chai';
import { until } from '../../../test/fixtures/clocks.js';
import {
  ApiError,
  ConnectionError,
  type Darkroom,
  type EventOptions,
  EventsUnsupported,
  type SeenEvent,
} from '../src/index.js';
import { cutAfter, type EventsLink, type OnEvents, passOn } from './events-link.js';
import { LinkedService, ORDER, slowRequest } from './linked-service.js';

const REQUEST = slowRequest(100);

describe('the events of an App by the TypeScript client', () => {
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

  /** Resolves when the first stream opens: events of generations created after that are reported. */
  const opened = (then: OnEvents): Promise<void> =>
    new Promise((resolve) => {
      link.onEvents = (response, pass) => {
        then(response, (onAnswer) =>
          pass((answer) => {
            onAnswer(answer);
            answer.once('data', () => resolve());
          }),
        );
      };
    });

  /** Follows events until this number of generations has ended. */
  async function seenUntil(ends: number, lastEventId?: string, options: EventOptions = {}): Promise<SeenEvent[]> {
    const seen: SeenEvent[] = [];
    for await (const event of darkroom.appEvents({ ...options, lastEventId })) {
      seen.push(event);
      if (event.type === 'ended' && (ends -= 1) === 0) break;
    }
    return seen;
  }

  function expectWhole(seen: readonly SeenEvent[], ids: readonly string[]): void {
    for (const id of ids) {
      const types = seen.filter(({ task }) => task.generation_id === id).map(({ type }) => type);
      expect(types).to.deep.equal(types.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)));
      const once = types.filter((type) => type !== 'progress');
      expect(once).to.deep.equal(['queued', 'running', 'ended']);
    }
  }

  it('come once each when streams are cut, each after one event more than the one before it', async () => {
    const start = opened((response, pass) => cutAfter(link.asked.events.length)(response, pass));
    const seen = seenUntil(3);
    await start;
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await darkroom.createGeneration(REQUEST)).generation_id);
    expectWhole(await seen, ids);
    expect(link.asked.events.length).to.be.greaterThan(3);
  });

  it('resume at the start of a stream that was cut before its first event', async () => {
    const start = opened((response, pass) => {
      link.onEvents = passOn;
      pass((answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.on('data', (chunk: Buffer) => {
          response.write(chunk);
          if (/^id: /m.test(chunk.toString())) response.end();
        });
      });
    });
    const seen = seenUntil(1);
    await start;
    const { generation_id } = await darkroom.createGeneration(REQUEST);
    expectWhole(await seen, [generation_id]);
    expect(link.asked.events.filter((id) => id === 'undefined')).to.have.length(1);
  });

  it('begin behind an event that an earlier follower had', async () => {
    const start = opened(passOn);
    const seen = seenUntil(1);
    await start;
    const first = await darkroom.createGeneration(REQUEST);
    const last = (await seen).at(-1)?.id;
    const second = await darkroom.wait(await darkroom.createGeneration(REQUEST));
    const more = await seenUntil(1, last);
    expect(more.at(-1)?.task.generation_id).to.equal(second.generation_id);
    expect(more.some(({ type, task }) => type === 'ended' && task.generation_id === first.generation_id)).to.equal(
      false,
    );
  });

  it('reconnect after a stream falls silent, and stop when no stream ever opens', async () => {
    const silent: OnEvents = (response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const options = { silenceMs: 300 };
    link.onEvents = silent;
    const error: unknown = await darkroom
      .appEvents(options)
      .next()
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(EventsUnsupported).with.property('message').that.includes('nothing came');
    const start = opened((response, pass) => {
      link.onEvents = (second) => {
        link.onEvents = passOn;
        silent(second, pass);
      };
      passOn(response, (onAnswer) =>
        pass((answer) => {
          onAnswer(answer);
          answer.once('data', () => setImmediate(() => response.destroy()));
        }),
      );
    });
    const seen = seenUntil(1, undefined, options);
    await start;
    const { generation_id } = await darkroom.createGeneration(REQUEST);
    expectWhole(await seen, [generation_id]);
    expect(link.asked.events).to.have.length(4);
  });

  it('leave the connection when they are left or aborted', async () => {
    const controller = new AbortController();
    link.onEvents = (response, pass) => {
      passOn(response, pass);
      response.once('close', () => (open -= 1));
      open += 1;
    };
    let open = 0;
    const start = opened(link.onEvents);
    const aborted = darkroom
      .appEvents({ signal: controller.signal })
      .next()
      .catch((error: unknown) => error);
    await start;
    controller.abort(new Error('Enough.'));
    expect(await aborted).to.have.property('message', 'Enough.');
    const again = opened(link.onEvents);
    const left = seenUntil(1);
    await again;
    await darkroom.createGeneration(REQUEST);
    await left;
    await until(() => open === 0);
  });

  it('wait as long as Retry-After says, and end on a refusal, on no events, and after so many failures', async () => {
    const start = opened((response, pass) => {
      if (link.asked.events.length === 1) response.writeHead(503, { 'retry-after': '0' }).end();
      else if (link.asked.events.length === 2) response.writeHead(502).end('<html>');
      else passOn(response, pass);
    });
    const seen = seenUntil(1);
    await start;
    await darkroom.createGeneration(REQUEST);
    expect((await seen).at(-1)?.type).to.equal('ended');
    const refusal = JSON.stringify({
      success: false,
      code: 'DEVELOPER_TOKEN_REVOKED',
      message: 'No.',
      request_id: 'r',
    });
    const endings: readonly (readonly [OnEvents, new (...args: never[]) => Error])[] = [
      [(response) => response.writeHead(401, { 'content-type': 'application/json' }).end(refusal), ApiError],
      [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'), EventsUnsupported],
      [(response) => response.destroy(), ConnectionError],
    ];
    for (const [onEvents, expected] of endings) {
      link.onEvents = onEvents;
      const error: unknown = await darkroom
        .appEvents({ maxTries: 2 })
        .next()
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(expected);
    }
  });
});
