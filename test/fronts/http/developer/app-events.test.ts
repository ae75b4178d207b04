// Goal: a client follows all generations of its App by server-sent events through interruptions, and the stream ends with its
// credential and leaves nothing behind.
// Method: the REST front on memory adapters; streams are read by hand, cut and resumed, their key revoked.
import { expect } from 'chai';
import { CREDENTIAL_CACHE_MS } from '../../../../core/access/authenticate.js';
import { revokeKey } from '../../../../core/access/manage.js';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { until } from '../../../fixtures/until.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { BASE, type RunningServer, serve } from '../host/rest-client.js';

interface Received {
  readonly id: string;
  readonly type: string;
  readonly task: JsonObject;
}

/** A stream of events that is read as it comes, until it is cut or ends. */
class Stream {
  readonly received: Received[] = [];
  hasEnded = false;
  private readonly cutter = new AbortController();

  static async open(url: string, headers: Record<string, string>): Promise<Stream> {
    const stream = new Stream();
    const response = await fetch(url, { headers, signal: stream.cutter.signal });
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    void stream.read(response);
    return stream;
  }

  cut(): void {
    this.cutter.abort();
  }

  private async read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk as Uint8Array).toString();
        for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
          this.take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch {
      // It was cut.
    }
    this.hasEnded = true;
  }

  private take(frame: string): void {
    const [, id = '', type = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    if (data !== '') this.received.push({ id, type, task: (JSON.parse(data) as { readonly task: JsonObject }).task });
  }
}

describe('the events of an App over REST', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  const streams: Stream[] = [];

  beforeEach(async () => {
    harness = await openServiceHarness();
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness);
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.cut();
    await running.server.close(100);
    await harness.close();
  });

  const followed = () => harness.context.appWatch.followed;

  async function open(lastEventId?: string, kind = 'owner'): Promise<Stream> {
    const before = followed();
    const stream = await Stream.open(`${running.origin}${BASE}/events`, {
      authorization: `Bearer ${fixture.secrets.get(kind) ?? ''}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    });
    streams.push(stream);
    if (lastEventId === undefined) await until(() => followed() > before);
    return stream;
  }

  async function create(key: string): Promise<string> {
    const caller = await harness.authenticator.authenticate(fixture.secrets.get('owner'));
    return (await createGeneration(harness.context, caller, key, { ...PICTURE })).generation.generationId;
  }

  it('come for each generation from its creation to its end, and go on where they were cut', async () => {
    const first = await open();
    const one = await create('one');
    await until(() => first.received.length === 1);
    first.cut();
    await until(() => followed() === 0);
    const two = await create('two');
    await harness.startWorker();
    const second = await open(first.received[0]?.id);
    const ended = () => second.received.filter(({ type }) => type === 'ended').map(({ task }) => task['generation_id']);
    await until(() => ended().includes(one) && ended().includes(two));
    const typesOf = (id: string) =>
      second.received.filter(({ task }) => task['generation_id'] === id).map(({ type }) => type);
    expect(typesOf(one)[0], 'what was told is not told again').not.to.equal('queued');
    expect(typesOf(two)[0]).to.equal('queued');
    const end = second.received.find(({ type, task }) => type === 'ended' && task['generation_id'] === one);
    expect(end?.task['status']).to.equal('succeeded');
  });

  it('are of the App of the credential alone', async () => {
    const [own, strange] = [await open(), await open(undefined, 'stranger')];
    const id = await create('one');
    await until(() => own.received.length === 1);
    expect(own.received[0]?.task['generation_id']).to.equal(id);
    expect(strange.received).to.deep.equal([]);
  });

  it('end within seconds of the revocation of the key, and with the process', async () => {
    const caller = await harness.authenticator.authenticate(fixture.secrets.get('owner'));
    const stream = await open();
    await revokeKey(harness.context, caller.credentialId);
    harness.clock.advance(CREDENTIAL_CACHE_MS);
    await until(() => stream.hasEnded);
    await until(() => followed() === 0);
    const other = await open(undefined, 'stranger');
    await running.server.close(5_000);
    await until(() => other.hasEnded);
    expect(followed()).to.equal(0);
  });
});
