import { expect } from 'chai';
import fc from 'fast-check';
import type { IncomingMessage } from 'node:http';
import { pino } from 'pino';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import { SystemIds } from '../../../../adapters/system/system-ids.js';
import { DEFAULT_REST_LIMITS } from '../../../harness/http-fronts.js';
import { preferredWait, readQuery } from '../../../../apps/http/host/request.js';
import { sendAnswer, sendStream, type StreamedAnswer } from '../../../../apps/http/host/send.js';
import { createHttpHost, createRouter, type HttpHost, type HttpRoute } from '../../../../apps/http/host/server.js';
import { ServiceError } from '../../../../core/errors.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { exchange, parseAnswer } from './raw-socket.js';
import { type RunningServer, serve } from './rest-client.js';
import { keptLog } from '../../../harness/kept-log.js';
import { forAll } from '../../../harness/for-all.js';

/**
 * Goal: a front's routes are served by exact path and any method; what matches none is refused with the right code; an
 * answer may be a stream, which ends with its client. Method: a host with fronts made for the test, on a port of this
 * machine; its answers as a client gets them.
 */

function told(method: HttpRoute['method'], path: string): HttpRoute {
  return {
    method,
    path,
    serve: (ctx) => sendAnswer(ctx, 200, { data: { route: ctx.state.route, method: ctx.method, params: ctx.params } }),
  };
}

describe('routing', () => {
  let host: HttpHost;
  let port: number;
  let ended: Promise<string>;
  let end: (how: string) => void;

  async function* ticks(): AsyncGenerator<string> {
    let how = 'cut';
    try {
      yield 'data: 1\n\n';
      yield 'data: 2\n\n';
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
      how = 'whole';
    } finally {
      end(how);
    }
  }

  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) {
        yield 'data: tick\n\n';
        await new Promise((resolve) => {
          setTimeout(resolve, 1);
        });
      }
    } finally {
      end('cut');
    }
  }

  async function* broken(): AsyncGenerator<string> {
    yield 'data: 1\n\n';
    throw new Error('The source broke.');
  }

  let opened = 0;

  async function* counted(): AsyncGenerator<string> {
    opened += 1;
    yield 'data: 1\n\n';
  }

  const streamed = (path: string, stream: StreamedAnswer['stream'], headers = {}): HttpRoute => ({
    method: 'GET',
    path,
    serve: (ctx) => sendStream(ctx, { stream, mediaType: 'text/event-stream', headers }),
  });

  before(async () => {
    const things = createRouter(
      [
        told('GET', '/:id'),
        told('DELETE', '/:id'),
        told('POST', '/estimate'),
        told('PUT', '/:id/parts/:part'),
        told('PATCH', '/:id'),
        streamed('/ticks/now', ticks),
        streamed('/ticks/endless', endless),
        streamed('/ticks/broken', broken),
        streamed('/ticks/counted', counted),
        streamed('/ticks/misnamed', counted, { 'Not-A-Header': 'two\nlines' }),
        { method: 'GET', path: '/refused/now', serve: () => Promise.reject(new ServiceError('TASK_NOT_FOUND')) },
      ],
      '/v2/things',
    );
    const files = createRouter([told('any', '/files/{*key}')]);
    host = createHttpHost(
      {
        ids: new SystemIds(),
        clock: new SystemClock(),
        logger: pino({ level: 'silent' }),
        limits: DEFAULT_REST_LIMITS,
      },
      [() => [things], () => [files]],
    );
    ({ port } = await host.listen('127.0.0.1', 0));
  });

  beforeEach(() => {
    ended = new Promise((resolve) => {
      end = resolve;
    });
  });

  after(() => host.close(0));

  const ask = (method: string, path: string) => fetch(`http://127.0.0.1:${port}${path}`, { method });

  for (const [method, path, route, params] of [
    ['GET', '/v2/things/7', '/v2/things/:id', { id: '7' }],
    ['DELETE', '/v2/things/7', '/v2/things/:id', { id: '7' }],
    ['PATCH', '/v2/things/7', '/v2/things/:id', { id: '7' }],
    ['PUT', '/v2/things/a%20b/parts/%C3%BC', '/v2/things/:id/parts/:part', { id: 'a b', part: 'ü' }],
    ['GET', '/v2/things/%ff', '/v2/things/:id', { id: '%ff' }],
    ['GET', '/v2/things/7?other=/x', '/v2/things/:id', { id: '7' }],
    ['POST', '/v2/things/estimate', '/v2/things/estimate', {}],
    ['OPTIONS', '/files/a/b', '/files/{*key}', { key: 'a/b' }],
    ['PUT', '/files/', '/files/{*key}', {}],
  ] as const) {
    it(`serves ${method} ${path} by ${route}`, async () => {
      const { data } = (await (await ask(method, path)).json()) as { data: unknown };
      expect(data).to.deep.equal({ route, method, params });
    });
  }

  for (const [method, path, allow] of [
    ['GET', '/v2/things/estimate', 'POST'],
    ['OPTIONS', '/v2/things/7', 'DELETE, GET, HEAD, PATCH'],
    ['POST', '/v2/things/7', 'DELETE, GET, HEAD, PATCH'],
    ['PROPFIND', '/v2/things/7/parts/1', 'PUT'],
  ] as const) {
    it(`refuses ${method} ${path} and names the allowed methods`, async () => {
      const response = await ask(method, path);
      expect([response.status, response.headers.get('allow')]).to.deep.equal([405, allow]);
      expect(await response.json()).to.deep.include({
        code: 'METHOD_NOT_ALLOWED',
        message: `This route takes ${allow}.`,
      });
    });
  }

  for (const path of [
    '/',
    '/v2/things',
    '/v2/things/',
    '/v2/things/7/',
    '/V2/things/7',
    '/v2/Things/7',
    '/v2/things/7/parts',
    '/v2/things//parts/1',
    '/files',
    '/v2/thingsx/7',
  ]) {
    it(`refuses ${path}, which is not a route`, async () => {
      const response = await ask('GET', path);
      expect(response.status).to.equal(404);
      expect(await response.json()).to.deep.include({ code: 'ROUTE_NOT_FOUND' });
    });
  }

  it('sends a stream piece by piece, without an envelope', async () => {
    const response = await ask('GET', '/v2/things/ticks/now');
    expect([response.headers.get('content-type'), response.headers.get('cache-control')]).to.deep.equal([
      'text/event-stream',
      'no-store',
    ]);
    expect(response.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    expect(await response.text()).to.equal('data: 1\n\ndata: 2\n\n');
    expect(await ended).to.equal('whole');
  });

  it('does not open a stream for HEAD', async () => {
    const response = await ask('HEAD', '/v2/things/ticks/counted');
    expect([response.status, response.headers.get('content-type'), await response.text()]).to.deep.equal([
      200,
      'text/event-stream',
      '',
    ]);
    expect(opened).to.equal(0);
  });

  it('answers an error when the headers of a stream are invalid', async () => {
    const response = await ask('GET', '/v2/things/ticks/misnamed');
    expect(response.status).to.equal(500);
    expect(await response.json()).to.deep.include({ code: 'INTERNAL_ERROR' });
  });

  it('ends a stream whose client has disconnected', async () => {
    const over = new AbortController();
    const response = await fetch(`http://127.0.0.1:${port}/v2/things/ticks/endless`, { signal: over.signal });
    await response.body?.getReader().read();
    over.abort();
    expect(await ended).to.equal('cut');
  });

  it('does not end a failed stream as if it were complete', async () => {
    const text = await exchange(port, 'GET /v2/things/ticks/broken HTTP/1.1\r\nHost: here\r\n\r\n');
    expect(text).to.include('data: 1').and.not.include('0\r\n\r\n');
  });

  it('answers a refusal that a route throws', async () => {
    const response = await ask('GET', '/v2/things/refused/now');
    expect([response.status, ((await response.json()) as { code: string }).code]).to.deep.equal([
      404,
      'TASK_NOT_FOUND',
    ]);
  });
});

describe('a query', () => {
  const NAMES = ['limit', 'cursor'];

  for (const [query, values] of [
    ['', {}],
    ['limit=5', { limit: '5' }],
    ['cursor=a%2Fb+c&limit=', { cursor: 'a/b c', limit: '' }],
    ['limit', { limit: '' }],
    ['limit=1=2', { limit: '1=2' }],
  ] as const) {
    it(`"${query}" is read`, () => {
      expect(readQuery(query, NAMES)).to.deep.equal(values);
    });
  }

  for (const [query, sentence] of [
    ['limit=1&limit=1', 'The query parameter "limit" must be sent once.'],
    ['Limit=1', 'Unknown query parameter "Limit". This operation takes limit, cursor.'],
    ['__proto__=1', 'Unknown query parameter "__proto__". This operation takes limit, cursor.'],
    ['&', 'Unknown query parameter "". This operation takes limit, cursor.'],
    ['limit=%ff', 'The query must be percent-encoded UTF-8.'],
  ] as const) {
    it(`"${query}" is refused`, () => {
      expect(() => readQuery(query, NAMES))
        .to.throw(ServiceError, sentence)
        .with.property('code', 'FIELD_INVALID');
    });
  }
});

// Goal: any request line is answered with a status below 500, and nothing of it reaches the log.
// Method: targets with valid and invalid beginnings, on raw sockets, against a server whose log and warnings are kept;
// each contains a marker that is searched for afterwards. A failing property prints its seed.

const SIGNATURE = 'word-of-a-signature';
const BEGINNINGS = [
  '',
  '/',
  '//',
  '//a@',
  '//%zz@',
  '///',
  '*',
  'http:',
  'http:/',
  'http://',
  'http://[',
  'http://a:b',
  'http://%zz@a',
  'HTTPS://a',
  'ws://',
  'javascript:',
  'example.com:80',
  '/objects/',
  '/api/v1/developer/generations/',
  '\\\\',
  '#',
];
const WORDS = [
  '[',
  ']',
  ':',
  '::1',
  '@',
  '%',
  '%zz',
  '%00',
  '%e2%80',
  '?',
  '&',
  '=',
  '#',
  '/',
  '..',
  '\\',
  '|',
  '"',
  '<',
  '{',
  '`',
  '^',
  '\u00a0',
  '\u00ff',
  '\t',
  'a',
  '99999',
  ';',
];

describe('REST reads the target of a request', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  const kept = keptLog('trace');
  const reports = kept.texts;
  const take = (warning: Error): void => {
    reports.push(String(warning));
  };

  before(async () => {
    harness = await openServiceHarness();
    running = await serve(harness, { logger: kept.logger });
    process.on('warning', take);
  });
  after(async () => {
    process.off('warning', take);
    await running.server.close(1_000);
    await harness.close();
  });

  const ask = async (method: string, target: string): Promise<number> =>
    parseAnswer(
      await exchange(
        running.port,
        Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 'latin1'),
      ),
    ).status;

  it('answers every target with a refusal or its own answer, and logs none of it', async () => {
    const target = fc.tuple(
      fc.constantFrom(...BEGINNINGS),
      fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.constant(SIGNATURE)), { maxLength: 6 }),
    );
    await forAll(
      1_500,
      [fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS'), target],
      async (method, [beginning, words]) => {
        expect(await ask(method, beginning + words.join(''))).to.be.within(200, 499);
      },
    );
    expect(reports.length).to.be.at.least(1);
    expect(reports.join('')).to.not.include(SIGNATURE).and.not.include('at Object');
  });

  it('refuses a malformed address without repeating it', async () => {
    const before = reports.length;
    expect(await ask('GET', `http://[/objects/x?signature=${SIGNATURE}`)).to.equal(400);
    const lines = reports.slice(before).join('');
    expect(lines)
      .to.include('"status":400')
      .and.not.include(SIGNATURE)
      .and.not.include('http://')
      .and.not.include('stack');
  });
});

function waitOf(...values: readonly string[]): number | undefined {
  const headers = values.length === 0 ? {} : { prefer: values.join(', ') };
  return preferredWait({ headers, rawHeaders: values.flatMap((value) => ['Prefer', value]) } as IncomingMessage);
}

/** RFC 7240: preferences are a list, over several headers too; unknown ones are ignored. */
describe('Prefer: wait', () => {
  const cases: readonly (readonly [values: readonly string[], seconds: number | undefined])[] = [
    [[], undefined],
    [['wait=1'], 1],
    [['wait=60'], 60],
    [['wait=61'], 60],
    [['wait=999999999'], 60],
    [['WAIT = 5'], 5],
    [['wait="7"'], 7],
    [['wait=10; strict'], 10],
    [['respond-async, wait=10'], 10],
    [['respond-async', 'wait=3'], 3],
    [['wait=3, wait=9'], 3],
    [['wait=3', 'wait=9'], 3],
    [['wait=0'], undefined],
    [['wait=0, wait=9'], undefined],
    [['wait=-1'], undefined],
    [['wait=1.5'], undefined],
    [['wait=ten'], undefined],
    [['wait='], undefined],
    [['wait'], undefined],
    [['wait=9999999999'], undefined],
    [['waiting=5'], undefined],
    [['handling=lenient'], undefined],
    [[''], undefined],
    [[',,;=,"'], undefined],
  ];
  for (const [values, seconds] of cases)
    it(`${JSON.stringify(values)} waits ${seconds ?? 'not at all'}`, () => {
      expect(waitOf(...values)).to.equal(seconds);
    });
});
