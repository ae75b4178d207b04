import { image } from '../../fixtures/images.js';
import { mp4 } from '../../fixtures/videos.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { MaskUnusable, readByOpenAi, type ReadMask } from './read-masks.js';
import { VendorFake } from './vendor-fake.js';

/** The vendor whose documentation the fake follows where they differ. */
export type OpenAiVendor = 'openai' | 'localai' | 'vllm-omni' | 'sglang';

export interface ErrorBody {
  readonly type: string;
  readonly code: string | null;
  readonly param?: string;
  readonly moderation_details?: { readonly moderation_stage: string; readonly categories: readonly string[] };
}

export function openAiError(status: number, { param, ...error }: ErrorBody): FakeAnswer {
  return { status, json: { error: { message: 'Words of the server.', param: param ?? null, ...error } } };
}

/** The fields that each vendor documents for pictures; OpenAI refuses others, and the rest ignore them. */
const OPENAI_FIELDS = new Set(
  'model prompt n size quality background moderation output_format output_compression input_fidelity user stream partial_images mask'.split(
    ' ',
  ),
);

export interface TakenImages {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The reference files, with the names of their fields. */
  readonly files: readonly {
    readonly field: string;
    readonly name: string;
    readonly type: string;
    readonly bytes: Buffer;
  }[];
}

/**
 * The Images API. The prompt decides: `forbidden` and `forbidden result` meet the content policy, `fewer` delivers one
 * picture less, `nothing` none, `by address` delivers addresses, and anything else pictures in base64.
 */
export class ImagesFake {
  readonly taken: TakenImages[] = [];
  /** The result for each mask and the first picture. */
  readonly masks: ReadMask[] = [];
  origin = '';
  /** Replaces the pictures' own URLs. */
  address: string | undefined;
  /** Makes the picture by the prompt; replaces `picture`. */
  paint?: (prompt: string) => Uint8Array;

  constructor(
    private readonly vendor: OpenAiVendor,
    /** The picture that it delivers for every request. */
    public picture: Uint8Array,
  ) {}

  generate(request: FakeRequest): FakeAnswer {
    const fields = request.json() as Record<string, unknown>;
    return this.make({ fields, files: [] });
  }

  async edit(request: FakeRequest): Promise<FakeAnswer> {
    const { fields, files } = await formOf(request);
    if (files.length === 0) return openAiError(400, { type: 'invalid_request_error', code: null, param: 'image' });
    return (await this.refusedMask(files)) ?? this.make({ fields, files });
  }

  content(): FakeAnswer {
    return { headers: { 'content-type': 'image/png' }, body: this.picture };
  }

  private async refusedMask(files: TakenImages['files']): Promise<FakeAnswer | undefined> {
    const mask = files.find(({ field }) => field === 'mask');
    const picture = files.find(({ field }) => field.startsWith('image'));
    if (this.vendor !== 'openai' || mask === undefined || picture === undefined) return undefined;
    try {
      this.masks.push(await readByOpenAi(picture.bytes, mask.bytes));
      return undefined;
    } catch (error) {
      if (!(error instanceof MaskUnusable)) throw error;
      return openAiError(400, { type: 'invalid_request_error', code: null, param: 'mask' });
    }
  }

  private make(task: TakenImages): FakeAnswer {
    const refused = this.refusal(task.fields);
    if (refused !== undefined) return refused;
    this.taken.push(task);
    const { prompt, n = 1, output_format: format = 'png' } = task.fields;
    const count = prompt === 'nothing' ? 0 : Number(n) - (prompt === 'fewer' ? 1 : 0);
    const data = Array.from({ length: count }, (_, index) => this.entry(String(prompt), index));
    return { json: { created: 1_763_913_600, data, ...this.about(String(format)) } };
  }

  private refusal(fields: Readonly<Record<string, unknown>>): FakeAnswer | undefined {
    const { prompt, model } = fields;
    if (typeof prompt !== 'string')
      return openAiError(400, { type: 'invalid_request_error', code: 'missing_required_parameter', param: 'prompt' });
    if (prompt === 'forbidden' || prompt === 'forbidden result') return forbidden(prompt);
    if (this.vendor !== 'openai') return undefined;
    if (model !== 'gpt-image-2')
      return openAiError(404, { type: 'invalid_request_error', code: 'model_not_found', param: 'model' });
    const unknown = Object.keys(fields).find((field) => !OPENAI_FIELDS.has(field));
    return unknown === undefined
      ? undefined
      : openAiError(400, { type: 'invalid_request_error', code: 'unknown_parameter', param: unknown });
  }

  private entry(prompt: string, index: number): object {
    if (prompt === 'by address')
      return { b64_json: null, url: this.address ?? `${this.origin}/v1/images/${index}/content` };
    return { b64_json: Buffer.from(this.paint?.(prompt) ?? this.picture).toString('base64'), revised_prompt: null };
  }

  private about(format: string): object {
    const counted = this.vendor === 'openai' ? { total_tokens: 1_100, input_tokens: 44, output_tokens: 1_056 } : {};
    switch (this.vendor) {
      case 'openai':
        return { background: 'opaque', output_format: format, quality: 'low', size: '1024x1024', usage: counted };
      case 'localai':
        return { usage: { total_tokens: 0, input_tokens: 0, output_tokens: 0 } };
      case 'sglang':
        return { id: 'image-1', inference_time_s: 1.2345, peak_memory_mb: 1024.5 };
      case 'vllm-omni':
        return { output_format: null, size: null };
    }
  }
}

/** The texts and the files of a form. */
async function formOf(request: FakeRequest): Promise<TakenImages> {
  const fields: Record<string, unknown> = {};
  const files: TakenImages['files'][number][] = [];
  for (const [field, value] of await request.form()) {
    if (typeof value === 'string') fields[field] = value;
    else files.push({ field, name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) });
  }
  return { fields, files };
}

function forbidden(prompt: string): FakeAnswer {
  const stage = prompt === 'forbidden' ? 'input' : 'output';
  return openAiError(400, {
    type: 'image_generation_user_error',
    code: 'moderation_blocked',
    moderation_details: { moderation_stage: stage, categories: ['violence'] },
  });
}

export interface FakeJob {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: readonly { readonly field: string; readonly name: string; readonly bytes: Buffer }[];
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  progress: number;
  error: { readonly code: string | number; readonly message: string } | null;
  /** The server has forgotten it. */
  isRemoved: boolean;
}

/**
 * The Videos API. A job begins at the first poll and ends at the second. The prompt decides how: `endless` never ends,
 * `fails`, `forbidden result` and `invalid` fail, `stubborn` cannot be stopped at once; anything else completes.
 */
export class VideosFake {
  readonly jobs: FakeJob[] = [];

  constructor(
    private readonly vendor: OpenAiVendor,
    /** The video that it delivers for every request, or a function that streams it. */
    public video: Uint8Array | (() => AsyncIterable<Uint8Array>),
  ) {}

  async create(request: FakeRequest): Promise<FakeAnswer> {
    const { fields, files } = await this.received(request);
    if (typeof fields['prompt'] !== 'string') return this.problem(422, 'prompt is required');
    if (fields['prompt'] === 'forbidden')
      return openAiError(400, { type: 'invalid_request_error', code: 'moderation_blocked' });
    const job: FakeJob = {
      id: `video_${String(this.jobs.length).padStart(8, '0')}`,
      fields,
      files,
      status: 'queued',
      progress: 0,
      error: null,
      isRemoved: false,
    };
    this.jobs.push(job);
    return { json: this.shown(job) };
  }

  show(id: string): FakeAnswer {
    const job = this.find(id);
    if (job === undefined) return this.problem(404, 'Video not found');
    advance(job);
    // vLLM-Omni answers a failed job with the status of an error.
    const status = this.vendor === 'vllm-omni' && job.status === 'failed' ? 500 : 200;
    return { status, json: this.shown(job), headers: { 'openai-poll-after-ms': '250' } };
  }

  remove(id: string): FakeAnswer {
    const job = this.find(id);
    if (job === undefined) return this.problem(404, 'Video not found');
    const isOpen = job.status === 'queued' || job.status === 'in_progress';
    if (isOpen && this.vendor === 'openai')
      return openAiError(409, { type: 'invalid_request_error', code: 'video_not_deletable' });
    if (isOpen && job.fields['prompt'] === 'stubborn')
      return this.problem(409, 'Cancellation in progress. Please try again later.');
    job.isRemoved = true;
    return { json: { id, deleted: true, object: 'video.deleted' } };
  }

  content(id: string): FakeAnswer {
    const job = this.find(id);
    if (job?.status !== 'completed') return this.problem(404, 'Video not found');
    return {
      headers: { 'content-type': 'video/mp4' },
      body: typeof this.video === 'function' ? this.video() : this.video,
    };
  }

  private find(id: string): FakeJob | undefined {
    return this.jobs.find((job) => job.id === id && !job.isRemoved);
  }

  private async received(request: FakeRequest): Promise<Pick<FakeJob, 'fields' | 'files'>> {
    if (request.headers['content-type'] === 'application/json')
      return { fields: request.json() as Record<string, unknown>, files: [] };
    const { fields, files } = await formOf(request);
    return { fields, files: files.map(({ type: _, ...file }) => file) };
  }

  private problem(status: number, detail: string): FakeAnswer {
    return this.vendor === 'openai'
      ? openAiError(status, { type: 'invalid_request_error', code: null })
      : { status, json: { detail } };
  }

  private shown({ id, fields, status, progress, error }: FakeJob): object {
    const isLocal = this.vendor !== 'openai';
    return {
      id,
      object: 'video',
      model: fields['model'] ?? 'a-model',
      status,
      progress,
      created_at: 1_763_913_600,
      completed_at: status === 'completed' ? 1_763_913_660 : null,
      expires_at: null,
      seconds: '4',
      size: '1280x720',
      remixed_from_video_id: null,
      error,
      ...(isLocal ? { file_path: '/srv/outputs/video.mp4' } : {}),
      ...(isLocal && status === 'completed' ? { inference_time_s: 12.3456 } : {}),
    };
  }
}

const ENDINGS: Readonly<Record<string, NonNullable<FakeJob['error']>>> = {
  'fails': { code: 'RuntimeError', message: 'Traceback (most recent call last)' },
  'forbidden result': { code: 'moderation_blocked', message: 'Words of the server.' },
  'invalid': { code: 400, message: 'Words of the server.' },
};

function advance(job: FakeJob): void {
  const prompt = String(job.fields['prompt']);
  if (job.status === 'queued') {
    job.status = 'in_progress';
    job.progress = 40;
  } else if (job.status === 'in_progress' && prompt !== 'endless' && prompt !== 'stubborn') {
    job.error = ENDINGS[prompt] ?? null;
    job.status = job.error === null ? 'completed' : 'failed';
    job.progress = job.error === null ? 100 : job.progress;
  }
}

/**
 * A server with the Images and the Videos API, as the documentation of OpenAI and of those who follow it describes them.
 * The prompt of a task determines its outcome: see `ImagesFake` and `VideosFake`.
 */
export class OpenAiFake extends VendorFake {
  readonly images: ImagesFake;
  readonly videos: VideosFake;
  /** The day on which its model ends, as YYYY-MM-DD. */
  shutdownDate?: string;

  private constructor(
    readonly vendor: OpenAiVendor,
    /** The expected key; if absent, every key is accepted. */
    readonly key: string | undefined,
    files: { readonly picture: Uint8Array; readonly video: Uint8Array },
  ) {
    super('/v1');
    this.images = new ImagesFake(vendor, files.picture);
    this.videos = new VideosFake(vendor, files.video);
  }

  static async open(vendor: OpenAiVendor = 'openai', key?: string): Promise<OpenAiFake> {
    const fake = await new OpenAiFake(vendor, key, { picture: await image('png', 8, 8), video: await mp4() }).opened();
    fake.images.origin = fake.server.url;
    return fake;
  }

  /** How many tasks it has taken. */
  get tasks(): number {
    return this.images.taken.length + this.videos.jobs.length;
  }

  protected routes(): readonly FakeRoute[] {
    const { images, videos } = this;
    const model = { id: 'gpt-image-2', object: 'model' };
    return [
      this.route('POST', '/images/generations', 'submit', (request) => images.generate(request)),
      this.route('POST', '/images/edits', 'submit', (request) => images.edit(request)),
      this.route('GET', '/images/:id/content', 'output', () => images.content()),
      this.route('POST', '/videos', 'submit', (request) => videos.create(request)),
      this.route('GET', '/videos/:id', 'poll', ({ params }) => videos.show(params['id'] ?? '')),
      this.route('DELETE', '/videos/:id', 'cancel', ({ params }) => videos.remove(params['id'] ?? '')),
      this.route('GET', '/videos/:id/content', 'output', ({ params }) => videos.content(params['id'] ?? '')),
      this.route('GET', '/models', 'check', () => ({ json: { object: 'list', data: [model] } })),
      this.route('GET', '/models/:id', 'check', ({ params }) =>
        params['id'] === model.id
          ? { json: { ...model, created: 1_763_913_600, owned_by: 'system', ...this.ending } }
          : openAiError(404, { type: 'invalid_request_error', code: 'model_not_found' }),
      ),
    ];
  }

  private get ending(): object {
    return this.shutdownDate === undefined ? {} : { shutdown_date: this.shutdownDate };
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    if (this.key === undefined || headers.authorization === `Bearer ${this.key}`) return undefined;
    return openAiError(401, { type: 'invalid_request_error', code: 'invalid_api_key' });
  }
}
