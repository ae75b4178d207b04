// Goal: every request of the REST front is counted once, under labels from bounded sets whatever a client sends; no
// client's id, secret or path becomes a label.
// Method: shared vectors and hostile requests against a measured server; label values must be in sets that are listed
// here or belong to the catalogues, and are searched for everything that identifies a client.
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BASE } from '../../../apps/http/developer/operation.js';
import { ROUTES } from '../../../apps/http/developer/routes.js';
import { Metrics, observedPorts } from '../../../apps/metrics/metrics.js';
import { ERRORS } from '../../../core/errors.js';
import { TASK_ERRORS } from '../../../core/generation/generation.js';
import { STORE_PORTS } from '../../../core/ports/ports.js';
import { ROOT } from '../../docs/pages.js';
import { type Family, parseExposition, valueOf } from '../../fixtures/exposition.js';
import { MODELS } from '../../fixtures/models.js';
import { CannedProvider, connectedProviders } from '../../fixtures/scripted-provider.js';
import { keptLog } from '../../harness/kept-log.js';
import { exchange } from '../http/host/raw-socket.js';
import { OpenAiHarness } from '../openai/openai-harness.js';
import { RestHarness, sendHttp, serve } from '../http/host/rest-client.js';
import { ACCESS_VECTORS } from '../vectors/access.js';
import { GENERATION_VECTORS } from '../vectors/generations.js';
import { HTTP_VECTORS } from '../vectors/http-only.js';
import { IDEMPOTENCY_VECTORS } from '../vectors/idempotency.js';
import { playOn } from '../vectors/play.js';
import { PICTURE } from '../vectors/vector.js';

const HTTP_METHODS = 'GET HEAD POST PUT DELETE PATCH OPTIONS other'.split(' ');
/** The methods of the stores, of wake-ups and of providers. */
const PORT_METHODS = [
  'create read apply entries find findOperation list holdsBefore insert accept replace remove due usage',
  'stored removeExpired insertApp readApp listApps insertKey findKey replaceKey listKeys signPut',
  'signGet stat write copy schedule submit poll output cancel recover',
].flatMap((line) => line.split(' '));

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  route: [...ROUTES.map(({ path }) => BASE + path), '/healthz', '/readyz', '/objects/:key', 'none'],
  method: [...HTTP_METHODS, ...PORT_METHODS],
  code: [...Object.keys(ERRORS), ...Object.keys(TASK_ERRORS), 'none', 'unknown'],
  port: STORE_PORTS,
  reason: ['unavailable', 'unexpected', 'full', 'full_for_address', 'malformed', 'headers_too_long', 'timeout'],
  model: [...MODELS.map(({ modelKey }) => modelKey), 'withdrawn'],
  status: ['queued', 'running', 'succeeded', 'failed', 'cancelled'],
  kind: [
    'grant',
    'adjustment',
    'hold',
    'charge',
    'release',
    'generation',
    'upload',
    'claim',
    'fingerprint',
    'artefact',
    'delivery',
    'erasure',
  ],
  to: ['issued', 'available', 'reserved', 'spent'],
  outcome: [
    'done',
    'failed',
    'woken',
    'ended',
    'settled',
    'retired',
    'released',
    'swept',
    'removed',
    'overtaken',
    'advanced',
    'waiting',
    'completed',
  ],
  bound: ['open_generations', 'uncharged_content_bytes', 'unfinished_uploads', 'stored_uploads', 'stored_upload_bytes'],
  provider: ['canned'],
  direction: ['read', 'written'],
  state: ['running', 'waiting'],
};
const ODD_REQUESTS = [
  'TRACE / HTTP/1.1',
  'PROPFIND /api/v1/developer/credits HTTP/1.1',
  'GET /api/v1/developer/generations/%2e%2e/x HTTP/1.1',
  'DELETE /objects/a?signature=s HTTP/1.1',
  'GET /nowhere/8 HTTP/1.1',
];

describe('metrics of the REST front', () => {
  let metrics: Metrics;
  let rest: RestHarness;

  beforeEach(async () => {
    metrics = new Metrics();
    rest = await RestHarness.open(
      {
        observer: metrics.http,
        limits: { writesPerMinute: 0, maxHeaderBytes: 4_096, headersTimeoutMs: 10_000 },
      },
      { around: (ports) => observedPorts(ports, metrics) },
    );
  });
  afterEach(() => rest.close());

  const scrape = async (): Promise<Family[]> => parseExposition(await metrics.text());

  it('counts a request under its route, method and status, and a refusal under its code', async () => {
    const credential = rest.credential;
    const poor = rest.fixture.secrets.get('poor') as string;
    await sendHttp(rest.origin, { operation: 'createGeneration', credential, key: 'a', body: PICTURE });
    await sendHttp(rest.origin, {
      operation: 'createGeneration',
      credential: poor,
      key: 'b',
      body: { ...PICTURE, parameters: { size: '96x64', n: 4 } },
    });
    await sendHttp(rest.origin, {
      operation: 'getGeneration',
      credential,
      id: rest.fixture.ids.get('own-generation') as string,
    });
    await sendHttp(rest.origin, {
      operation: 'getGeneration',
      credential,
      id: rest.fixture.ids.get('foreign-generation') as string,
    });
    const families = await scrape();
    const create = { route: '/api/v1/developer/generations', method: 'POST' };
    const get = { route: '/api/v1/developer/generations/:generation_id', method: 'GET' };
    const counted = (labels: Record<string, string>) => valueOf(families, 'darkroom_http_requests_total', labels);
    expect([
      counted({ ...create, status: '202' }),
      counted({ ...create, status: '402' }),
      counted({ ...get, status: '200' }),
      counted({ ...get, status: '404' }),
    ]).to.deep.equal([1, 1, 1, 1]);
    expect(counted({})).to.equal(4);
    expect(valueOf(families, 'darkroom_http_request_duration_seconds_count', create)).to.equal(2);
    expect(
      valueOf(families, 'darkroom_http_refusals_total', { route: create.route, code: 'CREDITS_INSUFFICIENT' }),
    ).to.equal(1);
    expect(valueOf(families, 'darkroom_http_refusals_total', { route: get.route, code: 'TASK_NOT_FOUND' })).to.equal(1);
    expect(valueOf(families, 'darkroom_http_refusals_total')).to.equal(2);
    expect(valueOf(families, 'darkroom_http_requests_in_flight')).to.equal(0);
  });

  it('counts the reason of a failed generation apart from faults of this service', async () => {
    const unreadable = new CannedProvider(Buffer.from('no picture'));
    const log = keptLog('trace');
    const api = await OpenAiHarness.open(
      { observer: metrics.http, logger: log.logger },
      { ports: { providers: connectedProviders({ canned: unreadable }) } },
    );
    try {
      await api.service.startWorker();
      const { status } = await api.create();
      expect(status).to.equal(500);
      const [, rule = ''] =
        /alert: DarkroomInternalErrors\s+expr: >-\s+sum\(rate\(\w+\{(.*?)\}/.exec(
          readFileSync(join(ROOT, 'deploy/observability/alerts.yaml'), 'utf8'),
        ) ?? [];
      expect(rule).to.equal('status=~"5..", failed=""');
      const answers = { route: '/v1/images/generations', status: '500' };
      const families = await scrape();
      expect(valueOf(families, 'darkroom_http_requests_total', { ...answers, failed: 'generation' })).to.equal(1);
      expect(valueOf(families, 'darkroom_http_requests_total', answers)).to.equal(1);
      expect(log.lines.filter(({ msg }) => msg === 'request').map(({ level }) => level)).to.deep.equal([30]);
    } finally {
      await api.close();
    }
  });

  it('has no label that a client could choose, whatever is requested', async () => {
    let sent = 0;
    const send: typeof sendHttp = (...of) => {
      sent += 1;
      return sendHttp(...of);
    };
    for (const vector of [...ACCESS_VECTORS, ...GENERATION_VECTORS, ...IDEMPOTENCY_VECTORS]) {
      if (vector.settings !== undefined || vector.steps.some((step) => 'event' in step)) continue;
      // Refusals leave nothing behind, so one fixture serves all of them.
      const isRefused = vector.steps.every((step) => 'code' in step && step.code !== 'OK');
      await playOn(
        vector,
        {
          client: { front: 'REST', send: (request) => send(rest.origin, request) },
          context: rest.harness.context,
          put: async () => 500,
          advance: async () => undefined,
        },
        isRefused ? rest.fixture : undefined,
      );
    }
    expect(valueOf(await scrape(), 'darkroom_http_requests_total')).to.equal(sent);
    expect(sent).to.be.greaterThan(40);
    await rest.harness.startWorker();
    for (const { requestLine = 'POST /api/v1/developer/generations HTTP/1.1', headers = [] } of Object.values(
      HTTP_VECTORS,
    ).flat()) {
      await exchange(
        rest.port,
        `${[requestLine, 'Host: x', 'Connection: close', ...headers].join('\r\n').slice(0, 20_000)}\r\n\r\n`,
      );
    }
    for (const requestLine of ODD_REQUESTS)
      await exchange(rest.port, `${requestLine}\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const text = await metrics.text();
    const strangers = parseExposition(text)
      .filter(({ name }) => name.startsWith('darkroom_'))
      .flatMap(({ samples }) => samples)
      .flatMap(({ name, labels }) => Object.entries(labels).map(([label, value]) => ({ name, label, value })))
      .filter(
        ({ label, value }) =>
          label !== 'le' && !(label === 'status' && /^[2-5]\d\d$/.test(value)) && !ALLOWED[label]?.includes(value),
      );
    expect(strangers).to.deep.equal([]);
    for (const secret of [...rest.fixture.accountIds, ...rest.fixture.ids.values(), ...rest.fixture.secrets.values()])
      expect(text).not.to.include(secret);
    expect(text).not.to.match(/[0-9a-f]{8}-[0-9a-f]{4}-/);
    expect(valueOf(parseExposition(text), 'darkroom_http_requests_in_flight')).to.equal(0);
  });

  it('counts connections that never became a request', async () => {
    await exchange(rest.port, 'NO HTTP\r\n\r\n');
    await exchange(rest.port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(8_000)}\r\n\r\n`);
    const families = await scrape();
    expect(valueOf(families, 'darkroom_http_connections_refused_total', { reason: 'malformed' })).to.equal(1);
    expect(valueOf(families, 'darkroom_http_connections_refused_total', { reason: 'headers_too_long' })).to.equal(1);
    expect(valueOf(families, 'darkroom_http_requests_total')).to.equal(0);
  });

  it('counts connections beyond the limit', async () => {
    const full = await serve(rest.harness, { observer: metrics.http, limits: { maxConnections: 1 } });
    const underWay = exchange(full.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n');
    await fetch(`${full.origin}/healthz`).catch(() => undefined);
    const refused = valueOf(await scrape(), 'darkroom_http_connections_refused_total', { reason: 'full' });
    await full.server.close(0);
    await underWay;
    expect(refused).to.be.at.least(1);
  });
});
