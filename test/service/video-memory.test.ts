// Goal: a video passes through the program, from its provider to the client that downloads it, and from a client that uploads it to
// its refusal, in memory that does not grow with its length.
// Method: the compiled program as a separate process, with a server that makes its videos as they are sent. A small and a large
// video pass; the peak resident size of the process is read from /proc for each.
import { expect } from 'chai';
import type { Context } from 'mocha';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { JsonObject } from '../../core/json.js';
import { type LargeFile, largeMp4 } from '../fixtures/large-media.js';
import { mp4Xmp, packetOf } from '../fixtures/marked-media.js';
import { peakResidentBytes, resetPeakResidentBytes, tellsResidentMemory } from '../fixtures/resident-memory.js';
import { sizeOf } from '../harness/run-sizes.js';
import { OpenAiFake } from '../providers/fakes/openai-fake.js';
import { bucketSettings, freshBucket } from '../servers/fresh-places.js';
import { orSkip, s3Server } from '../servers/servers.js';
import { EMBEDDED, type OpenLane } from './lanes.js';
import { type Client, LiveService } from './live-service.js';

const MIB = 1024 * 1024;
const SMALL_MIB = 8;
const LARGE_MIB = sizeOf('videoMebibytes');

const CATALOG = {
  version: 1,
  models: [
    {
      model_key: 'video',
      display_name: 'Video',
      modality: 'video',
      operations: ['video_generation'],
      description: 'Videos of any length.',
      input_schema: { type: 'object', additionalProperties: false, properties: {} },
      limits: {
        max_reference_uploads: 1,
        reference_roles: ['start_frame'],
        upload_media_types: ['image/png'],
        max_upload_bytes: 256 * MIB,
        max_outputs: 1,
        negative_prompt: false,
      },
      price: { version: '1', unit: 'video', credits_per_unit: 1, minimum_credits: 1, maximum_credits: 1 },
      provider: 'studio',
      provider_settings: { preset: 'vllm-omni', api: 'video' },
      queue_timeout_seconds: 600,
      run_timeout_seconds: 600,
      max_attempts: 1,
      concurrency: 1,
      cancel_floor_credits: 0,
      on_unknown_acceptance: 'fail',
      poll_interval_ms: 100,
    },
  ],
};

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<{ byteSize: number; sha256: string }> {
  const hash = createHash('sha256');
  let byteSize = 0;
  for await (const piece of bytes) {
    hash.update(piece);
    byteSize += piece.byteLength;
  }
  return { byteSize, sha256: hash.digest('hex') };
}

/** The limit of memory growth, and the number of measurements. */
const MOST_MIB = LARGE_MIB / 4;
const TIMES = 3;

interface Place {
  readonly name: string;
  /** Opens this set of adapters, or skips the suite. */
  open(suite: Context): Promise<OpenLane>;
}

const BUCKET: Place = {
  name: 'SQLite and minio',
  async open(suite) {
    const bucket = freshBucket(await orSkip(suite, s3Server('minio')));
    return {
      config: {
        stores: { database: 'sqlite', objects: 'minio', wake_ups: 'timers' },
        minio: bucketSettings(bucket),
      },
      remove: async () => bucket.remove(),
    };
  },
};

/** The video in its delivered form. */
async function* marked(video: LargeFile): AsyncGenerator<Uint8Array> {
  yield* video.stream();
  yield mp4Xmp(packetOf('trainedAlgorithmicMedia'));
}

for (const place of [EMBEDDED, BUCKET]) {
  describe(`the memory of videos on ${place.name}`, () => {
    let studio: OpenAiFake;
    let service: LiveService;
    let client: Client;

    before(async function () {
      if (!tellsResidentMemory) this.skip();
      studio = await OpenAiFake.open('vllm-omni');
      const lane = await place.open(this);
      service = await LiveService.prepare({
        config: {
          providers: { studio: { kind: 'openai', base_url: studio.base } },
          settings: { max_upload_bytes: 256 * MIB },
        },
        catalog: () => JSON.stringify(CATALOG),
        lane,
      });
      await service.server.start();
      client = service.client((await service.tenant(100)).secret);
    });
    after(async () => {
      await service?.remove();
      await studio?.close();
    });

    /** Generates and downloads it. */
    async function generate(name: string, video: LargeFile): Promise<void> {
      studio.videos.video = () => video.stream();
      const { data, message } = await client.create(name, 'video', {}, { operation: 'video_generation' });
      expect(data, message).to.have.property('generation_id');
      const task = await client.until(data['generation_id'] as string);
      expect(task, JSON.stringify(task)).to.include({ status: 'succeeded' });
      const [output] = task['outputs'] as JsonObject[];
      const answer = await fetch(output!['url'] as string);
      expect(await digestOf(answer.body!)).to.deep.equal(await digestOf(marked(video)));
    }

    /** Sends it as a picture, and completes that upload, which is refused. */
    async function upload(name: string, video: LargeFile): Promise<void> {
      const declared = {
        filename: 'video.png',
        media_type: 'image/png',
        byte_size: video.byteSize,
        role: 'start_frame',
      };
      const { data, message } = await client.request('POST', '/uploads', { key: `${name}-prepare`, body: declared });
      expect(data, message).to.have.property('upload_url');
      const headers = data['required_headers'] as Record<string, string>;
      const sent = request(data['upload_url'] as string, {
        method: 'PUT',
        headers: { ...headers, 'content-length': String(video.byteSize) },
      });
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      await pipeline(video.stream(), sent);
      const [answer] = await answered;
      answer.resume();
      expect(answer.statusCode).to.equal(200);
      const completed = await client.request('POST', `/uploads/${data['upload_id'] as string}/complete`, {
        key: `${name}-complete`,
        body: {},
      });
      expect(completed.message).to.equal('The file must be image/png, as was declared; it is video/mp4.');
    }

    /** How much memory the process had at most while a video passed. */
    async function peakOf(pass: Promise<void>): Promise<number> {
      const pid = service.server.pid!;
      resetPeakResidentBytes(pid);
      await pass;
      return peakResidentBytes(pid);
    }

    for (const [what, pass] of Object.entries({ generate, upload })) {
      it(`grows by less than a quarter of the ${LARGE_MIB} MiB of a video: ${what}`, async () => {
        const small = await largeMp4(SMALL_MIB * MIB);
        const large = await largeMp4(LARGE_MIB * MIB);
        // The first ones pay for code that was never run before.
        for (const name of ['first', 'second']) await pass(`${what}-${name}`, small);
        // A peak includes uncollected garbage, so the smallest growth is closest to the program's own.
        let least = Infinity;
        for (let time = 1; time <= TIMES && least >= MOST_MIB; time += 1) {
          const smallBytes = await peakOf(pass(`${what}-small-${time}`, small));
          const largeBytes = await peakOf(pass(`${what}-large-${time}`, large));
          console.log(`      ${Math.round(smallBytes / MIB)} MiB, then ${Math.round(largeBytes / MIB)} MiB at most`);
          least = Math.min(least, (largeBytes - smallBytes) / MIB);
        }
        expect(least).to.be.lessThan(MOST_MIB);
      });
    }
  });
}
