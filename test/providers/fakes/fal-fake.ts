import { image } from '../../fixtures/images.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { fileRoute, VendorFake } from './vendor-fake.js';

/** How a request ends. It begins at the first look at its status, and ends at the second. */
export type Ending =
  | {
      readonly ends: 'result';
      readonly files?: number;
      readonly result?: unknown;
      /** The units that it is billed as; one for each picture when absent, and without the header when empty. */
      readonly billed?: string;
    }
  | {
      readonly ends: 'error';
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly ends: 'never' };

export interface QueuedFake {
  readonly id: string;
  readonly endpoint: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  ending: Ending;
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED';
}

const CANCELLED: Ending = {
  ends: 'error',
  status: 499,
  body: { detail: 'Request was cancelled by the client', error_type: 'client_cancelled' },
};
/**
 * The endings of requests with these prompts, whatever `ending` says. A queued one never starts; an endless one starts
 * and never ends.
 */
const ENDINGS: Readonly<Record<string, Ending>> = {
  endless: { ends: 'never' },
  queued: { ends: 'never' },
  withheld: {
    ends: 'error',
    status: 422,
    body: { detail: [{ loc: ['body', 'prompt'], msg: 'The content was flagged', type: 'content_policy_violation' }] },
  },
  half: { ends: 'result', files: 1 },
};
const MODELS: readonly string[] = [
  'fal-ai/flux/schnell',
  'fal-ai/flux',
  'fal-ai/flux-pro/kontext',
  'fal-ai/flux-pro/v1/fill',
  'workflows/acme/portrait',
];

/** The queue of fal as its documentation describes it. The status and the result of a request are under the app alone. */
export class FalFake extends VendorFake {
  /** Every request that was taken, in order. */
  readonly queue: QueuedFake[] = [];
  /** How the next requests end. */
  ending: Ending = { ends: 'result' };
  /** The URLs that an answer gives for its request; those of this server when absent. */
  addressOf?: (path: string) => string;

  private constructor(
    readonly key: string,
    private readonly picture: Uint8Array,
  ) {
    super();
  }

  static async open(key = 'id:secret'): Promise<FalFake> {
    return new FalFake(key, await image('png', 64, 64)).opened();
  }

  protected routes(): readonly FakeRoute[] {
    return [
      fileRoute('/files/*', () => ({ headers: { 'content-type': 'image/png' }, body: this.picture })),
      ...['/:owner/:app', '/workflows/:owner/:app'].flatMap((app) => {
        const request = `${app}/requests/:id`;
        return [
          this.route(
            'GET',
            `${request}/status`,
            ['poll', 'check'],
            this.found((one) => this.look(one)),
          ),
          this.route(
            'GET',
            request,
            'poll',
            this.found((one) => this.result(one)),
          ),
          this.route(
            'PUT',
            `${request}/cancel`,
            'cancel',
            this.found((one) => this.cancel(one)),
          ),
        ];
      }),
      this.route('POST', '/*', 'submit', (request) => this.submit(request)),
    ];
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    if (headers.authorization === `Key ${this.key}`) return undefined;
    return { status: 401, json: { detail: 'Authentication is required to access this application' } };
  }

  private found(handle: (one: QueuedFake) => FakeAnswer) {
    return (request: FakeRequest): FakeAnswer => {
      const one = this.queue.find(({ id }) => id === request.params['id']);
      const isBelow = one !== undefined && request.path.startsWith(`/${appOf(one.endpoint)}/requests/`);
      return isBelow ? handle(one) : { status: 404, json: { detail: 'Not Found' } };
    };
  }

  private submit(request: FakeRequest): FakeAnswer {
    const endpoint = request.params['*'] ?? '';
    if (!MODELS.includes(endpoint)) return { status: 404, json: { detail: `Application "${endpoint}" not found` } };
    const input = request.json() as Readonly<Record<string, unknown>>;
    const one: QueuedFake = {
      id: `764cabcf-b745-4b3e-ae38-${String(this.queue.length).padStart(12, '0')}`,
      endpoint,
      input,
      headers: request.headers,
      ending: ENDINGS[String(input['prompt'])] ?? this.ending,
      status: input['prompt'] === 'endless' ? 'IN_PROGRESS' : 'IN_QUEUE',
    };
    this.queue.push(one);
    return { json: { ...this.shown(one), queue_position: 0 } };
  }

  private look(one: QueuedFake): FakeAnswer {
    if (one.input['prompt'] !== 'queued' && one.status === 'IN_QUEUE') one.status = 'IN_PROGRESS';
    else if (one.ending.ends !== 'never') one.status = 'COMPLETED';
    const isOver = one.status === 'COMPLETED';
    return {
      status: isOver ? 200 : 202,
      json: { ...this.shown(one), logs: null, ...(isOver ? { metrics: { inference_time: 3.7 } } : {}) },
    };
  }

  private result(one: QueuedFake): FakeAnswer {
    const { ending } = one;
    if (one.status !== 'COMPLETED' || ending.ends === 'never')
      return { status: 400, json: { detail: 'Request is still in progress' } };
    if (ending.ends === 'error') return { status: ending.status, headers: ending.headers ?? {}, json: ending.body };
    const { files = 1, result = this.pictures(one.id, files), billed = String(files) } = ending;
    return { headers: billed === '' ? {} : { 'x-fal-billable-units': billed }, json: result };
  }

  private pictures(id: string, count: number): object {
    const images = Array.from({ length: count }, (_, index) => ({
      url: `${this.base}/files/b/${id}/${index}.png`,
      width: 64,
      height: 64,
      content_type: 'image/png',
    }));
    return { images, timings: { inference: 0.4 }, seed: 7, has_nsfw_concepts: images.map(() => false), prompt: 'x' };
  }

  private cancel(one: QueuedFake): FakeAnswer {
    if (one.status === 'COMPLETED') return { status: 400, json: { status: 'ALREADY_COMPLETED' } };
    // The model decides whether it stops, and this one continues.
    if (one.status === 'IN_PROGRESS') return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
    one.ending = CANCELLED;
    one.status = 'COMPLETED';
    return { json: { status: 'OK' } };
  }

  private shown({ id, endpoint, status }: QueuedFake): object {
    const path = `${appOf(endpoint)}/requests/${id}`;
    const address = this.addressOf ?? ((below: string) => `${this.base}/${below}`);
    return {
      status,
      request_id: id,
      response_url: address(path),
      status_url: address(`${path}/status`),
      cancel_url: address(`${path}/cancel`),
    };
  }
}

function appOf(endpoint: string): string {
  return endpoint
    .split('/')
    .slice(0, endpoint.startsWith('workflows/') ? 3 : 2)
    .join('/');
}
