import sharp from 'sharp';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { readBySdServer, type ReadMask } from './read-masks.js';
import { VendorFake } from './vendor-fake.js';

/** How many jobs may wait or run. */
const MAX_PENDING = 64;
/** How long the end of a job is remembered, in seconds; after that, for as long, that it was there. */
const KEPT_S = 600;

export interface Work {
  /** Base64, one for each picture. Throws for a job that fails, with the server's error. */
  readonly pictures: () => Promise<readonly string[]>;
  readonly outputFormat: string;
  /** Never ends by itself. */
  readonly isHeld: boolean;
}

interface Job {
  readonly id: string;
  readonly work: Work;
  readonly created: number;
  status: 'queued' | 'generating' | 'completed' | 'failed' | 'cancelled';
  started: number | null;
  completed: number | null;
  images: readonly string[];
  message: string;
}

/** The jobs of one sd-server: one after another, in memory, forgotten some time after their end. */
export class SdcppJobs {
  private readonly jobs = new Map<string, Job>();
  private queue: Job[] = [];
  private running: Job | undefined;
  private isPaused = false;
  private next = 0;
  private aheadS = 0;

  /** How many it knows. */
  get size(): number {
    return this.jobs.size;
  }

  submit(work: Work): FakeAnswer {
    const pending = [...this.jobs.values()].filter(({ status }) => status === 'queued' || status === 'generating');
    if (pending.length >= MAX_PENDING) return { status: 429, json: { error: 'job queue is full' } };
    const created = this.now();
    const id = `job_${created.toString(16)}_${(this.next++).toString(16).padStart(8, '0')}`;
    const job: Job = { id, work, created, status: 'queued', started: null, completed: null, images: [], message: '' };
    this.jobs.set(id, job);
    this.queue.push(job);
    this.begin();
    return {
      status: 202,
      json: { created, id, kind: 'img_gen', poll_url: `/sdcpp/v1/jobs/${id}`, status: job.status },
    };
  }

  poll(id: string): FakeAnswer {
    const job = this.find(id);
    return 'id' in job ? { status: 200, json: this.jsonOf(job) } : job;
  }

  cancel(id: string): FakeAnswer {
    const job = this.find(id);
    if (!('id' in job)) return job;
    if (job.status === 'generating')
      return { status: 409, json: { error: 'job is currently generating and cannot be interrupted yet' } };
    if (job.status === 'queued') {
      this.queue = this.queue.filter((other) => other !== job);
      this.end(job, 'cancelled', 'job cancelled by client');
    }
    return { status: 200, json: this.jsonOf(job) };
  }

  /** Makes jobs wait from now on, as if a long one were running. */
  pause(): void {
    this.isPaused = true;
  }

  /** Ends the job that is held. */
  async release(): Promise<void> {
    if (this.running !== undefined) await this.finish(this.running);
  }

  /** Lets time pass. */
  advance(seconds: number): void {
    this.aheadS += seconds;
  }

  /** Forgets all jobs, like a restart of the process. */
  forget(): void {
    this.jobs.clear();
    this.queue = [];
    this.running = undefined;
    this.next = 0;
  }

  private find(id: string): Job | FakeAnswer {
    const job = this.jobs.get(id);
    const now = this.now();
    const age = now - (job?.completed ?? now);
    if (job === undefined || age >= 2 * KEPT_S) return { status: 404, json: { error: 'job not found' } };
    return age >= KEPT_S ? { status: 410, json: { error: 'job expired' } } : job;
  }

  private begin(): void {
    if (this.running !== undefined || this.isPaused) return;
    const job = this.queue.shift();
    if (job === undefined) return;
    this.running = job;
    job.status = 'generating';
    job.started = this.now();
    if (!job.work.isHeld) void this.finish(job);
  }

  private async finish(job: Job): Promise<void> {
    try {
      job.images = await job.work.pictures();
      this.end(job, 'completed', '');
    } catch (error) {
      this.end(job, 'failed', error instanceof Error ? error.message : String(error));
    }
    if (this.running !== job) return;
    this.running = undefined;
    this.begin();
  }

  private end(job: Job, status: Job['status'], message: string): void {
    Object.assign(job, { status, message, completed: this.now() });
  }

  private now(): number {
    return Math.floor(Date.now() / 1_000) + this.aheadS;
  }

  /** The names are in the order of the alphabet, as the server's are: the state comes after the pictures. */
  private jsonOf(job: Job): object {
    const { completed, created, id, images, message, started, status, work } = job;
    const isFault = status === 'failed' || status === 'cancelled';
    const code = status === 'cancelled' ? 'cancelled' : 'generation_failed';
    const result = {
      images: images.map((picture, index) => ({ b64_json: picture, index })),
      output_format: work.outputFormat,
    };
    return {
      completed,
      created,
      error: isFault ? { code, message } : null,
      id,
      kind: 'img_gen',
      queue_position: status === 'queued' ? this.queue.indexOf(job) + 1 : 0,
      result: status === 'completed' ? result : null,
      started,
      status,
    };
  }
}

/** Jobs of so many steps run until they are released. */
export const HELD_STEPS = 100;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Plays the native routes of sd-server: its answers have the recorded shapes of this file, with which the real server is
 * compared as well, including what it accepts without a complaint. Its pictures are black.
 */
export class SdcppFake extends VendorFake {
  readonly jobs = new SdcppJobs();
  /** The result for each mask and its picture. */
  readonly masks: ReadMask[] = [];
  /** Whether the server has the requested LoRA files. */
  takesLoras = false;
  /** The next job fails with this message. */
  failsWith: string | undefined;
  /** Some pictures of a job may be missing: no more than these are delivered. */
  deliversAtMost = Infinity;
  /** Replaces the text of each picture: base64, or invalid base64. */
  pictureText: string | undefined;

  static open(): Promise<SdcppFake> {
    return new SdcppFake().opened();
  }

  protected routes(): readonly FakeRoute[] {
    const { jobs } = this;
    const job = '/sdcpp/v1/jobs/:id';
    return [
      this.route('GET', '/sdcpp/v1/capabilities', 'check', () => ({ json: CAPABILITIES })),
      this.route('POST', '/sdcpp/v1/img_gen', 'submit', ({ body }) => this.submit(body)),
      this.route('POST', '/sdcpp/v1/vid_gen', 'submit', () => refused('loaded model does not support vid_gen')),
      this.route(
        'GET',
        job,
        ['poll', 'output'],
        forId((id) => jobs.poll(id)),
      ),
      this.route(
        'POST',
        `${job}/cancel`,
        'cancel',
        forId((id) => jobs.cancel(id)),
      ),
    ];
  }

  private async submit(body: Buffer): Promise<FakeAnswer> {
    if (body.byteLength === 0) return refused('empty body');
    const fields = fieldsOf(body);
    if (fields === undefined) return refused('invalid json', '[json.exception.parse_error.101] parse error');
    const { output_format: format = 'png', strength = 0.75 } = fields;
    if (typeof format !== 'string') {
      const message = '[json.exception.type_error.302] type must be string, but is number';
      return { status: 500, json: { error: 'server_error', message } };
    }
    if (!['png', 'jpeg', 'webp'].includes(format))
      return refused('invalid output_format, must be one of [png, jpeg, webp]');
    const hasLora = !this.takesLoras && Array.isArray(fields['lora']) && fields['lora'].length > 0;
    const isOutside = typeof strength === 'number' && (strength < 0 || strength > 1);
    if (hasLora || isOutside || !(await areReadable(fields))) return refused('invalid generation parameters');
    const [picture, mask] = [fields['init_image'], fields['mask_image']].map(bytesOf);
    if (picture !== undefined && mask !== undefined) this.masks.push(await readBySdServer(picture, mask));
    return this.jobs.submit({
      outputFormat: format,
      isHeld: stepsOf(fields) === HELD_STEPS,
      pictures: () => this.pictures(fields, format),
    });
  }

  private async pictures(fields: Fields, format: string): Promise<readonly string[]> {
    const { failsWith, pictureText } = this;
    this.failsWith = undefined;
    if (failsWith !== undefined) throw new Error(failsWith);
    const picture = pictureText ?? (await blackPicture(sideOf(fields, 'width'), sideOf(fields, 'height'), format));
    const count = clamped(fields['batch_count'], 1, 8, 1);
    return Array.from({ length: Math.min(count, this.deliversAtMost) }, () => picture);
  }
}

/** The server's description of itself, without the long lists. */
const CAPABILITIES = {
  current_mode: 'img_gen',
  limits: {
    max_batch_count: 8,
    max_height: 4096,
    max_queue_size: 64,
    max_width: 4096,
    min_height: 64,
    min_width: 64,
  },
  model: { name: 'zero.safetensors', path: '/models/zero.safetensors', stem: 'zero' },
  output_formats_by_mode: { img_gen: ['png', 'jpeg', 'webp'] },
  samplers: ['euler', 'euler_a'],
  schedulers: ['discrete', 'karras'],
  supported_modes: ['img_gen'],
};

function refused(error: string, message?: string): FakeAnswer {
  return { status: 400, json: message === undefined ? { error } : { error, message } };
}

/** Ids with other characters match no route. */
function forId(handle: (id: string) => FakeAnswer): (request: FakeRequest) => FakeAnswer {
  return ({ params: { id = '' } }) => (/^[A-Za-z0-9_-]+$/.test(id) ? handle(id) : { status: 404 });
}

function fieldsOf(body: Buffer): Fields | undefined {
  try {
    return JSON.parse(body.toString()) as Fields;
  } catch {
    return undefined;
  }
}

/** A value that is not an integer counts as absent; one out of range is moved to the nearest bound. */
function clamped(value: unknown, least: number, most: number, fallback: number): number {
  return Number.isInteger(value) ? Math.min(most, Math.max(least, Number(value))) : fallback;
}

/** Sides are rounded up to multiples of 64. */
function sideOf(fields: Fields, name: 'width' | 'height'): number {
  return Math.ceil(clamped(fields[name], 1, 4_096, 512) / 64) * 64;
}

function stepsOf(fields: Fields): number {
  const sampling = fields['sample_params'];
  const steps = typeof sampling === 'object' && sampling !== null ? (sampling as Fields)['sample_steps'] : undefined;
  return clamped(steps, 1, HELD_STEPS, 20);
}

function bytesOf(picture: unknown): Buffer | undefined {
  return typeof picture === 'string' ? Buffer.from(picture.slice(picture.indexOf(',') + 1), 'base64') : undefined;
}

async function areReadable(fields: Fields): Promise<boolean> {
  const given = [fields['init_image'], fields['mask_image'], ...((fields['ref_images'] as unknown[]) ?? [])];
  for (const picture of given) {
    if (picture === undefined || picture === null) continue;
    const bytes = bytesOf(picture);
    if (bytes === undefined) return false;
    try {
      await sharp(bytes).metadata();
    } catch {
      return false;
    }
  }
  return true;
}

async function blackPicture(width: number, height: number, format: string): Promise<string> {
  const image = sharp({ create: { width, height, channels: 3, background: 'black' } });
  return (await image.toFormat(format as 'png' | 'jpeg' | 'webp').toBuffer()).toString('base64');
}

/** One request, and the answer that a real sd-server gave to it. */
export interface Exchange {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly answer: {
    readonly status: number;
    /** Absent where the server declares none. */
    readonly type?: 'application/json';
    /** The answer's text, with `<id>`, `<time>`, `<base64>`, `<waits>` and `<why>` for the parts that vary. */
    readonly text: string;
  };
}

const JSON_TYPE = 'application/json';

/** A request for the smallest possible picture. */
export const SMALL = {
  prompt: 'a lighthouse',
  width: 64,
  height: 64,
  seed: 1,
  embed_image_metadata: false,
  sample_params: { sample_steps: 1, guidance: { txt_cfg: 1 } },
};

export const ACCEPTED: Exchange['answer'] = {
  status: 202,
  type: JSON_TYPE,
  text: '{"created":<time>,"id":"<id>","kind":"img_gen","poll_url":"/sdcpp/v1/jobs/<id>","status":"<waits>"}',
};

/** The states of a job, in the order of its life. */
export const JOB = {
  queued:
    '{"completed":null,"created":<time>,"error":null,"id":"<id>","kind":"img_gen","queue_position":1,"result":null,"started":null,"status":"queued"}',
  generating:
    '{"completed":null,"created":<time>,"error":null,"id":"<id>","kind":"img_gen","queue_position":0,"result":null,"started":<time>,"status":"generating"}',
  completed:
    '{"completed":<time>,"created":<time>,"error":null,"id":"<id>","kind":"img_gen","queue_position":0,"result":{"images":[{"b64_json":"<base64>","index":0}],"output_format":"png"},"started":<time>,"status":"completed"}',
  cancelled:
    '{"completed":<time>,"created":<time>,"error":{"code":"cancelled","message":"job cancelled by client"},"id":"<id>","kind":"img_gen","queue_position":0,"result":null,"started":null,"status":"cancelled"}',
} as const;

export const NOT_CANCELLED = '{"error":"job is currently generating and cannot be interrupted yet"}';
export const FULL = '{"error":"job queue is full"}';

/** Requests that are refused, one fault each, by version 0.4.7 of the package that the tests build. */
export const REFUSALS: readonly Exchange[] = [
  submission('no body', '', 400, '{"error":"empty body"}'),
  submission('half a body', '{', 400, '{"error":"invalid json","message":"<why>"}'),
  submission('an unknown format', smallWith({ output_format: 'gif' }), 400, invalidFormat()),
  submission(
    'a format that is no text',
    smallWith({ output_format: 3 }),
    500,
    '{"error":"server_error","message":"<why>"}',
  ),
  submission('a strength above 1', smallWith({ strength: 2 }), 400, invalidParameters()),
  submission('an unreadable first picture', smallWith({ init_image: 'AAAA' }), 400, invalidParameters()),
  submission('an unreadable reference', smallWith({ ref_images: ['AAAA'] }), 400, invalidParameters()),
  submission('an unknown LoRA', smallWith({ lora: [{ path: 'nothing', multiplier: 1 }] }), 400, invalidParameters()),
  {
    name: 'a video of a model for pictures',
    method: 'POST',
    path: '/sdcpp/v1/vid_gen',
    body: smallWith({}),
    answer: { status: 400, type: JSON_TYPE, text: '{"error":"loaded model does not support vid_gen"}' },
  },
  {
    name: 'the state of an unknown job',
    method: 'GET',
    path: '/sdcpp/v1/jobs/job_0_00000000',
    answer: { status: 404, type: JSON_TYPE, text: '{"error":"job not found"}' },
  },
  {
    name: 'the cancel of an unknown job',
    method: 'POST',
    path: '/sdcpp/v1/jobs/job_0_00000000/cancel',
    answer: { status: 404, type: JSON_TYPE, text: '{"error":"job not found"}' },
  },
  { name: 'an id that is none', method: 'GET', path: '/sdcpp/v1/jobs/a.b', answer: { status: 404, text: '' } },
  { name: 'an unknown route', method: 'GET', path: '/sdcpp/v1/nothing', answer: { status: 404, text: '' } },
];

/**
 * Fields that are wrong, and taken: the sides are rounded up to multiples of 64, steps are moved into 1 to 100, and the
 * sampler is the server's own. Settings within the prompt are a part of it here.
 */
export const TAKEN_ANYWAY = {
  prompt: 'a <sd_cpp_extra_args>{"height":256}</sd_cpp_extra_args>',
  width: 65,
  sample_params: { sample_steps: 0, sample_method: 'nonsense', guidance: { txt_cfg: 1 } },
};

/** The text with placeholders for the parts that vary. */
export function marked(text: string): string {
  return text
    .replaceAll(/job_[0-9a-f]+_[0-9a-f]{8}/g, '<id>')
    .replaceAll(/"(completed|created|started)":\d{9,}/g, '"$1":<time>')
    .replaceAll(/"b64_json":"[A-Za-z0-9+/]+=*"/g, '"b64_json":"<base64>"')
    .replaceAll(/"message":"\[json\.[^"]*(?:\\"[^"]*)*"/g, '"message":"<why>"')
    .replace(/("poll_url":"[^"]*","status":)"(?:queued|generating)"/, '$1"<waits>"');
}

function submission(name: string, body: string, status: number, text: string): Exchange {
  return { name, method: 'POST', path: '/sdcpp/v1/img_gen', body, answer: { status, type: JSON_TYPE, text } };
}

function smallWith(fields: object): string {
  return JSON.stringify({ ...SMALL, ...fields });
}

function invalidFormat(): string {
  return '{"error":"invalid output_format, must be one of [png, jpeg, webp]"}';
}

function invalidParameters(): string {
  return '{"error":"invalid generation parameters"}';
}
