import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../../../../adapters/files/file-object-store.js';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import { MAX_BODY_BYTES } from '../../../../apps/http/host/http-context.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { RawConnections, receivedOn } from './raw-socket.js';
import { BASE, type RunningServer, sendHttp, serve } from './rest-client.js';

// Goal: a client that sends Expect: 100-continue is asked for its body only if the head of its request is acceptable
// (RFC 9110, section 10.1.1). Method: raw connections that hold the body back; the statuses that arrive are compared,
// and whether the connection stays usable.

describe('a request with Expect: 100-continue', () => {
  const connections = new RawConnections();
  let folder: string;
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  let credential: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-continue-'));
    const objects = await FileObjectStore.open({
      folder,
      clock: new SystemClock(),
      secret: new Uint8Array(32).fill(3),
      publicBaseUrl: () => running.origin,
    });
    harness = await openServiceHarness({ ports: { objects } });
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness, { signedObjects: objects.signedObjects, limits: { writesPerMinute: 3 } });
    credential = fixture.secrets.get('owner') as string;
  });
  afterEach(async () => {
    connections.close();
    await running.server.close(100);
    await harness.close();
    await rm(folder, { recursive: true });
  });

  const BODY = JSON.stringify(PICTURE);
  const headOf = (first: string, headers: Readonly<Record<string, string | number>>) =>
    `${first} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;
  const create = (headers: Readonly<Record<string, string | number>> = {}) =>
    headOf(`POST ${BASE}/generations`, {
      'Authorization': `Bearer ${credential}`,
      'Idempotency-Key': 'k',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(BODY),
      ...headers,
    });

  /** Sends a head without its body. */
  function send(head: string) {
    const socket = connections.open(running.port);
    const received = receivedOn(socket);
    socket.write(head);
    return {
      socket,
      received,
      statuses: () => [...received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status)),
      /** Resolves when this many responses, interim ones included, have begun. */
      async answered(count: number) {
        while (this.statuses().length < count) await new Promise((resolve) => setTimeout(resolve, 5));
        return this.statuses();
      },
    };
  }

  it('is asked for its body if nothing refuses it, and the connection stays open', async () => {
    const sent = send(create());
    expect(await sent.answered(1)).to.deep.equal([100]);
    sent.socket.write(BODY);
    expect(await sent.answered(2)).to.deep.equal([100, 202]);
    sent.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await sent.answered(3)).to.deep.equal([100, 202, 200]);
  });

  it('gets only the refusal if its head is refused, and the connection closes', async () => {
    const cases: readonly (readonly [what: string, head: string, status: number])[] = [
      ['without a credential', create({ Authorization: 'none' }), 401],
      ['with a key that is not valid', create({ Authorization: 'Bearer svc_live_x' }), 401],
      ['of another App', create({ 'X-App-Id': '01900000-0000-7000-8000-000000000000' }), 403],
      ['without an Idempotency-Key', create({ 'Idempotency-Key': '' }), 400],
      ['of another type', create({ 'Content-Type': 'text/plain' }), 415],
      ['to no route', headOf('POST /nowhere', { 'Content-Length': 5 }), 404],
      ['by another method', headOf(`PUT ${BASE}/credits`, { 'Content-Length': 5 }), 405],
    ];
    for (const [what, head, status] of cases) {
      // Each has a rate of its own, except those that spend none.
      await running.server.close(100);
      running = await serve(harness);
      const sent = send(head);
      await new Promise((resolve) => sent.socket.once('close', resolve));
      expect(sent.statuses(), what).to.deep.equal([status]);
      expect(sent.received(), what).to.match(/^Connection: close\r$/im);
    }
  });

  it('gets only the refusal if its body is declared too large, or its rate is spent', async () => {
    const large = send(create({ 'Content-Length': MAX_BODY_BYTES + 1 }));
    expect(await large.answered(1), 'too large').to.deep.equal([413]);
    const limited = send(create());
    expect(await limited.answered(1), 'rate').to.deep.equal([429]);
    expect(limited.received()).to.match(/^Connection: close\r$/im);
  });

  it('to a signed address is refused before its file is sent', async () => {
    const body = { filename: 'a.png', media_type: 'image/png', byte_size: 100, role: 'reference_image' };
    const { data } = await sendHttp(running.origin, { operation: 'prepareUpload', credential, key: 'p', body });
    const { upload_url: url } = data as { readonly upload_url: string };
    const { pathname, search } = new URL(url);
    const length = { 'Content-Type': 'image/png', 'Content-Length': 100 };
    const good = send(headOf(`PUT ${pathname}${search}`, length));
    expect(await good.answered(1), 'as signed').to.deep.equal([100]);
    const other = search.replace(/(?<=signature=.)./i, (one) => (one === 'a' ? 'b' : 'a'));
    expect(other).to.not.equal(search);
    expect(await send(headOf(`PUT ${pathname}${other}`, length)).answered(1), 'forged').to.deep.equal([403]);
    const chunked = { 'Content-Type': 'image/png', 'Transfer-Encoding': 'chunked' };
    expect(await send(headOf(`PUT ${pathname}${search}`, chunked)).answered(1), 'of unknown length').to.deep.equal([
      411,
    ]);
  });

  it('that has no body gets its final status alone', async () => {
    expect(await send(headOf('GET /healthz', {})).answered(1)).to.deep.equal([200]);
  });
});
