// Goal: two processes that share MongoDB, an S3 store and Agenda are one service for OpenAI's clients: what one was asked
// for, the other gives, and a request that is repeated at the other is paid once, also where the first was killed.
// Method: the started program twice, with the library `openai`, and requests that are cut; after each test the books are
// verified, and the balance is compared with what was delivered.
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAI } from 'openai';
import sharp from 'sharp';
import type { JsonObject } from '../../../core/json.js';
import { ServedProcess } from '../../faults/served-process.js';
import { freePort } from '../../servers/free-port.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { DISTRIBUTED } from '../../service/lanes.js';
import type { Tenant } from '../../service/live-service.js';
import { ClientService } from './client-service.js';

const PICTURE = { model: 'sandbox-image', prompt: 'a lighthouse', size: '256x256' } as const;
const SLOW = { model: 'sandbox-test', prompt: 'a lighthouse', behaviour: 'slow', delay_ms: 2_000 };
const RETRY = { 'x-stainless-retry-count': '1' };

for (const lane of DISTRIBUTED.slice(0, sizeOf('sharedOpenAiLanes')))
  describe(`clients of OpenAI at two processes: ${lane.name}`, () => {
    let service: ClientService;
    let first: ServedProcess;
    let second: ServedProcess;
    let tenant: Tenant;
    before(async function open() {
      service = await ClientService.open({ lane: await lane.open(this), config: { settings: { lease_seconds: 5 } } });
      first = service.live.server;
      const port = await freePort();
      second = new ServedProcess(service.live.configFile, service.live.folder, `http://127.0.0.1:${port}`);
      second.environment = { DARKROOM_REST_PORT: String(port) };
      await second.start();
    });
    beforeEach(async () => {
      tenant = await service.tenant();
    });
    after(async () => {
      await second?.end('SIGKILL');
      await service?.close();
    });

    const clientAt = ({ url }: ServedProcess) => new OpenAI({ baseURL: `${url}/v1`, apiKey: tenant.secret });

    /** Asks a process for the slow picture; returns the id of the generation. */
    async function askSlowly({ url }: ServedProcess, headers = {}, signal?: AbortSignal): Promise<unknown> {
      const response = await fetch(`${url}/v1/images/generations`, {
        method: 'POST',
        headers: { 'Authorization': `Bearer ${tenant.secret}`, 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(SLOW),
        signal: signal ?? null,
      });
      const body = (await response.json()) as JsonObject;
      expect(body['data'], JSON.stringify(body['error'])).to.have.length(1);
      return (body['darkroom'] as JsonObject)['generation_id'];
    }

    /** The ids of the generations of this key, once there is one. */
    async function made({ url }: ServedProcess): Promise<unknown[]> {
      for (;;) {
        const response = await fetch(`${url}/api/v1/developer/generations`, {
          headers: { Authorization: `Bearer ${tenant.secret}` },
        });
        const { generations } = ((await response.json()) as { data: { generations: JsonObject[] } }).data;
        if (generations.length > 0) return generations.map((task) => task['generation_id']);
        await sleep(50);
      }
    }

    it('give the same pictures, addresses and videos', async () => {
      const { data = [] } = await clientAt(first).images.generate({ ...PICTURE, response_format: 'url' });
      const address = new URL(data[0]?.url ?? '');
      const files = await Promise.all(
        [first, second].map(({ url }) =>
          fetch(url + address.pathname + address.search).then((got) => got.arrayBuffer()),
        ),
      );
      const [one, other] = files.map((file) => Buffer.from(file));
      expect(one).to.deep.equal(other);

      const picture = new File([one as Buffer<ArrayBuffer>], 'picture.png', { type: 'image/png' });
      const hole = sharp({
        create: { width: 256, height: 256, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
      });
      const mask = new File([await hole.png().toBuffer()], 'mask.png', { type: 'image/png' });
      const edited = await clientAt(second).images.edit({ ...PICTURE, image: picture, mask });
      expect((await sharp(Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64')).metadata()).width).to.equal(256);

      const { id } = await clientAt(first).videos.create({
        model: 'sandbox-video',
        prompt: 'waves',
        seconds: '1' as '4',
      });
      const videos = clientAt(second).videos;
      while (!['completed', 'failed'].includes((await videos.retrieve(id)).status)) await sleep(200);
      const film = await videos.downloadContent(id);
      expect(Buffer.from(await film.arrayBuffer()).toString('latin1', 4, 8)).to.equal('ftyp');
      expect((await clientAt(first).videos.list()).data.map((video) => video.id)).to.deep.equal([id]);
      await service.expectPaid(tenant, 4 + 4 + 10);
    });

    for (const [how, headers] of [
      ['with the header', RETRY],
      ['without a header', {}],
    ] as const)
      it(`pay once for a request that is cut at one and repeated at the other, ${how}`, async () => {
        const gone = new AbortController();
        const cut = askSlowly(first, {}, gone.signal).catch(() => undefined);
        const ids = await made(second);
        gone.abort();
        await cut;
        expect([await askSlowly(second, headers)]).to.deep.equal(ids);
        expect(await made(first)).to.deep.equal(ids);
        await service.expectPaid(tenant, 1);
      });

    it('answer two requests with one picture where a proxy has repeated one that is still waited for', async () => {
      const waiting = askSlowly(first);
      await made(second);
      expect(await askSlowly(second, RETRY)).to.equal(await waiting);
      await service.expectPaid(tenant, 1);
    });

    it('make two pictures for two honest requests that are equal, one at each', async () => {
      const waiting = askSlowly(first);
      await made(second);
      expect(await askSlowly(second)).not.to.equal(await waiting);
      await service.expectPaid(tenant, 2);
    });

    for (const [how, headers, pauseMs] of [
      ['at once with the header', RETRY, 0],
      // The AI SDK does so. The process counts as alive until then.
      ['after 2 seconds without a header', {}, 2_000],
    ] as const)
      it(`pay once for a request whose process is killed while it waits, repeated ${how}`, async () => {
        const cut = askSlowly(first).catch(() => undefined);
        const ids = await made(second);
        await first.end('SIGKILL');
        await cut;
        await sleep(pauseMs);
        expect([await askSlowly(second, headers)]).to.deep.equal(ids);
        await first.start();
        expect(await made(first)).to.deep.equal(ids);
        await service.expectPaid(tenant, 1);
      });
  });
