import { image } from '../../fixtures/images.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { VendorFake } from './vendor-fake.js';

type State = 'waiting' | 'working' | 'done' | 'error' | 'stopped';

export interface StudioJob {
  readonly number: number;
  /** The submission: its body, and values from its headers and path. */
  readonly task: Readonly<Record<string, unknown>>;
  readonly externalId: string;
  state: State;
  percent: number;
  error?: string;
}

/** Words of a vendor, which clients must not see. */
const REASON = 'The studio would not paint this one';

/**
 * A fictional API: jobs have numbers, results are base64 in the answer about the job, and a job is found by the id that
 * its submission gave it. A submission that is repeated with its key answers with the job that is there.
 */
export class StudioFake extends VendorFake {
  /** Every job that was taken, in order. */
  readonly jobs: StudioJob[] = [];
  /** Members added to the answers about jobs. */
  readonly further: Record<string, unknown> = {};

  private constructor(readonly key: string) {
    super('/api');
  }

  static open(key = 'studio-test-key'): Promise<StudioFake> {
    return new StudioFake(key).opened();
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    return headers['x-api-key'] === this.key ? undefined : problem(401, 'key', 'This key is not known here');
  }

  protected routes(): readonly FakeRoute[] {
    return [
      this.route('GET', '/about', 'check', () => ({ json: { name: 'Studio' } })),
      this.route('POST', '/jobs', 'submit', (request) => this.take(request)),
      this.route('GET', '/jobs', 'recover', ({ query }) => this.find(query.get('external_id'))),
      this.route('GET', '/jobs/:number', ['poll', 'output'], ({ params }) => this.show(params['number'])),
      this.route('POST', '/jobs/:number/stop', 'cancel', ({ params }) => this.stop(params['number'])),
    ];
  }

  private take(request: FakeRequest): FakeAnswer {
    const task = request.json() as Readonly<Record<string, unknown>>;
    const externalId = String(request.headers['idempotency-key']);
    const before = this.jobs.find((one) => one.externalId === externalId);
    const job: StudioJob = before ?? {
      number: this.jobs.length + 1_000,
      task,
      externalId,
      state: 'waiting',
      percent: 0,
    };
    if (before === undefined) this.jobs.push(job);
    return { status: before === undefined ? 201 : 200, json: { job: { number: job.number, state: job.state } } };
  }

  private find(externalId: string | null): FakeAnswer {
    const found = this.jobs.filter((one) => one.externalId === externalId);
    return { json: { jobs: found.map((one) => ({ number: one.number, external_id: one.externalId })) } };
  }

  private async show(number: string | undefined): Promise<FakeAnswer> {
    const job = this.job(number);
    if (job === undefined) return problem(404, 'no_job', 'There is no job with this number');
    this.advance(job);
    const edge = typeof job.task['edge'] === 'number' ? job.task['edge'] : 64;
    const data = Buffer.from(await image('png', edge, edge)).toString('base64');
    const pictures = Array.from({ length: picturesOf(job) }, () => ({ data }));
    return {
      json: {
        job: {
          number: job.number,
          ...(job.state === 'done' ? { pictures } : {}),
          state: job.state,
          percent: job.percent,
          ...(job.error === undefined ? {} : { error: { kind: job.error, reason: REASON } }),
          ...(isOver(job) ? { billing: { seconds: 1.25, eur: '0.0040' } } : {}),
          ...this.further,
        },
      },
    };
  }

  private stop(number: string | undefined): FakeAnswer {
    const job = this.job(number);
    if (job === undefined) return problem(404, 'no_job', 'There is no job with this number');
    if (isOver(job)) return problem(409, 'over', 'This job is over already');
    job.state = 'stopped';
    return { status: 202, json: {} };
  }

  private job(number: string | undefined): StudioJob | undefined {
    return this.jobs.find((one) => String(one.number) === number);
  }

  private advance(job: StudioJob): void {
    const { prompt } = job.task;
    if (isOver(job) || prompt === 'queued') return;
    if (job.state === 'waiting') {
      job.state = 'working';
      job.percent = 40;
    } else if (prompt !== 'endless') {
      job.percent = 100;
      if (prompt === 'forbidden' || prompt === 'broken') {
        job.state = 'error';
        job.error = prompt === 'forbidden' ? 'policy' : 'engine_4711';
      } else job.state = 'done';
    }
  }
}

function isOver({ state }: StudioJob): boolean {
  return state !== 'waiting' && state !== 'working';
}

function picturesOf({ task }: StudioJob): number {
  const { count } = task;
  return task['prompt'] === 'half' || typeof count !== 'number' ? 1 : count;
}

function problem(status: number, kind: string, reason: string): FakeAnswer {
  return { status, json: { error: { kind, reason } } };
}
