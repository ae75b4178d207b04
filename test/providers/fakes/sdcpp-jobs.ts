import type { FakeAnswer } from './fake-server.js';

/** How many jobs may wait or run. */
const MAX_PENDING = 64;
/** How long the end of a job is remembered, in seconds; after that, for as long, that it was there. */
const KEPT_S = 600;

export interface Work {
  /** Base64, one for each picture. Throws for a job that fails, with what the server says of it. */
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

  /** From now on jobs wait, as behind one that takes long. */
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

  /** As a restart of the process does. */
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
