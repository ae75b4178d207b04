/*
 * Goal: three APIs of different shapes are used by mappings alone, and each keeps the contracts of providers, whatever its
 * server answers.
 * Method: the shared contracts against fakes of the three: one like Replicate, one like fal with addresses of its own for
 * states and results, and one of nobody with numbers as ids and results in base64.
 */
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderPromises, Submission } from '../../../../core/ports/provider.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import {
  remoteProviderContract,
  type OpenedRemoteProvider,
  type RefusalCase,
  type RemoteProviderSubject,
} from '../../../contracts/remote-provider.contract.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import type { FakeServer } from '../../../providers/fakes/fake-server.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { recordingLog } from '../recording-log.js';
import { AUTH, httpJsonAt, mapping, studioMapping, task } from './opened-http-json.js';

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
  readonly promises: ProviderPromises;
  readonly refusals: readonly RefusalCase[];
  readonly failures: RemoteProviderSubject['failures'];
}

function openCase({ api, path, auth, settings }: Case) {
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
      withReference: (token, reference) => taskOf(token, { references: [reference] }),
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
  const { settings, promises, refusals, failures } = one;
  const subject: RemoteProviderSubject = {
    name: one.name,
    open: openCase(one),
    close: async (opened) => closers.get(opened)?.(),
    supports: { promises, cost: true, checksKey: true },
    refusals,
    failures,
    partial: {
      outputs: 1,
      task: (_, token) => task({ settings, token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }),
    },
  };
  providerContract({
    ...subject,
    supports: {
      recovery: promises.isAskedBy === 'token',
      takesTokenOnce: promises.takesTokenOnce,
      cancellation: promises.cancels === 'running',
      answersWithOutputs: false,
    },
  });
  remoteProviderContract(subject);
}

const PROMISES: ProviderPromises = {
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
  promises: PROMISES,
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
  promises: { ...PROMISES, cancels: 'queued' },
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
  promises: { ...PROMISES, isAskedBy: 'token', takesTokenOnce: true },
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
