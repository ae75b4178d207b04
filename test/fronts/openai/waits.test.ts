import { expect } from 'chai';
import type { Socket } from 'node:net';
import { CREDENTIAL_CACHE_MS } from '../../../core/access/authenticate.js';
import { revokeKey } from '../../../core/access/manage.js';
import { type Caller, SCOPES } from '../../../core/access/credential.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import type { JsonObject } from '../../../core/json.js';
import { until } from '../../fixtures/clocks.js';
import { parseAnswer, RawConnections, receivedOn } from '../http/host/raw-socket.js';
import { GENERATIONS, OpenAiHarness, PICTURE, SHORT_WAITS } from './openai-harness.js';

// Goal: a request that waits keeps its status while it can, then stays alive with white space or comments, and ends so
// that no client and no proxy takes a failure for a success; nothing of it stays behind, however it ends.
// Method: raw connections to the front, with short times for the phases of a wait; generations are held by their provider
// until the test ends them.

const HELD: JsonObject = { ...PICTURE, model: 'picture-held' };
const [HEAD_END, LONG_MS] = ['\r\n\r\n', 60_000];

describe('a request that waits for its pictures', () => {
  let api: OpenAiHarness;
  const connections = new RawConnections();

  const open = async (options: Parameters<typeof OpenAiHarness.open>[0] = {}): Promise<void> => {
    api = await OpenAiHarness.open({ openAiWaits: SHORT_WAITS, ...options });
  };
  const work = () => api.service.startWorker();
  afterEach(async () => {
    connections.close();
    await until(() => api.context.generationWatch.followed === 0);
    await api.close();
    const room = Array.from({ length: 5_000 }, () => api.context.lastingCalls.tryWait(callerOf('x')));
    expect(
      room.every((leave) => leave !== undefined),
      'all places are free again',
    ).to.equal(true);
  });

  interface Raw {
    readonly socket: Socket;
    readonly received: () => string;
    /** How the connection ended. */
    readonly ended: Promise<'closed' | 'reset'>;
  }

  /** Sends a request on a connection of its own. */
  function send(body: JsonObject, { version = '1.1', credential = api.secret() } = {}): Raw {
    const socket = connections.open(api.running.port);
    const text = JSON.stringify(body);
    const ended = new Promise<'closed' | 'reset'>((resolve) => {
      let isReset = false;
      socket.on('error', (error: NodeJS.ErrnoException) => (isReset ||= error.code === 'ECONNRESET'));
      socket.on('close', () => resolve(isReset ? 'reset' : 'closed'));
    });
    const received = receivedOn(socket);
    socket.write(
      `POST ${GENERATIONS} HTTP/${version}\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${credential}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return { socket, received, ended };
  }

  const callerOf = (credentialId: string): Caller => ({ ...api.owner, credentialId, scopes: SCOPES });
  const callerOfSecret = () => api.service.authenticator.authenticate(api.secret());
  const onlyId = async (): Promise<string> => {
    await until(async () => (await api.generations()).length === 1);
    return (await api.generations())[0]?.generationId ?? '';
  };
  const cancel = async (): Promise<void> => {
    await cancelGeneration(api.context, callerOf('x'), await onlyId());
  };
  const headOf = async ({ received }: Raw): Promise<string> => {
    await until(() => received().includes(HEAD_END));
    return received().split(HEAD_END)[0] ?? '';
  };
  /** The part of the body that has arrived. */
  const bodyOf = ({ received }: Raw): string => {
    const [head = '', ...rest] = received().split(HEAD_END);
    const body = rest.join(HEAD_END);
    return head.includes('Transfer-Encoding: chunked') ? withoutChunks(body) : body;
  };

  it('is answered with a status of its own while nothing was sent', async () => {
    await open({ openAiWaits: { ...SHORT_WAITS, silentMs: LONG_MS } });
    const raw = send(HELD);
    await onlyId();
    expect(raw.received()).to.equal('');
    await cancel();
    expect(await raw.ended).to.equal('closed');
    const { status, headers, body } = parseAnswer(raw.received());
    expect([status, headers.get('x-should-retry')]).to.deep.equal([400, 'false']);
    expect(body).to.include('"generation_cancelled"');
  });

  it('is kept alive by white space, and then answered with JSON', async () => {
    for (const version of ['1.1', '1.0']) {
      await open();
      const raw = send(PICTURE, { version });
      const head = (await headOf(raw)).toLowerCase();
      expect(head).to.match(/^http\/1\.1 200 ok\r\n/);
      expect(head).to.include('\r\nx-accel-buffering: no\r\n').and.to.include('\r\ncache-control: no-store\r\n');
      expect(head).to.include(`\r\ndarkroom-generation-id: ${await onlyId()}\r\n`);
      await until(() => bodyOf(raw).length >= 3);
      expect(bodyOf(raw)).to.match(/^ +$/);
      await work();
      expect(await raw.ended).to.equal('closed');
      expect(JSON.parse(bodyOf(raw))).to.have.nested.property('darkroom.charged_credits', 10);
      await api.expectPaid(10);
      if (version === '1.1') await api.close();
    }
  });

  it('is cut in the middle of the reason when it fails after the head', async () => {
    for (const version of ['1.1', '1.0']) {
      await open();
      const raw = send(HELD, { version });
      await headOf(raw);
      await cancel();
      expect(await raw.ended).to.equal('reset');
      const text = bodyOf(raw).trimStart();
      expect(() => JSON.parse(text) as unknown).to.throw();
      if (text !== '') expect(JSON.parse(`${text}}`)).to.have.nested.property('error.code', 'generation_cancelled');
      const again = await api.create(HELD);
      expect([again.status, again.error['code']], 'the reason, for who asks again').to.deep.equal([
        400,
        'generation_cancelled',
      ]);
      await api.expectPaid(0);
      if (version === '1.1') await api.close();
    }
  });

  it('is cut after the longest wait; its generation continues, and an equal request waits for it', async () => {
    await open();
    const raw = send(PICTURE);
    expect(await raw.ended).to.equal('reset');
    const again = send(PICTURE);
    await headOf(again);
    await work();
    expect(await again.ended).to.equal('closed');
    expect(JSON.parse(bodyOf(again))).to.have.property('data');
    expect(await api.generations()).to.have.length(1);
    await api.expectPaid(10);
  });

  it('is refused for a create that its provider delays, if its credential is revoked meanwhile', async () => {
    await open();
    let isDelayed = false;
    const acceptanceDelayMs = () => {
      isDelayed = true;
      return 300;
    };
    Object.assign(api.context.providers.find('canned') as object, { acceptanceDelayMs });
    const answer = api.create();
    await until(() => isDelayed);
    await revokeKey(api.context, (await callerOfSecret()).credentialId);
    api.service.clock.advance(CREDENTIAL_CACHE_MS);
    const { status, error } = await answer;
    expect([status, error['code']]).to.deep.equal([401, 'invalid_api_key']);
    expect(await api.generations()).to.deep.equal([]);
  });

  for (const phase of ['before', 'after'] as const) {
    it(`ends ${phase} the head when its credential is revoked`, async () => {
      await open({ openAiWaits: phase === 'before' ? { silentMs: LONG_MS } : { ...SHORT_WAITS, mostMs: LONG_MS } });
      const raw = send(HELD);
      await onlyId();
      if (phase === 'after') await headOf(raw);
      await revokeKey(api.context, (await callerOfSecret()).credentialId);
      api.service.clock.advance(CREDENTIAL_CACHE_MS);
      expect(await raw.ended).to.equal(phase === 'before' ? 'closed' : 'reset');
      if (phase === 'before') expect(parseAnswer(raw.received()).body).to.include('"invalid_api_key"');
    });

    it(`ends ${phase} the head when the process stops, and is repeated`, async () => {
      await open({ openAiWaits: phase === 'before' ? { silentMs: LONG_MS } : { ...SHORT_WAITS, mostMs: LONG_MS } });
      const raw = send(HELD);
      await onlyId();
      if (phase === 'after') await headOf(raw);
      const closed = api.running.server.close(30_000);
      expect(await raw.ended).to.equal(phase === 'before' ? 'closed' : 'reset');
      await closed;
      if (phase === 'after') return;
      const { status, headers, body } = parseAnswer(raw.received());
      expect([status, headers.get('retry-after'), headers.get('connection')]).to.deep.equal([503, '1', 'close']);
      expect(body).to.include('"service_unavailable"');
    });

    it(`leaves nothing behind when its client goes ${phase} the head`, async () => {
      await open({
        openAiWaits: { ...SHORT_WAITS, ...(phase === 'before' ? { silentMs: LONG_MS } : {}), mostMs: LONG_MS },
      });
      const raw = send(HELD);
      await onlyId();
      if (phase === 'after') await headOf(raw);
      raw.socket.destroy();
      await until(() => api.context.generationWatch.followed === 0);
      expect((await api.generations())[0]?.status, 'a client that leaves cancels nothing').to.equal('queued');
    });
  }

  it('is refused before its create where nobody else may wait', async () => {
    await open();
    const caller = await callerOfSecret();
    const leave = Array.from({ length: 5_000 }, () => api.context.lastingCalls.follow(caller));
    const refused = await api.create();
    expect([refused.status, refused.error['code']]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(refused.headers.get('retry-after')).to.equal('5');
    expect(await api.generations()).to.have.length(0);
    for (const one of leave) one();
  });

  it('has its place from its create on, whoever else comes in the meantime', async () => {
    await open();
    const caller = await callerOfSecret();
    const leave = Array.from({ length: 4_999 }, () => api.context.lastingCalls.follow(caller));
    const raw = send(PICTURE);
    await onlyId();
    expect((await api.create({ ...PICTURE, seed: 1 })).status).to.equal(429);
    await headOf(raw);
    await work();
    expect(await raw.ended).to.equal('closed');
    expect(JSON.parse(bodyOf(raw))).to.have.property('data');
    for (const one of leave) one();
  });

  describe('as a stream', () => {
    const STREAM = { stream: true };

    it('begins at once, and is kept alive by comments', async () => {
      await open({ openAiWaits: { ...SHORT_WAITS, mostMs: LONG_MS } });
      const raw = send({ ...PICTURE, ...STREAM });
      expect((await headOf(raw)).toLowerCase()).to.include('\r\nx-accel-buffering: no\r\n');
      await until(() => raw.received().split(': \n\n').length > 3);
      await work();
      expect(await raw.ended).to.equal('closed');
      expect(raw.received()).to.match(
        /event: image_generation\.completed\ndata: \{"type":"image_generation.completed",/,
      );
      await api.expectPaid(10);
    });

    it('receives a failure as an event, so that an equal request creates again', async () => {
      await open({ openAiWaits: { ...SHORT_WAITS, mostMs: LONG_MS } });
      const raw = send({ ...HELD, ...STREAM });
      await headOf(raw);
      await cancel();
      expect(await raw.ended).to.equal('closed');
      const [, data = ''] = /event: error\ndata: (.*)\n\n/.exec(raw.received()) ?? [];
      expect(JSON.parse(data)).to.deep.equal({
        error: {
          message: 'The generation was cancelled.',
          type: 'invalid_request_error',
          param: null,
          code: 'generation_cancelled',
        },
      });
      send({ ...HELD, ...STREAM });
      await until(async () => (await api.generations()).length === 2);
    });

    it('ends with an event after the longest wait, and the same request waits on', async () => {
      await open();
      const raw = send({ ...PICTURE, ...STREAM });
      expect(await raw.ended).to.equal('closed');
      expect(raw.received()).to.match(/event: error\ndata: \{"error":\{.*"code":"generation_timeout"\}\}\n\n/);
      await work();
      const again = send({ ...PICTURE, ...STREAM });
      expect(await again.ended).to.equal('closed');
      expect(again.received()).to.include('event: image_generation.completed');
      await api.expectPaid(10);
    });

    it('ends with an event when its credential is revoked', async () => {
      await open({ openAiWaits: { ...SHORT_WAITS, mostMs: LONG_MS } });
      const raw = send({ ...HELD, ...STREAM });
      await headOf(raw);
      await revokeKey(api.context, (await callerOfSecret()).credentialId);
      api.service.clock.advance(CREDENTIAL_CACHE_MS);
      expect(await raw.ended).to.equal('closed');
      expect(raw.received()).to.match(/event: error\ndata: .*"code":"invalid_api_key"/);
    });
  });
});

/** The content of a body in chunks, the last of which may have arrived in part. */
function withoutChunks(body: string): string {
  const [, size, rest] = /^([0-9a-f]+)\r\n([^]*)$/.exec(body) ?? [];
  if (size === undefined || rest === undefined) return '';
  const length = Number.parseInt(size, 16);
  return rest.slice(0, length) + withoutChunks(rest.slice(length + 2));
}
