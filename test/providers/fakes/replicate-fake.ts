import { type Json, type JsonObject, memberOf } from '../../../core/json.js';
import { image } from '../../fixtures/images.js';
import { type DescribedFile, DescribedModel } from './described-model.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { fileRoute, VendorFake } from './vendor-fake.js';

/** How a prediction ends. It begins at the first poll, and ends at the second. */
export type Ending =
  | { readonly ends: 'succeeded'; readonly files?: number; readonly output?: unknown }
  | { readonly ends: 'failed'; readonly error: string }
  | { readonly ends: 'never' };

export interface FakePrediction {
  readonly id: string;
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly cancelAfter: string | undefined;
  readonly ending: Ending;
  status: 'starting' | 'processing' | 'succeeded' | 'failed' | 'canceled' | 'aborted';
  output: unknown;
  error: string | null;
  isRemoved: boolean;
}

/** The endings of predictions with these prompts, whatever `ending` says. A queued one never starts. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  endless: { ends: 'never' },
  queued: { ends: 'never' },
  withheld: { ends: 'failed', error: 'NSFW content detected. Try running it again, or try a different prompt.' },
  flagged: { ends: 'failed', error: 'The input or output was flagged as sensitive. (E005)' },
  half: { ends: 'succeeded', files: 1 },
};

const UNAUTHENTICATED = problem(401, 'Unauthenticated', 'You did not pass a valid authentication token');
const NOT_FOUND = problem(404, 'Not found', 'The requested resource could not be found.');

/** Replicate's HTTP API as its documentation describes it: predictions, files, and the look-ups of a check. */
export class ReplicateFake extends VendorFake {
  /** Every prediction that was taken, in order. */
  readonly predictions: FakePrediction[] = [];
  /** The bytes of uploaded files, by their id. */
  readonly files = new Map<string, Buffer>();
  /** How the next predictions end. */
  ending: Ending = { ends: 'succeeded' };
  /** Models and versions that exist, as the paths to them. */
  readonly known = new Set([
    'models/black-forest-labs/flux-schnell',
    'models/black-forest-labs/flux-kontext-pro',
    'models/black-forest-labs/flux-fill-pro',
    'models/acme/portrait',
    `models/acme/portrait/versions/${'a1'.repeat(32)}`,
    'deployments/acme/studio',
  ]);
  /** Models and versions with descriptions, by the paths to them. */
  private readonly described = new Map<string, { readonly answer: JsonObject; readonly model: DescribedModel }>();
  private taken = 0;
  private readonly resultFiles = new Map<string, DescribedFile>();
  /** Makes the picture for a prompt; always the same picture when absent. */
  paint?: (prompt: string) => Uint8Array;
  /** The URL of its files, if it differs from the server's own. */
  filesAt: string | undefined;

  private constructor(
    readonly key: string,
    private readonly picture: Uint8Array,
  ) {
    super('/v1');
  }

  static async open(key = 'r8_test'): Promise<ReplicateFake> {
    return new ReplicateFake(key, await image('png', 64, 64)).opened();
  }

  /** Answers with this about a model, and takes predictions of it as its schema says; also of each of its versions. */
  describe(owner: string, name: string, answer: JsonObject, makes: 'image' | 'video' = 'image'): DescribedModel {
    const version = answer['latest_version'] as JsonObject;
    const model = describedContainer(version['openapi_schema'] as JsonObject, makes);
    const path = `models/${owner}/${name}`;
    this.described.set(path, { answer, model });
    this.described.set(`${path}/versions/${version['id'] as string}`, { answer: version, model });
    for (const known of this.described.keys()) this.known.add(known);
    return model;
  }

  prediction(id: string): FakePrediction | undefined {
    return this.predictions.find((prediction) => prediction.id === id);
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    return headers.authorization === `Bearer ${this.key}` ? undefined : UNAUTHENTICATED;
  }

  protected routes(): readonly FakeRoute[] {
    const account = { type: 'user', username: 'acme', name: 'Acme' };
    return [
      ...['', '/models/:owner/:name', '/deployments/:owner/:name'].map((path) =>
        this.route('POST', `${path}/predictions`, 'submit', (request) => this.create(request)),
      ),
      this.route('GET', '/predictions/:id', 'poll', (request) => this.show(request)),
      this.route('POST', '/predictions/:id/cancel', 'cancel', (request) => this.cancel(request)),
      this.route('POST', '/files', 'upload', (request) => this.keep(request)),
      fileRoute('/results/*', ({ params }) => this.result(params['*'])),
      this.route('GET', '/account', 'check', () => ({ json: account })),
      this.route('GET', '/*', 'check', ({ params: { '*': path = '' } }) =>
        this.known.has(path) ? { json: this.described.get(path)?.answer ?? {} } : NOT_FOUND,
      ),
    ];
  }

  private async create(request: FakeRequest): Promise<FakeAnswer> {
    const { owner, name } = request.params;
    const { version, input } = request.json() as { readonly version?: string; readonly input?: object };
    const path = request.path.replace('/v1/', '').replace(/\/?predictions$/, '');
    if (input === undefined) return problem(422, 'Input validation failed', '- input is required');
    if (version === undefined && !this.known.has(path)) return NOT_FOUND;
    if (version !== undefined && ![...this.known].some((one) => one.endsWith(`/${version}`)))
      return problem(422, 'Invalid version or not permitted', 'The specified version does not exist.');
    const { prompt } = input as { readonly prompt?: string };
    const id = `gm3qorzdhgbfurvjtvhg6d${String(this.taken++).padStart(4, '0')}`;
    const isAsked = (one: string) => (version === undefined ? one === path : one.endsWith(`/versions/${version}`));
    const described = [...this.described].find(([one]) => isAsked(one))?.[1].model;
    const [fault] = described?.faultsOf(input as JsonObject) ?? [];
    if (fault !== undefined) return problem(422, 'Input validation failed', `- input.${fault}`);
    if (prompt === 'invalid') return problem(422, 'Input validation failed', '- input.prompt: is not good');
    const prediction: FakePrediction = {
      id,
      model: owner === undefined ? `version ${version}` : `${owner}/${name}`,
      input: input as Readonly<Record<string, unknown>>,
      cancelAfter: request.headers['cancel-after'] as string | undefined,
      ending:
        ENDINGS[prompt ?? ''] ?? (described && (await this.make(described, input as JsonObject, id))) ?? this.ending,
      status: 'starting',
      output: null,
      error: null,
      isRemoved: false,
    };
    this.predictions.push(prediction);
    return { status: 201, json: this.shown(prediction) };
  }

  private async make(model: DescribedModel, input: JsonObject, id: string): Promise<Ending> {
    const pathOf = (index: number) => `${id}/made-${index}`;
    const { answer, files } = await model.made(input, (index) => `${this.server.url}/results/${pathOf(index)}`);
    for (const [index, file] of files.entries()) this.resultFiles.set(pathOf(index), file);
    return { ends: 'succeeded', output: answer };
  }

  private show({ params }: FakeRequest): FakeAnswer {
    const prediction = this.prediction(params['id'] ?? '');
    if (prediction === undefined) return NOT_FOUND;
    this.advance(prediction);
    return { json: this.shown(prediction) };
  }

  private cancel({ params }: FakeRequest): FakeAnswer {
    const prediction = this.prediction(params['id'] ?? '');
    if (prediction === undefined) return NOT_FOUND;
    if (prediction.status === 'starting' || prediction.status === 'processing') prediction.status = 'canceled';
    return { json: this.shown(prediction) };
  }

  private advance(prediction: FakePrediction): void {
    if (prediction.input['prompt'] === 'queued') return;
    if (prediction.status === 'starting') prediction.status = 'processing';
    else if (prediction.status === 'processing') this.end(prediction);
  }

  private end(prediction: FakePrediction): void {
    const { ending } = prediction;
    if (ending.ends === 'never') return;
    prediction.status = ending.ends;
    if (ending.ends === 'failed') prediction.error = ending.error;
    else if (ending.output === undefined)
      prediction.output = Array.from(
        { length: ending.files ?? 1 },
        (_, index) => `${this.filesAt ?? this.server.url}/results/${prediction.id}/out-${index}.png`,
      );
    else prediction.output = ending.output;
  }

  private async keep(request: FakeRequest): Promise<FakeAnswer> {
    const content = (await request.form()).get('content');
    if (!(content instanceof File)) return problem(422, 'Invalid request', 'Missing content');
    const id = `file${this.files.size + 1}`;
    this.files.set(id, Buffer.from(await content.arrayBuffer()));
    return {
      status: 201,
      json: { id, content_type: content.type, size: content.size, urls: { get: `${this.base}/files/${id}` } },
    };
  }

  private result(path = ''): FakeAnswer {
    const file = this.resultFiles.get(path);
    if (file !== undefined) return { headers: { 'content-type': file.mediaType }, body: file.bytes };
    const { prompt } = this.prediction(path.split('/')[0] ?? '')?.input ?? {};
    const body = typeof prompt === 'string' ? this.paint?.(prompt) : undefined;
    return { headers: { 'content-type': 'image/png' }, body: body ?? this.picture };
  }

  private shown({ id, model, input, status, output, error, isRemoved }: FakePrediction): object {
    const hasEnded = status !== 'starting' && status !== 'processing';
    return {
      id,
      model,
      version: 'hidden',
      input: isRemoved ? {} : input,
      logs: isRemoved ? '' : 'a line of the log',
      output: isRemoved ? null : output,
      data_removed: isRemoved,
      error,
      source: 'api',
      status,
      created_at: '2026-11-20T16:19:34.765Z',
      ...(hasEnded ? { completed_at: '2026-11-20T16:19:38.021Z', metrics: { predict_time: 2.4567 } } : {}),
      urls: { get: `${this.base}/predictions/${id}`, cancel: `${this.base}/predictions/${id}/cancel` },
    };
  }
}

function problem(status: number, title: string, detail: string): FakeAnswer {
  return { status, json: { title, detail, status } };
}

/** The model that an OpenAPI document of a container describes. */
export function describedContainer(document: Json, makes: 'image' | 'video'): DescribedModel {
  const schemas = memberOf(memberOf(document, 'components'), 'schemas');
  const [input, output] = [memberOf(schemas, 'Input') ?? {}, memberOf(schemas, 'Output') ?? {}];
  return new DescribedModel({ document, input, output, makes });
}
