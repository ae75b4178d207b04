import { expect } from 'chai';
import sharp from 'sharp';
import { createKey } from '../../../../core/access/manage.js';
import { SCOPES } from '../../../../core/access/credential.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import { deleteGeneration } from '../../../../core/generation/end-generation.js';
import {
  type Generation,
  type Output,
  THUMBNAIL_SIDES_PX,
  type ThumbnailSide,
} from '../../../../core/generation/generation.js';
import {
  type OutputThumbnails,
  thumbnailKeysOf,
  thumbnailSignature,
  thumbnailSize,
  thumbnailsOf,
} from '../../../../core/generation/thumbnails.js';
import type { Previews } from '../../../../core/ports/media.js';
import { SharpPreviews } from '../../../../adapters/media/sharp-previews.js';
import { collected, streamOf } from '../../../fixtures/byte-streams.js';
import { until } from '../../../fixtures/clocks.js';
import { image } from '../../../fixtures/images.js';
import { Gate } from '../../../fixtures/intercepted.js';
import { newOwner, type Owner } from '../../../fixtures/memory-stores.js';
import { CannedProvider, oneProvider } from '../../../fixtures/scripted-provider.js';
import { uuidAt } from '../../../fixtures/stored-records.js';
import { keptLog, type KeptLog } from '../../../harness/kept-log.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { BASE, type RunningServer, serve } from '../host/rest-client.js';

// Goal: the signed address of a thumbnail gives a small picture to whoever has it until its day is over, and to nobody else, nor
// once the output is gone; a picture is decoded once for each size, and one that cannot be decoded only once.
// Method: addresses made by core for a generation of a service in this process, used, altered and used too late; a count of
// decodings and of reads; the log of the server, searched for signatures.

const DAY_MS = 86_400_000;
/** The maximum number of thumbnails that one account makes at the same time. */
const MAX_OF_ACCOUNT = 60;

interface Listed {
  readonly media_id: string;
  readonly thumbnails: readonly { readonly url: string; readonly width: number; readonly height: number }[];
}

describe('the signed address of a thumbnail', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  let log: KeptLog;
  let generation: Generation;
  let decoded: number;
  /** Replaces the previews for one test. */
  let thumbnail: Previews['thumbnail'];

  const caller = ({ accountId, appId }: Owner) => ({
    accountId,
    appId,
    credentialId: 'x',
    scopes: SCOPES,
  });

  beforeEach(async () => {
    const previews = new SharpPreviews();
    decoded = 0;
    thumbnail = previews.thumbnail.bind(previews);
    const counted: Previews = {
      ofImage: previews.ofImage.bind(previews),
      thumbnail: async (...args) => {
        decoded += 1;
        return thumbnail(...args);
      },
    };
    log = keptLog('trace');
    const provider = new CannedProvider(await image('png', 900, 600));
    harness = await openServiceHarness({ ports: { providers: oneProvider(provider), previews: counted } });
    running = await serve(harness, { logger: log.logger });
    await harness.startWorker();
    generation = await succeeded();
  });
  afterEach(async () => {
    await running.server.close(100);
    await harness.close();
  });

  async function succeeded(): Promise<Generation> {
    const owner = await newOwner(harness.context, 'Test', 1_000);
    const body = {
      model_key: 'picture',
      operation: 'image_generation',
      prompt: 'a lighthouse',
      parameters: { size: '96x64' },
    };
    const { generation: made } = await createGeneration(harness.context, caller(owner), 'key', body);
    const read = async () => {
      const record = await harness.context.generations.read(made.generationId);
      return record?.kind === 'generation' && record.settledAt !== undefined ? record : undefined;
    };
    await until(async () => (await read()) !== undefined);
    return (await read())!;
  }

  /** A generation of the same account whose outputs are copies of the same file. */
  async function insertWithOutputs(of: Generation, count: number): Promise<Generation> {
    const [output] = of.outputs as [Output];
    const form = { mediaType: output.contentType, maxBytes: output.byteSize };
    const bytes = await collected((await harness.objects.read(output.objectKey))!);
    const copies = Array.from({ length: count }, (_, n) => {
      return { ...output, mediaId: uuidAt(n), objectKey: `${output.objectKey}${n}` };
    });
    for (const { objectKey } of copies) await harness.objects.write(objectKey, streamOf(bytes), form);
    const record = { ...of, generationId: uuidAt(1_000), outputs: copies };
    await harness.context.generations.insert(record);
    return record;
  }

  const keyOf = ({ appId }: Pick<Owner, 'appId'>) =>
    createKey(harness.context, { appId, name: 'Test', scopes: ['generations:read'] });
  const address = (sidePx: ThumbnailSide = 320, of = generation): string =>
    thumbnailsOf(harness.context, of, running.origin)[0]!.urls[sidePx];
  const changed = (change: (url: URL) => void): string => {
    const url = new URL(address());
    change(url);
    return url.href;
  };
  const expectRefused = async (url: string, status: number, says: RegExp): Promise<void> => {
    const response = await fetch(url);
    expect(response.status, url).to.equal(status);
    expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    expect(await response.text()).to.match(says);
  };

  it('gives a WebP picture of each size, which no page can run and every page may read', async () => {
    for (const sidePx of THUMBNAIL_SIDES_PX) {
      const response = await fetch(address(sidePx), { redirect: 'error' });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(response.status).to.equal(200);
      const { format, width, height } = await sharp(bytes).metadata();
      const { widthPx, heightPx } = thumbnailSize(generation.outputs[0]!, sidePx);
      expect([format, width, height]).to.deep.equal(['webp', widthPx, heightPx]);
      const { headers } = response;
      expect(headers.get('content-type')).to.equal('image/webp');
      expect(headers.get('content-length')).to.equal(String(bytes.byteLength));
      expect(headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('access-control-allow-origin')).to.equal('*');
      expect(headers.get('cross-origin-resource-policy')).to.equal('cross-origin');
    }
  });

  it('may be cached as long as the address is valid, and no longer', async () => {
    const [, maxAge] = /^private, max-age=(\d+), immutable$/.exec(
      (await fetch(address())).headers.get('cache-control') ?? '',
    )!;
    const { expiresAt } = thumbnailsOf(harness.context, generation)[0]!;
    expect(expiresAt % DAY_MS).to.equal(0);
    const leftMs = expiresAt - harness.clock.now();
    expect(Number(maxAge) * 1_000)
      .to.be.at.most(leftMs + 1_000)
      .and.above(leftMs - 60_000);
  });

  it('stays the same for a UTC day, and is valid through the next one', async () => {
    const beginning = Math.ceil(harness.clock.now() / DAY_MS) * DAY_MS;
    harness.clock.advance(beginning - harness.clock.now());
    const first = address();
    harness.clock.advance(DAY_MS - 60_000);
    expect(address()).to.equal(first);
    harness.clock.advance(DAY_MS);
    expect(address()).not.to.equal(first);
    expect((await fetch(first)).status).to.equal(200);
    harness.clock.advance(60_000);
    await expectRefused(first, 403, /has expired/);
  });

  it('answers HEAD, and nothing to a browser that has it already', async () => {
    const head = await fetch(address(), { method: 'HEAD' });
    const whole = await fetch(address());
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, whole.headers.get('content-length')]);
    expect(await head.text()).to.equal('');
    harness.objects.read = () => Promise.reject(new Error('The object must not be read.'));
    const again = await fetch(address(), { headers: { 'If-None-Match': head.headers.get('etag') ?? '' } });
    expect(again.status).to.equal(304);
    // The seconds that are left, of which some may have passed.
    const maxAge = ({ headers }: Response): number =>
      Number(/^private, max-age=(\d+), immutable$/.exec(headers.get('cache-control') ?? '')?.[1]);
    expect(maxAge(again)).to.be.greaterThan(0).and.at.most(maxAge(whole));
  });

  it('is refused once it was changed in any part', async () => {
    const wrong = /exactly as it was answered/;
    const { generationId, outputs } = generation;
    const other = generationId.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    for (const change of [
      ({ searchParams }: URL) => searchParams.set('expires', '9999999999999'),
      ({ searchParams }: URL) => searchParams.delete('expires'),
      ({ searchParams }: URL) => searchParams.delete('signature'),
      ({ searchParams }: URL) => searchParams.set('signature', 'x'.repeat(32)),
      ({ searchParams }: URL) => searchParams.set('signature', 'é'.repeat(16)),
      (url: URL) => (url.pathname = url.pathname.replace(generationId, other)),
      (url: URL) => (url.pathname = url.pathname.replace(generationId, '%2e%2e%2fkey')),
      (url: URL) => (url.pathname = url.pathname.replace(outputs[0]!.mediaId, other)),
    ])
      await expectRefused(changed(change), 403, wrong);
    expect(decoded).to.equal(0);
  });

  it('is refused with the signature of another day, output or generation', async () => {
    const sent = (url: string) => new URL(url).searchParams.get('signature') ?? '';
    const other = await succeeded();
    const { generationId } = generation;
    const expires = new URL(address()).searchParams.get('expires') ?? '';
    const signatures = [
      sent(address(320, other)),
      thumbnailSignature(harness.context, { generationId, mediaId: other.outputs[0]!.mediaId, expires }),
    ];
    const today = address();
    harness.clock.advance(DAY_MS);
    const tomorrow = address();
    signatures.push(sent(tomorrow));
    for (const signature of signatures)
      await expectRefused(today.replace(/signature=.*/, `signature=${signature}`), 403, /exactly as it was answered/);
    expect(decoded).to.equal(0);
    for (const url of [today, tomorrow]) expect((await fetch(url)).status).to.equal(200);
  });

  it('is not found with another size, and not taken with another method', async () => {
    for (const size of ['321', '0320', '320px', '1e3', '-320', '320.0', '0', '99999999'])
      await expectRefused(
        changed((url) => (url.pathname = url.pathname.replace(/320$/, size))),
        404,
        /320, 640, 1280/,
      );
    expect((await fetch(address(), { method: 'POST' })).status).to.equal(405);
    expect(decoded).to.equal(0);
  });

  it('decodes a picture once for each size, also for requests at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(address())));
    const bodies = await Promise.all(answers.map(async (answer) => Buffer.from(await answer.arrayBuffer())));
    expect(bodies.every((body) => body.equals(bodies[0]!))).to.equal(true);
    await fetch(address());
    expect(decoded).to.equal(1);
    await fetch(address(640));
    expect(decoded).to.equal(2);
  });

  it('does not decode a picture again that has no thumbnail', async () => {
    for (const [reason, says] of [
      ['unreadable', /cannot be decoded/],
      ['too-large', /too much memory/],
    ] as const) {
      const before = decoded;
      generation = await succeeded();
      thumbnail = async () => reason;
      await expectRefused(address(), 404, says);
      await expectRefused(address(1280), 404, says);
      expect(decoded - before).to.equal(1);
    }
  });

  it('gives nothing of a file that is cut, is not a picture, or takes too much memory', async () => {
    const whole = Buffer.from(await image('png', 900, 600));
    const bomb = Buffer.from(whole);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    for (const [what, bytes, says] of [
      ['cut', whole.subarray(0, 5_000), /cannot be decoded/],
      ['empty', Buffer.alloc(0), /cannot be decoded/],
      ['noise', Buffer.alloc(whole.byteLength, 'x'), /cannot be decoded/],
      ['a bomb', bomb, /too much memory/],
    ] as const) {
      const of = await succeeded();
      const [output] = of.outputs;
      await harness.objects.remove(output!.objectKey);
      const form = { mediaType: 'image/png', maxBytes: whole.byteLength };
      await harness.objects.write(output!.objectKey, streamOf(bytes), form);
      const before = decoded;
      for (const sidePx of THUMBNAIL_SIDES_PX) await expectRefused(address(sidePx, of), 404, says);
      expect(decoded - before, what).to.equal(1);
    }
  });

  it('gives nothing, and leaves nothing, if the generation is deleted during the first request', async () => {
    const [{ objectKey }] = generation.outputs as [Output];
    const [isRead, goesOn] = [new Gate(), new Gate()];
    const make = thumbnail;
    thumbnail = async (...args) => {
      const made = await make(...args);
      isRead.open();
      await goesOn.wait();
      return made;
    };
    const asked = fetch(address());
    await isRead.wait();
    await deleteGeneration(harness.context, caller(generation), generation.generationId);
    goesOn.open();
    expect((await asked).status).to.equal(404);
    for (const key of [objectKey, ...thumbnailKeysOf(objectKey)])
      expect(await harness.objects.stat(key), key).to.equal(null);
  });

  it('is given, or refused for a moment, to each of many first requests of one account, and given to another', async () => {
    const [first, others] = [await insertWithOutputs(generation, 150), await succeeded()];
    const statusOf = async (url: string) => (await fetch(url)).status;
    const urls = thumbnailsOf(harness.context, first, running.origin).map((one) => one.urls[320]);
    const goesOn = new Gate();
    const make = thumbnail;
    thumbnail = async (...args) => {
      await goesOn.wait();
      return make(...args);
    };
    const statuses: number[] = [];
    const all = Promise.all(urls.map(async (url) => statuses.push(await statusOf(url))));
    await until(() => decoded === MAX_OF_ACCOUNT && statuses.length === urls.length - MAX_OF_ACCOUNT);
    expect(new Set(statuses)).to.deep.equal(new Set([503]));
    const other = statusOf(address(320, others));
    await until(() => decoded === MAX_OF_ACCOUNT + 1);
    goesOn.open();
    await all;
    expect(await other).to.equal(200);
    expect(statuses.filter((status) => status === 200)).to.have.length(MAX_OF_ACCOUNT);
    for (const url of urls) expect(await statusOf(url)).to.equal(200);
  });

  it('is unavailable for a moment while too many others wait, and while the store cannot be read', async () => {
    thumbnail = async () => 'busy';
    const busy = await fetch(address());
    expect([busy.status, busy.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(await busy.text()).to.match(/try again/);
    harness.objects.write = () => Promise.reject(new StoreUnavailable('The line broke.'));
    thumbnail = new SharpPreviews().thumbnail.bind(new SharpPreviews());
    expect((await fetch(address())).status).to.equal(503);
    expect(decoded).to.equal(2);
  });

  it('gives nothing once the generation is deleted, its file is gone, or its retention is over', async () => {
    const [kept, lost] = [address(), await succeeded()];
    await fetch(kept);
    await deleteGeneration(harness.context, caller(generation), generation.generationId);
    await expectRefused(kept, 404, /deleted or is no longer kept/);
    const last = await succeeded();
    const url = address(320, last);
    await harness.objects.remove(lost.outputs[0]!.objectKey);
    await expectRefused(address(320, lost), 404, /no longer kept/);
    harness.clock.advance(harness.context.settings.outputRetentionMs);
    await expectRefused(address(320, last), 404, /no longer kept/);
    await expectRefused(url, 403, /expired/);
  });

  it('is valid in every process of the installation', async () => {
    const other = await serve(harness);
    try {
      const { pathname, search } = new URL(address());
      expect((await fetch(other.origin + pathname + search)).status).to.equal(200);
    } finally {
      await other.server.close(100);
    }
  });

  it('is listed over REST with the size of the picture behind it, to its own App', async () => {
    const { secret } = await keyOf(generation);
    const path = `${running.origin}${BASE}/generations/${generation.generationId}/thumbnails`;
    const listed = (bearer: string) => fetch(path, { headers: { Authorization: `Bearer ${bearer}` } });
    const { data } = (await (await listed(secret)).json()) as {
      readonly data: { readonly outputs: readonly Listed[] };
    };
    const [{ sizes, mediaId, expiresAt }] = thumbnailsOf(harness.context, generation, running.origin) as [
      OutputThumbnails,
    ];
    const expires_at = new Date(expiresAt).toISOString();
    const thumbnails = sizes.map(({ url, widthPx: width, heightPx: height }) => ({ url, width, height, expires_at }));
    expect(data).to.deep.equal({ outputs: [{ media_id: mediaId, thumbnails }] });
    for (const { url, width, height } of data.outputs[0]!.thumbnails) {
      const shown = await sharp(Buffer.from(await (await fetch(url)).arrayBuffer())).metadata();
      expect([shown.width, shown.height]).to.deep.equal([width, height]);
    }
    const other = await keyOf(await newOwner(harness.context, 'Other', 0));
    expect(await (await listed(other.secret)).json()).to.have.property('code', 'TASK_NOT_FOUND');
    await deleteGeneration(harness.context, caller(generation), generation.generationId);
    expect(await (await listed(secret)).json()).to.have.property('code', 'GENERATION_JOB_NOT_FOUND');
  });

  it('is never in the log', async () => {
    const signature = new URL(address()).searchParams.get('signature') ?? 'none';
    await fetch(changed(({ searchParams }) => searchParams.set('expires', '1')));
    await fetch(`${address()}&more=1`);
    expect(log.lines.some(({ route }) => route === '/thumbnails/:generation_id/:media_id/:size')).to.equal(true);
    expect(log.texts.join('\n')).not.to.include(signature);
  });
});
