// Goal: the internal listener answers probes and scrapes of any process, nothing else, and no client can block it.
// Method: real listeners on free ports; a database that answers, refuses and hangs; hand-written requests.
import { expect } from 'chai';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  createInternalServer,
  type InternalServer,
  type InternalServerOptions,
} from '../../../../apps/http/internal/internal-server.js';
import { Metrics } from '../../../../apps/metrics/metrics.js';
import { singleFlight } from '../../../../apps/readiness.js';
import { parseExposition } from '../../../fixtures/exposition.js';
import { exchange, parseAnswer } from '../host/raw-socket.js';

describe('the internal listener', () => {
  const open: InternalServer[] = [];
  afterEach(() => Promise.all(open.splice(0).map((server) => server.close(0))));

  async function listening({
    port: wanted = 0,
    ...options
  }: Partial<InternalServerOptions> & { readonly port?: number } = {}): Promise<
    InternalServer & { readonly port: number; readonly origin: string }
  > {
    const server = createInternalServer({
      readiness: () => Promise.resolve(true),
      metrics: new Metrics(),
      ...options,
    });
    open.push(server);
    const { port } = await server.listen('127.0.0.1', wanted);
    return { ...server, port, origin: `http://127.0.0.1:${port}` };
  }

  it('reports alive and ready while the database answers, and alive when it does not', async () => {
    let answer = (): Promise<boolean> => Promise.resolve(true);
    const { origin } = await listening({ readiness: () => answer() });
    const statuses = async () => [(await fetch(`${origin}/livez`)).status, (await fetch(`${origin}/readyz`)).status];
    expect(await statuses()).to.deep.equal([200, 200]);
    answer = () => Promise.resolve(false);
    expect(await statuses()).to.deep.equal([200, 503]);
    answer = () => Promise.reject(new Error('away'));
    expect(await statuses()).to.deep.equal([200, 503]);
    expect(await (await fetch(`${origin}/livez`)).json()).to.deep.equal({ status: 'up' });
  });

  it('reports not ready once it is stopping, and still alive', async () => {
    const server = await listening();
    server.stopping();
    const { origin } = server;
    expect([(await fetch(`${origin}/livez`)).status, (await fetch(`${origin}/readyz`)).status]).to.deep.equal([
      200, 503,
    ]);
  });

  it('serves metrics in the Prometheus format, of the process too', async () => {
    const { origin } = await listening();
    const response = await fetch(`${origin}/metrics`);
    expect(response.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8');
    const names = parseExposition(await response.text()).map(({ name }) => name);
    expect(names).to.include.members([
      'darkroom_http_requests_total',
      'process_cpu_seconds_total',
      'darkroom_event_loop_delay_seconds',
      'process_resident_memory_bytes',
    ]);
  });

  it('serves no other page, and no other method', async () => {
    const { origin, port } = await listening();
    for (const path of ['/', '/metrics/', '/healthz', '/api/v1/developer/models', '/livez/../metrics2'])
      expect((await fetch(origin + path)).status, path).to.equal(404);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const refused = await fetch(`${origin}/metrics`, { method });
      expect([refused.status, refused.headers.get('allow')], method).to.deep.equal([405, 'GET, HEAD']);
    }
    expect((await fetch(`${origin}/metrics?name[]=up`)).status).to.equal(200);
    const head = parseAnswer(await exchange(port, 'HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'));
    expect([head.status, head.body]).to.deep.equal([200, '']);
    expect(Number(head.headers.get('content-length'))).to.be.greaterThan(1_000);
  });

  it('answers a request with a body and closes its connection', async () => {
    const { port } = await listening();
    const answer = parseAnswer(
      await exchange(port, `POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc`),
    );
    expect([answer.status, answer.headers.get('connection')]).to.deep.equal([405, 'close']);
  });

  it('refuses headers that are too long', async () => {
    const { port } = await listening();
    expect(
      parseAnswer(await exchange(port, `GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(9_000)}\r\n\r\n`))
        .status,
    ).to.equal(431);
  });

  it('limits its connections', async () => {
    const { port } = await listening();
    const sockets: Socket[] = [];
    while (sockets.length < 32) {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
    }
    // Connections are accepted in order, so all of the others were accepted.
    expect(await exchange(port, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')).to.equal('');
    for (const socket of sockets) socket.destroy();
  });

  it('refuses a port that is taken with one sentence that names the key', async () => {
    const { port } = await listening();
    const refusal: unknown = await listening({ port }).catch((error: unknown) => error);
    expect(refusal)
      .to.be.instanceOf(Error)
      .and.have.property('message')
      .that.equals(
        `The server cannot listen on port ${port} of 127.0.0.1, since another process does; choose another port by DARKROOM_INTERNAL_PORT, or by internal.port in darkroom.yaml, or another internal.host.`,
      );
  });

  it('finishes the current scrape when it closes, and aborts the rest after the grace', async () => {
    let tell: (text: string) => void = () => undefined;
    let isAsked: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const told = new Promise<string>((resolve) => {
      tell = resolve;
    });
    const slow = await listening({
      metrics: {
        contentType: 'text/plain',
        text: () => {
          isAsked();
          return told;
        },
      },
    });
    const underWay = fetch(`${slow.origin}/metrics`);
    await asked;
    const closed = slow.close(60_000);
    tell('slow\n');
    expect(await (await underWay).text()).to.equal('slow\n');
    await closed;

    const hanging = await listening({
      metrics: { contentType: 'text/plain', text: () => new Promise(() => undefined) },
    });
    const cut = fetch(`${hanging.origin}/metrics`).then(
      () => 'answered',
      () => 'cut',
    );
    await fetch(`${hanging.origin}/livez`);
    await hanging.close(20);
    expect(await cut).to.equal('cut');
  });

  it('answers a failing scrape, and the next one', async () => {
    let isBroken = true;
    const { origin } = await listening({
      metrics: {
        contentType: 'text/plain',
        text: async () => {
          if (isBroken) throw new Error('It broke.');
          return 'fine\n';
        },
      },
    });
    expect((await fetch(`${origin}/metrics`)).status).to.equal(500);
    isBroken = false;
    expect((await fetch(`${origin}/metrics`)).status).to.equal(200);
  });
});

describe('singleFlight', () => {
  it('checks once for all waiting callers, again afterwards, and treats silence as a no', async () => {
    let asked = 0;
    let answer: (is: boolean) => void = () => undefined;
    const ask = singleFlight(() => {
      asked += 1;
      return new Promise<boolean>((resolve) => {
        answer = resolve;
      });
    }, 20);
    const first = [ask(), ask(), ask()];
    answer(true);
    expect(await Promise.all(first)).to.deep.equal([true, true, true]);
    expect(asked).to.equal(1);
    expect(await ask(), 'nobody answers').to.equal(false);
    expect(asked).to.equal(2);
  });
});
