import { openAiError, type OpenAiVendor } from './openai-error.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';

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
    /** What it delivers, whatever was asked for; or what makes it, piece by piece. */
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
    const fields: Record<string, unknown> = {};
    const files: FakeJob['files'][number][] = [];
    for (const [field, value] of await request.form()) {
      if (typeof value === 'string') fields[field] = value;
      else files.push({ field, name: value.name, bytes: Buffer.from(await value.arrayBuffer()) });
    }
    return { fields, files };
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
