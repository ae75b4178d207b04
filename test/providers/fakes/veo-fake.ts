/*
 * Written from these pages of ai.google.dev: "Generate videos with Veo 3.1 in Gemini API" (requests, operations, files,
 * filtered videos), "Troubleshooting guide" (errors), and from the resource `google.longrunning.Operation` of the API
 * reference. No answer of the real API was recorded.
 */
import { mp4 } from '../../fixtures/videos.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { fileRoute, VendorFake } from './vendor-fake.js';

type Json = Readonly<Record<string, unknown>>;

interface VeoOperation {
  readonly name: string;
  readonly instance: Json;
  readonly parameters: Json;
  polls: number;
}

const MODEL = 'veo-3.1-generate-preview';
const TYPE = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse';

/** Endings of operations, by their prompts. Anything else ends with a video. */
const ENDINGS: Readonly<Record<string, Json>> = {
  'forbidden': {
    error: {
      code: 3,
      message: "The prompt could not be submitted. It contains words that violate Google's Responsible AI practices.",
    },
  },
  'forbidden picture': filtered(
    "Veo could not generate videos because the input image violates Google's usage guidelines. Support codes: 15236754",
  ),
  'forbidden result': filtered(
    'Veo could not generate videos because the generated videos violate our content policy. Support codes: 58061214',
  ),
  'filtered without a reason': { response: { '@type': TYPE, 'generateVideoResponse': { raiMediaFilteredCount: 1 } } },
  'broken': { error: { code: 13, message: 'Internal error. Please try again later.' } },
  'overloaded': { error: { code: 14, message: 'The service is currently unavailable.' } },
};

/** Veo in the Gemini API: operations without `done` until their end, whose videos are files that need the key. */
export class VeoFake extends VendorFake {
  /** Every operation that was taken, in order. */
  readonly operations: VeoOperation[] = [];

  private constructor(
    readonly key: string,
    /** The bytes of every file. */
    public video: Uint8Array,
  ) {
    super('/v1beta');
  }

  /** A file is answered with a redirect to its bytes, as the real API does. */
  static async open(key = 'veo-test-key'): Promise<VeoFake> {
    return new VeoFake(key, await mp4()).opened();
  }

  protected routes(): readonly FakeRoute[] {
    return [
      this.route('GET', '/models/:model', 'check', ({ params }) => this.about(params['model'])),
      this.route('POST', '/models/:method', 'submit', (request) => this.take(request)),
      this.route('GET', '/models/:model/operations/:id', 'poll', ({ path }) => this.show(path)),
      // Faults of outputs are for the request that has the bytes.
      this.route('GET', '/files/:file', [], ({ path }) => this.file(path)),
      fileRoute('/download/v1beta/files/:file', (request) => this.refused(request) ?? this.bytes()),
    ];
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    const given = headers['x-goog-api-key'];
    if (given === undefined)
      return problem(403, 'PERMISSION_DENIED', "Method doesn't allow unregistered callers. Please use API Key.");
    if (given === this.key) return undefined;
    return problem(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID');
  }

  private about(model: string | undefined): FakeAnswer {
    if (model !== MODEL) return problem(404, 'NOT_FOUND', `models/${model} is not found for API version v1beta`);
    return { json: { name: `models/${MODEL}`, supportedGenerationMethods: ['predictLongRunning'] } };
  }

  private take(request: FakeRequest): FakeAnswer {
    if (request.params['method'] !== `${MODEL}:predictLongRunning`)
      return problem(404, 'NOT_FOUND', 'The model is not found, or is not supported for predictLongRunning.');
    const { instances, parameters = {}, ...others } = request.json() as Json;
    const fault = requestFault(instances, parameters as Json, others);
    if (fault !== undefined) return problem(400, 'INVALID_ARGUMENT', fault);
    const name = `models/${MODEL}/operations/op${String(this.operations.length).padStart(10, '0')}`;
    this.operations.push({
      name,
      instance: (instances as readonly Json[])[0]!,
      parameters: parameters as Json,
      polls: 0,
    });
    return { json: { name } };
  }

  private show(path: string): FakeAnswer {
    const operation = this.operations.find(({ name }) => path === `/v1beta/${name}`);
    if (operation === undefined) return problem(404, 'NOT_FOUND', 'Requested entity was not found.');
    const { name, instance } = operation;
    operation.polls += 1;
    // There is no `done` before the end.
    if (instance['prompt'] === 'endless' || operation.polls < 3) return { json: { name } };
    const uri = `${this.base}/files/file${name.slice(-4)}:download?alt=media`;
    const samples = { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } };
    const ending = ENDINGS[String(instance['prompt'])] ?? { response: { '@type': TYPE, ...samples } };
    return { json: { name, done: true, ...ending } };
  }

  private file(path: string): FakeAnswer {
    const to = `${this.server.url}/download${path}?alt=media`;
    return { status: 302, headers: { 'location': to, 'content-type': 'text/html; charset=UTF-8' }, body: '<html>' };
  }

  private bytes(): FakeAnswer {
    return { headers: { 'content-type': 'video/mp4' }, body: this.video };
  }
}

/** The message for the first fault of a request; undefined if there is none. */
function requestFault(instances: unknown, parameters: Json, others: Json): string | undefined {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  if (!Array.isArray(instances) || instances.length !== 1) return 'Exactly one instance is needed.';
  const { prompt, image, lastFrame, ...more } = instances[0] as Json;
  const { aspectRatio = '16:9', durationSeconds = 8, resolution = '720p', negativePrompt, seed, ...rest } = parameters;
  const [unsupported] = [...Object.keys(more), ...Object.keys(rest)];
  if (unsupported !== undefined) return `\`${unsupported}\` isn't supported by this model.`;
  if (typeof prompt !== 'string') return 'The prompt must be a string.';
  if ([image, lastFrame].some((one) => one !== undefined && !isImage(one))) return 'Unable to process input image.';
  if (lastFrame !== undefined && image === undefined) return '`lastFrame` needs `image`.';
  if (!['16:9', '9:16'].includes(aspectRatio as string)) return `Unsupported aspect ratio ${String(aspectRatio)}.`;
  if (![4, 6, 8].includes(durationSeconds as number)) return 'The number value for `durationSeconds` is out of bound.';
  if (!['720p', '1080p', '4k'].includes(resolution as string)) return 'Unsupported resolution.';
  if ((resolution !== '720p' || lastFrame !== undefined) && durationSeconds !== 8)
    return 'This combination needs a `durationSeconds` of 8.';
  if (negativePrompt !== undefined && typeof negativePrompt !== 'string') return 'Invalid `negativePrompt`.';
  return seed === undefined || Number.isInteger(seed) ? undefined : 'Invalid `seed`.';
}

function isImage(value: unknown): boolean {
  const { bytesBase64Encoded: bytes, mimeType, ...others } = value as Json;
  const isRight = typeof bytes === 'string' && /^[A-Za-z0-9+/]+=*$/.test(bytes);
  return isRight && /^image\/(?:png|jpeg)$/.test(String(mimeType)) && Object.keys(others).length === 0;
}

function filtered(reason: string): Json {
  const response = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: [reason] };
  return { response: { '@type': TYPE, 'generateVideoResponse': response } };
}

function problem(code: number, status: string, message: string, reason?: string): FakeAnswer {
  const details =
    reason === undefined
      ? {}
      : { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, 'domain': 'googleapis.com' }] };
  return { status: code, json: { error: { code, message, status, ...details } } };
}
