/*
 * Goal: APIs of different shapes are used by mappings alone, and each keeps the contracts of providers, whatever its server
 * answers.
 * Method: the shared contracts against fakes: one like Replicate, one like fal with separate URLs for states and
 * results, a fictional one with numbers as ids and results in base64, and those of Veo, Seedance and MiniMax with the
 * examples for them.
 */
import type { TaskErrorCode } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderCapabilities, Submission } from '../../../../core/ports/provider.js';
import type { RemoteProviderSupports } from '../../../contracts/remote-provider.contract.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { MinimaxFake } from '../../../providers/fakes/minimax-fake.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { SeedanceFake } from '../../../providers/fakes/seedance-fake.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import type { VendorFake } from '../../../providers/fakes/vendor-fake.js';
import { VeoFake } from '../../../providers/fakes/veo-fake.js';
import {
  CAPABILITIES,
  failuresOf,
  halfOf,
  proveContracts,
  QUEUED,
  type RefusalRow,
  refusalsOf,
  vendorSubject,
} from '../vendor-subject.js';
import { AUTH, exampleMapping, httpJsonAt, mapping, studioMapping, task } from './opened-http-json.js';

const KEY = 'contract-secret-of-http-json';

interface Api<Fake extends VendorFake> {
  readonly name: string;
  readonly openFake: () => Promise<Fake>;
  readonly tasksOf: (fake: Fake) => number;
  readonly auth: string;
  readonly settings: JsonObject;
  /** Set if they differ from those of most mappings. */
  readonly capabilities?: Partial<ProviderCapabilities>;
  readonly refusals: readonly RefusalRow[];
  readonly failures: readonly (readonly [prompt: string, code: TaskErrorCode, name: string])[];
  /** Whether it makes videos: the reference is a first frame then, there is one output, and none can be partial. */
  readonly isVideo?: boolean;
  /** Set if they differ from those of most mappings. */
  readonly supports?: Partial<RemoteProviderSupports>;
}

function prove<Fake extends VendorFake>(api: Api<Fake>): void {
  const { name, openFake, tasksOf, auth, settings, refusals, failures, isVideo = false, supports } = api;
  const taskOf = (wish: Partial<Submission>) => task({ settings, ...wish });
  proveContracts({
    name: `http-json, ${name}`,
    ...vendorSubject({
      openFake,
      providerAt: (base, options, log) => httpJsonAt(base, { auth, ...options }, log),
      tasksOf,
      task: taskOf,
      key: KEY,
      queued: QUEUED,
      withReference: (reference) => ({
        references: [isVideo ? { ...reference, role: 'start_frame' } : reference],
      }),
    }),
    supports: {
      capabilities: { ...CAPABILITIES, cancels: 'running', keepsResultsMs: 3_600_000, ...api.capabilities },
      cost: true,
      checksKey: true,
      readsErrors: true,
      ...supports,
    },
    refusals: refusalsOf(refusals),
    failures: failuresOf(taskOf, failures),
    ...(isVideo ? {} : { partial: halfOf(taskOf) }),
  });
}

/** The state is the member `status`, and outputs have their own URLs. */
const OF_TASKS = { hasStatusWord: 'listed', followsRedirects: true } as const;

const detail = (text: string) => ({ detail: text });
const BY_STATUS: readonly RefusalRow[] = [
  ['too many requests', 429, detail('Too many requests were made by you'), 'PROVIDER_UNAVAILABLE', 'capacity'],
  ['a wrong key', 401, detail('Your key is not known to this server'), 'PROVIDER_REJECTED', 'not-here'],
  ['an unknown model', 404, detail('This model is not known to this server'), 'MODEL_UNAVAILABLE', 'not-here'],
  ['an input that does not fit', 422, detail('The width is much too large'), 'INPUT_INVALID'],
  ['anything else', 400, detail('The server did not like it'), 'PROVIDER_REJECTED'],
];

prove({
  name: 'like Replicate',
  openFake: () => ReplicateFake.open(KEY),
  tasksOf: (fake) => fake.predictions.length,
  auth: AUTH.replicate,
  settings: mapping('replicate'),
  supports: OF_TASKS,
  refusals: [
    ...BY_STATUS,
    [
      'a full queue, said by a text',
      400,
      detail('The queue is full at this moment.'),
      'PROVIDER_UNAVAILABLE',
      'capacity',
    ],
  ],
  failures: [
    ['withheld', 'CONTENT_REJECTED_OUTPUT', 'the picture is withheld'],
    ['flagged', 'CONTENT_REJECTED_INPUT', 'the prompt is flagged'],
  ],
});

prove({
  name: 'like fal',
  openFake: () => FalFake.open(KEY),
  tasksOf: (fake) => fake.queue.length,
  auth: AUTH.fal,
  settings: mapping('fal'),
  supports: OF_TASKS,
  capabilities: { cancels: 'queued' },
  refusals: BY_STATUS,
  failures: [['withheld', 'CONTENT_REJECTED_INPUT', 'the prompt is refused']],
});

const studio = (kind: string, reason: string) => ({ error: { kind, reason } });
prove({
  name: 'of the example',
  openFake: () => StudioFake.open(KEY),
  tasksOf: (fake) => fake.jobs.length,
  auth: AUTH.studio,
  settings: studioMapping(),
  capabilities: { isAskedBy: 'token', takesTokenOnce: true, maxMaskedReferences: 1 },
  refusals: [
    ...BY_STATUS,
    [
      'no credit, said by a code',
      400,
      studio('no_credit', 'There is nothing left on your account'),
      'PROVIDER_REJECTED',
      'not-here',
    ],
    [
      'a server that is closed, and says so with 503',
      503,
      studio('closed', 'The studio is closed for today'),
      'PROVIDER_UNAVAILABLE',
      'capacity',
    ],
  ],
  failures: [
    ['forbidden', 'CONTENT_REJECTED_INPUT', 'the prompt is refused'],
    ['broken', 'INTERNAL_ERROR', 'its error is not listed'],
  ],
});

const SENTENCE = 'A sentence of the vendor about it';
const google = (code: number, status: string, reason?: string, message = SENTENCE) => ({
  error: {
    code,
    status,
    message,
    ...(reason === undefined ? {} : { details: [{ '@type': 'type.googleapis.com/x' }, { reason }] }),
  },
});
const FORBIDDEN = google(400, 'INVALID_ARGUMENT', undefined, 'The prompt violates our usage guidelines');
prove({
  name: 'for Veo',
  openFake: () => VeoFake.open(KEY),
  tasksOf: (fake) => fake.operations.length,
  auth: AUTH.veo,
  settings: exampleMapping('veo'),
  capabilities: { cancels: 'nothing', keepsResultsMs: 172_800_000 },
  isVideo: true,
  supports: { cost: false, followsRedirects: true },
  refusals: [
    ['a quota that is used up', 429, google(429, 'RESOURCE_EXHAUSTED'), 'PROVIDER_UNAVAILABLE', 'capacity'],
    [
      'a wrong key, with status 400',
      400,
      google(400, 'INVALID_ARGUMENT', 'API_KEY_INVALID'),
      'PROVIDER_REJECTED',
      'not-here',
    ],
    ['no billing for the project', 400, google(400, 'FAILED_PRECONDITION'), 'PROVIDER_REJECTED', 'not-here'],
    ['a missing key', 403, google(403, 'PERMISSION_DENIED'), 'PROVIDER_REJECTED', 'not-here'],
    ['an unknown model', 404, google(404, 'NOT_FOUND'), 'MODEL_UNAVAILABLE', 'not-here'],
    ['a wrong argument', 400, google(400, 'INVALID_ARGUMENT'), 'INPUT_INVALID'],
    ['a prompt that its policy forbids', 400, FORBIDDEN, 'CONTENT_REJECTED_INPUT'],
  ],
  failures: [
    ['forbidden', 'CONTENT_REJECTED_INPUT', 'the prompt is refused'],
    ['forbidden picture', 'CONTENT_REJECTED_INPUT', 'the first frame is refused'],
    ['forbidden result', 'CONTENT_REJECTED_OUTPUT', 'the video is withheld'],
    ['filtered without a reason', 'CONTENT_REJECTED_OUTPUT', 'the video is withheld without a reason'],
    ['broken', 'INTERNAL_ERROR', 'the operation breaks'],
    ['overloaded', 'PROVIDER_UNAVAILABLE', 'the vendor is overloaded'],
  ],
});

const arkRefusals = [
  [429, 'RateLimitExceeded.EndpointRPMExceeded', 'PROVIDER_UNAVAILABLE', 'capacity'],
  [429, 'ServerOverloaded', 'PROVIDER_UNAVAILABLE', 'capacity'],
  [401, 'AuthenticationError', 'PROVIDER_REJECTED', 'not-here'],
  [403, 'AccountOverdueError', 'PROVIDER_REJECTED', 'not-here'],
  [404, 'InvalidEndpointOrModel.NotFound', 'MODEL_UNAVAILABLE', 'not-here'],
  [404, 'ModelNotOpen', 'MODEL_UNAVAILABLE', 'not-here'],
  [400, 'InvalidParameter.UnsupportedRatio', 'INPUT_INVALID', undefined],
  [400, 'InputTextSensitiveContentDetected', 'CONTENT_REJECTED_INPUT', undefined],
  [400, 'InputImageSensitiveContentDetected.PrivacyInformation', 'CONTENT_REJECTED_INPUT', undefined],
  [400, 'SensitiveContentDetected.Violence', 'CONTENT_REJECTED_INPUT', undefined],
  [400, 'InputVideoSensitiveContentDetected', 'CONTENT_REJECTED_INPUT', undefined],
  [400, 'OutputVideoSensitiveContentDetected', 'CONTENT_REJECTED_OUTPUT', undefined],
] as const;
prove({
  name: 'for Seedance',
  openFake: () => SeedanceFake.open(KEY),
  tasksOf: (fake) => fake.tasks.length,
  auth: AUTH.seedance,
  settings: exampleMapping('seedance'),
  supports: OF_TASKS,
  capabilities: { cancels: 'queued', keepsResultsMs: 86_400_000 },
  isVideo: true,
  refusals: arkRefusals.map(([status, code, is, because]) => [
    code,
    status,
    { error: { code, message: SENTENCE, type: 'BadRequest' } },
    is,
    because,
  ]),
  failures: [
    ['forbidden result', 'CONTENT_REJECTED_OUTPUT', 'the video is refused'],
    ['broken', 'INTERNAL_ERROR', 'the task breaks'],
    ['expired', 'INTERNAL_ERROR', 'the task has expired'],
  ],
});

const minimaxRefusals = [
  [1002, 'PROVIDER_UNAVAILABLE', 'capacity'],
  [1004, 'PROVIDER_REJECTED', 'not-here'],
  [1008, 'PROVIDER_REJECTED', 'not-here'],
  [1026, 'CONTENT_REJECTED_INPUT', undefined],
  [1041, 'PROVIDER_UNAVAILABLE', 'capacity'],
  [2013, 'INPUT_INVALID', undefined],
  [2049, 'PROVIDER_REJECTED', 'not-here'],
] as const;
prove({
  name: 'for MiniMax',
  openFake: () => MinimaxFake.open(KEY),
  tasksOf: (fake) => fake.tasks.length,
  auth: AUTH.minimax,
  settings: exampleMapping('minimax'),
  supports: { ...OF_TASKS, cost: false },
  capabilities: { cancels: 'nothing', keepsResultsMs: 32_400_000 },
  isVideo: true,
  refusals: [
    ...BY_STATUS,
    ...minimaxRefusals.map(([status_code, code, because]): RefusalRow => [
      `the code ${status_code} in an answer of success`,
      200,
      { task_id: '', base_resp: { status_code, status_msg: SENTENCE } },
      code,
      because,
    ]),
  ],
  failures: [
    ['forbidden late', 'CONTENT_REJECTED_INPUT', 'the prompt is refused late'],
    ['forbidden result', 'CONTENT_REJECTED_OUTPUT', 'the video is refused'],
    ['broken', 'INTERNAL_ERROR', 'the task breaks'],
  ],
});
