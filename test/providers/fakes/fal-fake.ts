import { type Json, type JsonObject, memberOf } from '../../../core/json.js';
import { image } from '../../fixtures/images.js';
import { type DescribedFile, DescribedModel } from './described-model.js';
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

/** A model of the platform's API. */
interface ListedModel {
  /** An entry of `models` in the answer. */
  readonly model: JsonObject;
  /** An entry of `prices` in the answer, without the endpoint. */
  readonly price?: JsonObject | undefined;
  /** Undefined where the answer has no schema. */
  readonly described: DescribedModel | undefined;
}

/**
 * The queue of fal as its documentation describes it, and at `platform` the API that describes models. The status and the
 * result of a request are under the app alone.
 */
export class FalFake extends VendorFake {
  /** Every request that was taken, in order. */
  readonly queue: QueuedFake[] = [];
  /** How the next requests end. */
  ending: Ending = { ends: 'result' };
  /** The URLs that an answer gives for its request; those of this server when absent. */
  addressOf?: (path: string) => string;
  private taken = 0;
  private readonly listed = new Map<string, ListedModel>();
  private readonly files = new Map<string, DescribedFile>();

  private constructor(
    readonly key: string,
    private readonly picture: Uint8Array,
  ) {
    super();
  }

  static async open(key = 'id:secret'): Promise<FalFake> {
    return new FalFake(key, await image('png', 64, 64)).opened();
  }

  /** The address of the API that describes models. */
  get platform(): string {
    return `${this.base}/v1`;
  }

  /** Lists a model as the API does, and takes requests for it as its schema says. */
  describe(model: JsonObject, price?: JsonObject): DescribedModel | undefined {
    const described = describedIn(model);
    this.listed.set(model['endpoint_id'] as string, { model, price, described });
    return described;
  }

  protected routes(): readonly FakeRoute[] {
    const png = { headers: { 'content-type': 'image/png' }, body: this.picture };
    return [
      fileRoute('/files/*', ({ params }) => fileAnswer(this.files.get(params['*'] ?? '')) ?? png),
      { method: 'GET', path: '/v1/models', of: 'check', handle: (request) => this.list(request) },
      this.route('GET', '/v1/models/pricing', 'check', (request) => this.prices(request)),
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

  /** Needs no key, but refuses a wrong one. */
  private list(request: FakeRequest): FakeAnswer {
    if (request.headers.authorization !== undefined && this.refused(request) !== undefined)
      return { status: 401, json: { error: { type: 'authorization_error', message: 'Invalid key' } } };
    const models = this.asked(request).map(({ model: { openapi, ...model } }) =>
      request.query.get('expand') === 'openapi-3.0' ? { ...model, openapi: openapi ?? null } : model,
    );
    return { json: { models, next_cursor: null, has_more: false } };
  }

  private prices(request: FakeRequest): FakeAnswer {
    const prices = this.asked(request).flatMap(({ model, price }) =>
      price === undefined ? [] : [{ endpoint_id: model['endpoint_id'], ...price }],
    );
    return { json: { prices, next_cursor: null, has_more: false } };
  }

  private asked({ query }: FakeRequest): readonly ListedModel[] {
    return query.getAll('endpoint_id').flatMap((id) => this.listed.get(id) ?? []);
  }

  private async submit(request: FakeRequest): Promise<FakeAnswer> {
    const endpoint = request.params['*'] ?? '';
    const described = this.listed.get(endpoint)?.described;
    if (!MODELS.includes(endpoint) && described === undefined)
      return { status: 404, json: { detail: `Application "${endpoint}" not found` } };
    const input = request.json() as JsonObject;
    const [fault] = described?.faultsOf(input) ?? [];
    if (fault !== undefined)
      return { status: 422, json: { detail: [{ loc: ['body'], msg: fault, type: 'value_error' }] } };
    const id = `764cabcf-b745-4b3e-ae38-${String(this.taken++).padStart(12, '0')}`;
    const made = described === undefined ? undefined : await this.make(described, input, id);
    const one: QueuedFake = {
      id,
      endpoint,
      input,
      headers: request.headers,
      ending: ENDINGS[input['prompt'] as string] ?? made ?? this.ending,
      status: input['prompt'] === 'endless' ? 'IN_PROGRESS' : 'IN_QUEUE',
    };
    this.queue.push(one);
    return { json: { ...this.shown(one), queue_position: 0 } };
  }

  private async make(model: DescribedModel, input: JsonObject, id: string): Promise<Ending> {
    const pathOf = (index: number) => `b/${id}/${index}`;
    const { answer, files } = await model.made(input, (index) => `${this.base}/files/${pathOf(index)}`);
    for (const [index, file] of files.entries()) this.files.set(pathOf(index), file);
    return { ends: 'result', result: answer };
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

/** The input is the body that a task is submitted with; the output is the answer at the address of its result. */
function describedIn({ openapi, metadata }: JsonObject): DescribedModel | undefined {
  const paths = Object.entries(memberOf(openapi, 'paths') ?? {}) as readonly (readonly [string, Json])[];
  const schemaAt = (holder: Json | undefined) => at(holder, 'content', 'application/json', 'schema');
  const input = paths.map(([, path]) => schemaAt(at(path, 'post', 'requestBody'))).find((one) => one !== undefined);
  const result = paths.find(([address]) => address.endsWith('/requests/{request_id}'));
  if (openapi === undefined || input === undefined || result === undefined) return undefined;
  const output = schemaAt(at(result[1], 'get', 'responses', '200')) ?? {};
  const category = memberOf(metadata, 'category');
  const makes = typeof category === 'string' && category.endsWith('video') ? 'video' : 'image';
  return new DescribedModel({ document: openapi, input, output, makes });
}

function at(value: Json | undefined, ...names: readonly string[]): Json | undefined {
  return names.reduce((holder, name) => memberOf(holder, name), value);
}

function fileAnswer(file: DescribedFile | undefined): FakeAnswer | undefined {
  return file && { headers: { 'content-type': file.mediaType }, body: file.bytes };
}
