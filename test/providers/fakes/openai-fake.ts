import { mp4 } from '../../fixtures/videos.js';
import { image } from '../../fixtures/images.js';
import { FakeServer, type FakeAnswer, type FakeRequest, type FakeRoute } from './fake-server.js';
import { openAiError, type OpenAiVendor } from './openai-error.js';
import { ImagesFake } from './openai-images-fake.js';
import { VideosFake } from './openai-videos-fake.js';

/**
 * A server with the Images and the Videos API, as the documentation of OpenAI and of those who follow it describes them.
 * What a task meets is in its prompt: see `ImagesFake` and `VideosFake`.
 */
export class OpenAiFake {
  readonly images: ImagesFake;
  readonly videos: VideosFake;
  server!: FakeServer;

  private constructor(
    readonly vendor: OpenAiVendor,
    /** Without one, every key is taken. */
    readonly key: string | undefined,
    files: { readonly picture: Uint8Array; readonly video: Uint8Array },
  ) {
    this.images = new ImagesFake(vendor, files.picture);
    this.videos = new VideosFake(vendor, files.video);
  }

  static async open(vendor: OpenAiVendor = 'openai', key?: string): Promise<OpenAiFake> {
    const fake = new OpenAiFake(vendor, key, { picture: await image('png', 8, 8), video: await mp4() });
    fake.server = await FakeServer.open(fake.routes());
    fake.images.origin = fake.server.url;
    return fake;
  }

  /** With the path that the routes begin with. */
  get base(): string {
    return `${this.server.url}/v1`;
  }

  /** How many tasks it has taken. */
  get tasks(): number {
    return this.images.taken.length + this.videos.jobs.length;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private routes(): readonly FakeRoute[] {
    const { images, videos } = this;
    const route = (method: string, path: string, of: FakeRoute['of'] & string, handle: Handler): FakeRoute => ({
      method,
      path,
      of,
      handle: (request) => this.refusedKey(request) ?? handle(request),
    });
    return [
      route('POST', '/v1/images/generations', 'submit', (request) => images.generate(request)),
      route('POST', '/v1/images/edits', 'submit', (request) => images.edit(request)),
      route('GET', '/v1/images/:id/content', 'output', () => images.content()),
      route('POST', '/v1/videos', 'submit', (request) => videos.create(request)),
      route('GET', '/v1/videos/:id', 'poll', ({ params }) => videos.show(params['id'] ?? '')),
      route('DELETE', '/v1/videos/:id', 'cancel', ({ params }) => videos.remove(params['id'] ?? '')),
      route('GET', '/v1/videos/:id/content', 'output', ({ params }) => videos.content(params['id'] ?? '')),
      route('GET', '/v1/models', 'check', () => ({
        json: { object: 'list', data: [{ id: 'gpt-image-2', object: 'model' }] },
      })),
    ];
  }

  private refusedKey({ headers }: FakeRequest): FakeAnswer | undefined {
    if (this.key === undefined || headers.authorization === `Bearer ${this.key}`) return undefined;
    return openAiError(401, { type: 'invalid_request_error', code: 'invalid_api_key' });
  }
}

type Handler = (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>;
