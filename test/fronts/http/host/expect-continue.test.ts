import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../../../../adapters/files/file-object-store.js';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import { MAX_BODY_BYTES } from '../../../../apps/http/host/http-context.js';
import { beginSession, endSession } from '../../../../core/people/sessions.js';
import { newPerson } from '../../../fixtures/access-tokens.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { RawConnections, receivedOn } from './raw-socket.js';
import { BASE, type RunningServer, sendHttp, serve, servedPaths } from './rest-client.js';

// Goal: a client that sends Expect: 100-continue is asked for its body only if the head of its request is acceptable
// (RFC 9110, section 10.1.1). Method: raw connections that hold the body back; the statuses that arrive are compared,
// and whether the connection stays usable.

const JSON_BODY = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
/** A gate of signed addresses to which none leads. */
const SOME_GATE = { handle: () => Promise.resolve({ status: 403, headers: {} }) };

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
    `${first} HTTP/1.1\r\nExpect: 100-continue\r\n${Object.entries({ Host: 'x', ...headers })
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

  describe('of nobody who is known', () => {
    /** The requests for which nobody has to be known, and what of the body's type they need. */
    const ASKED = new Map([
      ['POST /sign-in', FORM],
      ['POST /sign-in/passkey/begin', JSON_BODY],
      ['POST /oauth/register', JSON_BODY],
      ['POST /oauth/token', FORM],
      ['POST /oauth/revoke', FORM],
      ['POST /oauth/device/code', FORM],
    ]);
    const people = { hasOperatorArea: true };
    beforeEach(async () => {
      await running.server.close(100);
      running = await serve(harness, { people, signedObjects: SOME_GATE, publicUrl });
    });
    // Passkeys need a name.
    const publicUrl = () => `http://localhost:${running.port}`;
    const first = async (method: string, path: string, type: string, headers: Record<string, string> = {}) => {
      const own = { Origin: publicUrl(), Host: new URL(publicUrl()).host };
      const sent = send(headOf(`${method} ${path}`, { ...own, 'Content-Type': type, 'Content-Length': 2, ...headers }));
      const [status] = await sent.answered(1);
      sent.socket.destroy();
      return status;
    };

    it('is asked for its body only where anybody may send one, on every route of every front', async () => {
      const patterns = servedPaths(harness, { people, signedObjects: SOME_GATE });
      expect(patterns).to.include.members([
        `${BASE}/generations`,
        `${BASE}/mcp`,
        '/console/api/password',
        '/console/api/operator/accounts',
        '/oauth/consent/:uid',
      ]);
      const asked = new Set<string>();
      for (const pattern of patterns)
        for (const method of ['POST', 'PUT', 'PATCH'])
          for (const type of [JSON_BODY, FORM]) {
            const path = pattern.replaceAll(/:\w+/g, '01900000-0000-7000-8000-000000000000').replace(/\{\*\w+\}/, 'x');
            const status = await first(method, path, type);
            if (status === 100) asked.add(`${method} ${path} ${type}`);
            else expect(status, `${method} ${path}`).to.be.within(200, 499);
          }
      expect([...asked]).to.have.members([...ASKED].map(([what, type]) => `${what} ${type}`));
    });

    it('is refused once the tries to sign in of its address are used up', async () => {
      for (const path of ['/sign-in/passkey/begin', '/sign-in']) {
        const type = ASKED.get(`POST ${path}`) as string;
        let status: number | undefined = 100;
        for (let tries = 0; tries < 30 && status === 100; tries += 1) status = await first('POST', path, type);
        expect(status, path).to.equal(429);
      }
    });

    it('is refused by the MCP server for the types that it takes, if it is a discovery', async () => {
      const path = `${BASE}/mcp`;
      const discovery = { 'Mcp-Method': 'server/discover' };
      expect(await first('POST', path, JSON_BODY, { ...discovery, Accept: 'text/html' })).to.equal(406);
      expect(await first('POST', path, JSON_BODY, { ...discovery, Accept: '*/*' })).to.equal(100);
    });
  });

  it('to the MCP server is refused for the types that it takes, once its sender is known', async () => {
    const message = (headers: Readonly<Record<string, string>>) =>
      send(create({ Host: '127.0.0.1', ...headers }).replace(`${BASE}/generations`, `${BASE}/mcp`)).answered(1);
    expect(await message({ Accept: 'text/html' })).to.deep.equal([406]);
    expect(await message({ Accept: 'text/html', Authorization: 'none' })).to.deep.equal([401]);
    expect(await message({ Accept: 'application/json' })).to.deep.equal([100]);
  });

  it('of a person is refused before its body if their session, rate or rights refuse it', async () => {
    await running.server.close(100);
    running = await serve(harness, { people: { hasOperatorArea: true } });
    const person = await newPerson(harness.context, fixture.accountIds[0] as string);
    const { secret, session } = await beginSession(harness.context, person, {
      method: 'password',
      userAgent: 'a test',
    });
    const post = (path: string, cookie = `darkroom_session=${secret}`) =>
      send(
        headOf(`POST /console/api${path}`, {
          'Origin': running.origin,
          'Cookie': cookie,
          'Content-Type': JSON_BODY,
          'Content-Length': 2,
        }),
      );
    expect(await post('/password').answered(1)).to.deep.equal([100]);
    expect(await post('/password', 'darkroom_session=x').answered(1)).to.deep.equal([401]);
    expect(await post('/operator/accounts').answered(1)).to.deep.equal([403]);
    const late = post('/password');
    expect(await late.answered(1)).to.deep.equal([100]);
    await endSession(harness.context, person, session.sessionId);
    late.socket.write('{}');
    expect(await late.answered(2), 'a session that ended while the body arrived').to.deep.equal([100, 401]);
    const other = await beginSession(harness.context, person, { method: 'password', userAgent: 'a test' });
    let status: number | undefined = 100;
    for (let count = 0; count < 70 && status === 100; count += 1)
      [status] = await post('/password', `darkroom_session=${other.secret}`).answered(1);
    expect(status).to.equal(429);
  });

  it('that has no body gets its final status alone', async () => {
    expect(await send(headOf('GET /healthz', {})).answered(1)).to.deep.equal([200]);
  });
});
