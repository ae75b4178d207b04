/*
 * Goal: APIs of different shapes are used by mappings alone, and each keeps the contracts of providers, whatever its server
 * answers.
 * Method: the shared contracts against fakes: one like Replicate, one like fal with separate URLs for states and
 * results, a fictional one with numbers as ids and results in base64, and those of Veo, Seedance and MiniMax with the
 * examples for them.
 */
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderCapabilities, Submission } from '../../../../core/ports/provider.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import {
  type OpenedRemoteProvider,
  type RefusalCase,
  remoteProviderContract,
  type RemoteProviderSubject,
} from '../../../contracts/remote-provider.contract.js';
import type { FakeServer } from '../../../providers/fakes/fake-server.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { MinimaxFake } from '../../../providers/fakes/minimax-fake.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { SeedanceFake } from '../../../providers/fakes/seedance-fake.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { VeoFake } from '../../../providers/fakes/veo-fake.js';
import { recordingLog } from '../vendor-subject.js';
import { AUTH, exampleMapping, httpJsonAt, mapping, studioMapping, task } from './opened-http-json.js';

const KEY = 'contract-secret-of-http-json';
const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();

interface Api {
  readonly server: FakeServer;
  readonly base: string;
  readonly tasks: () => number;
  close(): Promise<void>;
}

interface Case {
  readonly name: string;
  readonly api: () => Promise<Api>;
  /** The path of the routes, behind the origin. */
  readonly path: string;
  readonly auth: string;
  readonly settings: JsonObject;
  readonly capabilities: ProviderCapabilities;
  readonly refusals: readonly RefusalCase[];
  readonly failures: RemoteProviderSubject['failures'];
  /** Whether it makes videos: the reference is a first frame then, there is one output, and none can be partial. */
  readonly isVideo?: boolean;
  /** Whether an ended task reports its cost; it does when absent. */
  readonly hasCost?: boolean;
  /** Whether the state is the member `status`. */
  readonly hasStatusWord?: boolean;
  /** Whether outputs have their own URLs; they do when absent. */
  readonly hasAddresses?: boolean;
}

function openCase({ api, path, auth, settings, isVideo = false }: Case) {
  return async (): Promise<OpenedRemoteProvider> => {
    const fake = await api();
    const { log, logged } = recordingLog();
    const made: HttpJsonProvider[] = [];
    const connected = (base = fake.base, options: JsonObject = {}) => {
      const provider = httpJsonAt(base, { auth, api_key: KEY, connect_timeout_seconds: 1, ...options }, log);
      made.push(provider);
      return provider;
    };
    const taskOf = (token: string, wish: Partial<Submission> = {}) => task({ settings, token, ...wish });
    const opened: OpenedRemoteProvider = {
      provider: connected(),
      server: fake.server,
      tasks: fake.tasks,
      secret: KEY,
      reopened: () => connected(),
      openedAt: (origin) => connected(`${origin}${path}`),
      openedWithKey: (key) => connected(fake.base, { api_key: key }),
      quick: (token) => taskOf(token),
      endless: (token) => taskOf(token, { prompt: 'endless' }),
      queued: (token) => taskOf(token, { prompt: 'queued' }),
      withReference: (token, reference) =>
        taskOf(token, { references: [isVideo ? { ...reference, role: 'start_frame' } : reference] }),
      logged,
    };
    closers.set(opened, async () => {
      await Promise.all(made.map((provider) => provider.close()));
      await fake.close();
    });
    return opened;
  };
}

function proveContracts(one: Case): void {
  const { settings, capabilities, refusals, failures, isVideo = false, hasCost = true } = one;
  const { hasStatusWord = false, hasAddresses = true } = one;
  const subject: RemoteProviderSubject = {
    name: one.name,
    open: openCase(one),
    close: async (opened) => closers.get(opened)?.(),
    supports: {
      capabilities,
      cost: hasCost,
      checksKey: true,
      readsErrors: true,
      ...(hasStatusWord ? { hasStatusWord: 'listed' } : {}),
      ...(hasAddresses ? { followsRedirects: true } : {}),
    },
    refusals,
    failures,
    ...(isVideo
      ? {}
      : {
          partial: {
            outputs: 1,
            task: (_, token) => task({ settings, token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }),
          },
        }),
  };
  providerContract({
    ...subject,
    supports: {
      recovery: capabilities.isAskedBy === 'token',
      takesTokenOnce: capabilities.takesTokenOnce,
      cancellation: capabilities.cancels === 'running',
      answersWithOutputs: false,
    },
  });
  remoteProviderContract(subject);
}

const PROMISES: ProviderCapabilities = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'running',
  keepsResultsMs: 3_600_000,
  isPaid: true,
};
const BY_STATUS: readonly RefusalCase[] = [
  {
    name: 'too many requests',
    status: 429,
    body: { detail: 'Too many requests were made by you' },
    code: 'PROVIDER_UNAVAILABLE',
    because: 'capacity',
  },
  {
    name: 'a wrong key',
    status: 401,
    body: { detail: 'Your key is not known to this server' },
    code: 'PROVIDER_REJECTED',
    because: 'not-here',
  },
  {
    name: 'an unknown model',
    status: 404,
    body: { detail: 'This model is not known to this server' },
    code: 'MODEL_UNAVAILABLE',
    because: 'not-here',
  },
  {
    name: 'an input that does not fit',
    status: 422,
    body: { detail: 'The width is much too large' },
    code: 'INPUT_INVALID',
  },
  { name: 'anything else', status: 400, body: { detail: 'The server did not like it' }, code: 'PROVIDER_REJECTED' },
];
const failing = (settings: JsonObject, prompt: string) => (_: OpenedRemoteProvider, token: string) =>
  task({ settings, token, prompt });

const replicate = mapping('replicate');
proveContracts({
  name: 'http-json, like Replicate',
  api: async () => {
    const fake = await ReplicateFake.open(KEY);
    return { server: fake.server, base: fake.base, tasks: () => fake.predictions.length, close: () => fake.close() };
  },
  path: '/v1',
  auth: AUTH.replicate,
  settings: replicate,
  hasStatusWord: true,
  capabilities: PROMISES,
  refusals: [
    ...BY_STATUS,
    {
      name: 'a full queue, said by a text',
      status: 400,
      body: { detail: 'The queue is full at this moment.' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
  ],
  failures: [
    { name: 'the picture is withheld', code: 'CONTENT_REJECTED_OUTPUT', task: failing(replicate, 'withheld') },
    { name: 'the prompt is flagged', code: 'CONTENT_REJECTED_INPUT', task: failing(replicate, 'flagged') },
  ],
});

const fal = mapping('fal');
proveContracts({
  name: 'http-json, like fal',
  api: async () => {
    const fake = await FalFake.open(KEY);
    return { server: fake.server, base: fake.base, tasks: () => fake.queue.length, close: () => fake.close() };
  },
  path: '',
  auth: AUTH.fal,
  settings: fal,
  hasStatusWord: true,
  capabilities: { ...PROMISES, cancels: 'queued' },
  refusals: BY_STATUS,
  failures: [{ name: 'the prompt is refused', code: 'CONTENT_REJECTED_INPUT', task: failing(fal, 'withheld') }],
});

const studio = studioMapping();
proveContracts({
  name: 'http-json, of the example',
  api: async () => {
    const fake = await StudioFake.open(KEY);
    return { server: fake.server, base: fake.base, tasks: () => fake.jobs.length, close: () => fake.close() };
  },
  path: '/api',
  auth: AUTH.studio,
  settings: studio,
  hasAddresses: false,
  capabilities: { ...PROMISES, isAskedBy: 'token', takesTokenOnce: true, maxMaskedReferences: 1 },
  refusals: [
    ...BY_STATUS,
    {
      name: 'no credit, said by a code',
      status: 400,
      body: { error: { kind: 'no_credit', reason: 'There is nothing left on your account' } },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'a server that is closed, and says so with 503',
      status: 503,
      body: { error: { kind: 'closed', reason: 'The studio is closed for today' } },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
  ],
  failures: [
    { name: 'the prompt is refused', code: 'CONTENT_REJECTED_INPUT', task: failing(studio, 'forbidden') },
    { name: 'its error is not listed', code: 'INTERNAL_ERROR', task: failing(studio, 'broken') },
  ],
});

const veo = exampleMapping('veo');
const google = (code: number, status: string, reason?: string) => ({
  error: {
    code,
    status,
    message: 'A sentence of the vendor about it',
    ...(reason === undefined ? {} : { details: [{ '@type': 'type.googleapis.com/x' }, { reason }] }),
  },
});
proveContracts({
  name: 'http-json, for Veo',
  api: async () => {
    const fake = await VeoFake.open(KEY);
    return { server: fake.server, base: fake.base, tasks: () => fake.operations.length, close: () => fake.close() };
  },
  path: '/v1beta',
  auth: AUTH.veo,
  settings: veo,
  capabilities: { ...PROMISES, cancels: 'nothing', keepsResultsMs: 172_800_000 },
  isVideo: true,
  hasCost: false,
  refusals: [
    {
      name: 'a quota that is used up',
      status: 429,
      body: google(429, 'RESOURCE_EXHAUSTED'),
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'a wrong key, with status 400',
      status: 400,
      body: google(400, 'INVALID_ARGUMENT', 'API_KEY_INVALID'),
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'no billing for the project',
      status: 400,
      body: google(400, 'FAILED_PRECONDITION'),
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'a missing key',
      status: 403,
      body: google(403, 'PERMISSION_DENIED'),
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'an unknown model',
      status: 404,
      body: google(404, 'NOT_FOUND'),
      code: 'MODEL_UNAVAILABLE',
      because: 'not-here',
    },
    { name: 'a wrong argument', status: 400, body: google(400, 'INVALID_ARGUMENT'), code: 'INPUT_INVALID' },
    {
      name: 'a prompt that its policy forbids',
      status: 400,
      body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'The prompt violates our usage guidelines' } },
      code: 'CONTENT_REJECTED_INPUT',
    },
  ],
  failures: [
    { name: 'the prompt is refused', code: 'CONTENT_REJECTED_INPUT', task: failing(veo, 'forbidden') },
    { name: 'the first frame is refused', code: 'CONTENT_REJECTED_INPUT', task: failing(veo, 'forbidden picture') },
    { name: 'the video is withheld', code: 'CONTENT_REJECTED_OUTPUT', task: failing(veo, 'forbidden result') },
    {
      name: 'the video is withheld without a reason',
      code: 'CONTENT_REJECTED_OUTPUT',
      task: failing(veo, 'filtered without a reason'),
    },
    { name: 'the operation breaks', code: 'INTERNAL_ERROR', task: failing(veo, 'broken') },
    { name: 'the vendor is overloaded', code: 'PROVIDER_UNAVAILABLE', task: failing(veo, 'overloaded') },
  ],
});

const seedance = exampleMapping('seedance');
const ark = (code: string) => ({ error: { code, message: 'A sentence of the vendor about it', type: 'BadRequest' } });
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
proveContracts({
  name: 'http-json, for Seedance',
  api: async () => {
    const fake = await SeedanceFake.open(KEY);
    return { server: fake.server, base: fake.base, tasks: () => fake.tasks.length, close: () => fake.close() };
  },
  path: '/api/v3',
  auth: AUTH.seedance,
  settings: seedance,
  hasStatusWord: true,
  capabilities: { ...PROMISES, cancels: 'queued', keepsResultsMs: 86_400_000 },
  isVideo: true,
  refusals: arkRefusals.map(([status, vendorCode, code, because]) => ({
    name: vendorCode,
    status,
    body: ark(vendorCode),
    code,
    ...(because === undefined ? {} : { because }),
  })),
  failures: [
    { name: 'the video is refused', code: 'CONTENT_REJECTED_OUTPUT', task: failing(seedance, 'forbidden result') },
    { name: 'the task breaks', code: 'INTERNAL_ERROR', task: failing(seedance, 'broken') },
    { name: 'the task has expired', code: 'INTERNAL_ERROR', task: failing(seedance, 'expired') },
  ],
});

const minimax = exampleMapping('minimax');
const minimaxRefusals = [
  [1002, 'PROVIDER_UNAVAILABLE', 'capacity'],
  [1004, 'PROVIDER_REJECTED', 'not-here'],
  [1008, 'PROVIDER_REJECTED', 'not-here'],
  [1026, 'CONTENT_REJECTED_INPUT', undefined],
  [1041, 'PROVIDER_UNAVAILABLE', 'capacity'],
  [2013, 'INPUT_INVALID', undefined],
  [2049, 'PROVIDER_REJECTED', 'not-here'],
] as const;
proveContracts({
  name: 'http-json, for MiniMax',
  api: async () => {
    const fake = await MinimaxFake.open(KEY);
    return { server: fake.server, base: fake.base, tasks: () => fake.tasks.length, close: () => fake.close() };
  },
  path: '/v1',
  auth: AUTH.minimax,
  settings: minimax,
  hasStatusWord: true,
  capabilities: { ...PROMISES, cancels: 'nothing', keepsResultsMs: 32_400_000 },
  isVideo: true,
  hasCost: false,
  refusals: [
    ...BY_STATUS,
    ...minimaxRefusals.map(([status_code, code, because]) => ({
      name: `the code ${status_code} in an answer of success`,
      status: 200,
      body: { task_id: '', base_resp: { status_code, status_msg: 'A sentence of the vendor about it' } },
      code,
      ...(because === undefined ? {} : { because }),
    })),
  ],
  failures: [
    { name: 'the prompt is refused late', code: 'CONTENT_REJECTED_INPUT', task: failing(minimax, 'forbidden late') },
    { name: 'the video is refused', code: 'CONTENT_REJECTED_OUTPUT', task: failing(minimax, 'forbidden result') },
    { name: 'the task breaks', code: 'INTERNAL_ERROR', task: failing(minimax, 'broken') },
  ],
});
