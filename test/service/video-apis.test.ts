// Goal: the examples for Veo, Seedance and MiniMax make videos as their pages say, from the command to the file: of words and of
// frames, each submitted once. Refusals are reported with their reason, rate limits are waited out, and
// `providers check` names a wrong key.
// Method: the started service with each example's configuration and catalog, against servers that answer as the vendors'
// documentation says. Only the pause between polls is shorter.
import { expect } from 'chai';
import { image } from '../fixtures/images.js';
import { mp4 } from '../fixtures/videos.js';
import type { FakeServer } from '../providers/fakes/fake-server.js';
import { MinimaxFake } from '../providers/fakes/minimax-fake.js';
import { SeedanceFake } from '../providers/fakes/seedance-fake.js';
import { VeoFake } from '../providers/fakes/veo-fake.js';
import { ProviderService } from './provider-service.js';

const KEY = 'test-key-of-the-vendor';
const JSON_TYPE = { 'content-type': 'application/json' };

interface Fake {
  readonly server: FakeServer;
  readonly base: string;
  video: Uint8Array;
  close(): Promise<void>;
}

interface Vendor {
  readonly name: 'veo' | 'seedance' | 'minimax';
  readonly model: string;
  readonly open: () => Promise<Fake>;
  readonly seconds: number;
  readonly params: readonly string[];
  /** The price of one video. */
  readonly credits: number;
  /** The body of the request for a text prompt, without that prompt. */
  readonly sent: object;
  /** The places of the frames in a body, each as base64 or as a data URL. */
  readonly frames: readonly [first: string, last: string];
  readonly refusals: Readonly<Record<string, string>>;
  /** An answer that limits the rate. */
  readonly limited: { readonly status: number; readonly body: object };
}

const VENDORS: readonly Vendor[] = [
  {
    name: 'veo',
    model: 'veo-3.1',
    open: () => VeoFake.open(KEY),
    seconds: 8,
    params: ['--param', 'aspect_ratio=9:16', '--param', 'seed=7'],
    credits: 320,
    sent: {
      instances: [{}],
      parameters: { durationSeconds: 8, resolution: '720p', aspectRatio: '9:16', seed: 7 },
    },
    frames: ['instances[0].image.bytesBase64Encoded', 'instances[0].lastFrame.bytesBase64Encoded'],
    refusals: {
      'forbidden': 'CONTENT_REJECTED_INPUT',
      'forbidden result': 'CONTENT_REJECTED_OUTPUT',
      'broken': 'INTERNAL_ERROR',
    },
    limited: { status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Slow down' } } },
  },
  {
    name: 'seedance',
    model: 'seedance-pro',
    open: () => SeedanceFake.open(KEY),
    seconds: 4,
    params: ['--param', 'duration_seconds=4', '--param', 'resolution=480p', '--param', 'with_sound=false'],
    credits: 40,
    sent: {
      model: 'seedance-1-5-pro-251215',
      content: [{ type: 'text' }],
      duration: 4,
      resolution: '480p',
      generate_audio: false,
      camera_fixed: false,
      watermark: false,
    },
    frames: ['content[1].image_url.url', 'content[2].image_url.url'],
    refusals: {
      'forbidden': 'CONTENT_REJECTED_INPUT',
      'forbidden picture': 'CONTENT_REJECTED_INPUT',
      'forbidden result': 'CONTENT_REJECTED_OUTPUT',
      'broken': 'INTERNAL_ERROR',
    },
    limited: { status: 429, body: { error: { code: 'RateLimitExceeded.EndpointRPMExceeded', message: 'Slow down' } } },
  },
  {
    name: 'minimax',
    model: 'hailuo-02',
    open: () => MinimaxFake.open(KEY),
    seconds: 6,
    params: ['--param', 'improve_prompt=false'],
    credits: 30,
    sent: { model: 'MiniMax-Hailuo-02', duration: 6, resolution: '768P', prompt_optimizer: false },
    frames: ['first_frame_image', 'last_frame_image'],
    refusals: {
      'forbidden': 'CONTENT_REJECTED_INPUT',
      'forbidden late': 'CONTENT_REJECTED_INPUT',
      'forbidden result': 'CONTENT_REJECTED_OUTPUT',
      'poor': 'PROVIDER_REJECTED',
      'broken': 'INTERNAL_ERROR',
    },
    limited: { status: 200, body: { task_id: '', base_resp: { status_code: 1002, status_msg: 'rate limit' } } },
  },
];

for (const vendor of VENDORS)
  describe(`the service on ${vendor.name}`, function suite() {
    this.timeout(60_000);
    const { model, params } = vendor;
    let fake: Fake;
    let example: ProviderService;
    const own = vendor.name.toUpperCase();
    const frame = { first: Buffer.alloc(0), last: Buffer.alloc(0) };

    before(async () => {
      fake = await vendor.open();
      fake.video = await mp4(10 * vendor.seconds);
      const providers = { [`${own}_BASE_URL`]: fake.base, [`${own}_API_KEY`]: KEY };
      example = await ProviderService.example(vendor.name, providers, (catalog) =>
        catalog.replace(/poll_interval_ms: \d+/, 'poll_interval_ms: 100'),
      );
      frame.first = Buffer.from(await image('png', 320, 320));
      frame.last = Buffer.from(await image('jpeg', 320, 320));
    });
    after(async () => {
      await example?.stop();
      await fake.close();
    });

    const made = (prompt: string, ...args: readonly string[]) => example.generate(prompt, model, ...args);
    const lastSent = () => {
      const posts = fake.server.requests.filter(({ of }) => of.includes('submit'));
      return JSON.parse(posts.at(-1)!.body.toString('utf8')) as object;
    };

    it('makes a video of words, with the parameters that were asked for', async () => {
      const task = await made('a lighthouse', ...params, '--out', 'words.mp4');
      expect([task.status, task.charged_credits]).to.deep.equal(['succeeded', vendor.credits]);
      expect(example.bytesOf(task).toString('latin1', 4, 8)).to.equal('ftyp');
      const text = JSON.stringify(lastSent());
      expect(text.split('a lighthouse')).to.have.length(2);
      const without = text.replace(/"(?:prompt|text)":"a lighthouse",?/, '').replaceAll(',}', '}');
      expect(JSON.parse(without)).to.deep.equal(vendor.sent);
      expect(fake.server.posts).to.equal(1);
    });

    it('makes a video between two frames', async () => {
      const first = example.fileOf('first.png', frame.first);
      const frames = ['--start-frame', first, '--end-frame', example.fileOf('last.jpg', frame.last)];
      expect(await made('night falls', ...params, ...frames, '--out', 'frames.mp4')).to.include({
        status: 'succeeded',
      });
      const [start, end] = vendor.frames;
      expect(lastSent()).to.have.nested.property(start).that.satisfies(beginsAs(frame.first));
      expect(lastSent()).to.have.nested.property(end).that.satisfies(beginsAs(frame.last));
    });

    for (const [prompt, code] of Object.entries(vendor.refusals))
      it(`reports ${code} for the prompt "${prompt}", and charges nothing`, async () => {
        const before = fake.server.posts;
        const task = await made(prompt, ...params);
        expect([task.status, task.error?.code, task.charged_credits]).to.deep.equal(['failed', code, 0]);
        expect(fake.server.posts - before, 'submissions').to.equal(1);
      });

    it('waits out a limited rate, of submissions and of polls', async () => {
      const { status, body } = vendor.limited;
      const before = fake.server.posts;
      for (const kind of ['submit', 'poll'] as const)
        fake.server.plan({ type: 'status', status, headers: JSON_TYPE, body: JSON.stringify(body) }, { of: kind });
      expect(await made('a lighthouse', ...params, '--out', 'late.mp4')).to.include({ status: 'succeeded' });
      expect(fake.server.posts - before, 'submissions').to.equal(2);
    });

    it('is tried without making anything, and names a wrong key and a missing one', async () => {
      const before = fake.server.posts;
      const check = async (environment: Readonly<Record<string, string>>) => {
        const { [`DARKROOM_PROVIDERS_${own}_API_KEY`]: _, ...base } = example.environment;
        const { code, stdout, stderr } = await example.service.run(['providers', 'check'], {
          environment: { ...base, ...environment },
        });
        return { code, text: stdout + stderr };
      };
      const right = await check({ [`DARKROOM_PROVIDERS_${own}_API_KEY`]: KEY });
      expect(right.code, right.text).to.equal(0);
      const wrong = await check({ [`DARKROOM_PROVIDERS_${own}_API_KEY`]: 'a-wrong-key' });
      expect(wrong.code).to.not.equal(0);
      expect(wrong.text).to.include('refuses the key; check api_key and auth.').and.not.include('a-wrong-key');
      expect((await check({})).text).to.include('asks for a key, and none is set');
      expect(fake.server.posts).to.equal(before);
    });

    if (vendor.name === 'seedance')
      it('cancels a task that waits at the vendor', async () => {
        const submitted = ['generate', 'queued', '--model', model, '--no-wait'];
        const task = await example.service.json<{ readonly generation_id: string }>(submitted);
        const tasks = (fake as SeedanceFake).tasks;
        while (tasks.at(-1)?.prompt !== 'queued') await fake.server.arrival({ of: 'poll' });
        await example.service.run(['cancel', task.generation_id]);
        while (tasks.at(-1)?.status === 'queued') await fake.server.arrival();
        expect(tasks.at(-1)?.status).to.equal('cancelled');
      });
  });

function beginsAs(bytes: Buffer): (text: string) => boolean {
  // The service cleans files that it takes: their first bytes are those of the same picture.
  const base64 = bytes.toString('base64').slice(0, 20);
  return (text) => text.replace(/^data:image\/(?:png|jpeg);base64,/, '').startsWith(base64);
}
