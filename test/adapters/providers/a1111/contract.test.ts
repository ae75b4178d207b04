/*
 * Goal: the provider for Stable Diffusion web UI and its kin keeps the provider contract, and bears whatever a server does.
 * Method: the shared contracts, against a fake of each kind of server, which asks for a user name and a password.
 */
import type { ProviderPromises } from '../../../../core/ports/provider.js';
import { providerContract, type OpenedProvider } from '../../../contracts/provider.contract.js';
import {
  remoteProviderContract,
  type OpenedRemoteProvider,
  type RefusalCase,
} from '../../../contracts/remote-provider.contract.js';
import { A1111Fake, type A1111Vendor } from '../../../providers/fakes/a1111-fake.js';
import { recordingLog } from '../recording-log.js';
import { a1111At, task } from './opened-a1111.js';

const KEY = 'studio:word-of-the-contract';
const PROMISES: ProviderPromises = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'nothing',
  maxMaskedReferences: 1,
  isPaid: false,
};

const TASKS = {
  quick: (token: string) => task({ token }),
  endless: (token: string) => task({ token }),
};
const closers = new WeakMap<OpenedProvider, () => Promise<unknown>>();
const close = async (opened: OpenedProvider) => void (await closers.get(opened)?.());

async function open(vendor: A1111Vendor): Promise<OpenedRemoteProvider> {
  const fake = await A1111Fake.open(vendor, KEY);
  const { log, logged } = recordingLog();
  const made: { close(): Promise<void> }[] = [fake];
  const connected = (url = fake.url, key = KEY) => {
    const provider = a1111At(url, { api_key: key, connect_timeout_seconds: 1 }, log);
    made.push(provider);
    return provider;
  };
  const opened: OpenedRemoteProvider = {
    ...TASKS,
    provider: connected(),
    server: fake.server,
    tasks: () => fake.taken.length,
    secret: KEY,
    reopened: () => connected(),
    openedAt: (origin) => connected(origin),
    openedWithKey: (key) => connected(fake.url, `studio:${key}`),
    withReference: (token, reference) => task({ token, references: [reference] }),
    logged,
  };
  closers.set(opened, () => Promise.all(made.map((one) => one.close())));
  return opened;
}

for (const vendor of ['a1111', 'forge', 'sdnext'] as const) {
  providerContract({
    name: `a1111 at ${vendor}`,
    open: () => open(vendor),
    close,
    supports: { recovery: false, cancellation: false, answersWithOutputs: true },
  });
}

remoteProviderContract({
  name: 'a1111',
  open: () => open('a1111'),
  close,
  supports: { promises: PROMISES, cost: false, checksKey: true, readsErrors: true },
  refusals: [
    { name: 'a proxy that is full', status: 429, body: {}, code: 'PROVIDER_UNAVAILABLE', because: 'capacity' },
    refusal(401, 'Incorrect username or password', { code: 'PROVIDER_REJECTED', because: 'not-here' }),
    { name: 'a proxy that forbids it', status: 403, body: {}, code: 'PROVIDER_REJECTED', because: 'not-here' },
    refusal(404, 'Sampler not found', { code: 'MODEL_UNAVAILABLE' }),
    {
      ...refusal(400, 'Sampler not found', { code: 'MODEL_UNAVAILABLE' }),
      name: 'a sampler that web UI 1.10 or Forge does not have',
    },
    { ...refusal(404, 'Not Found', { code: 'MODEL_UNAVAILABLE', because: 'not-here' }), name: 'no API on this server' },
    { name: 'no such method', status: 405, body: {}, code: 'MODEL_UNAVAILABLE', because: 'not-here' },
    {
      name: 'a field of another type',
      status: 422,
      body: { detail: [{ loc: ['body', 'steps'], msg: 'value is not a valid integer', type: 'type_error.integer' }] },
      code: 'MODEL_UNAVAILABLE',
    },
    { name: 'a request that is too large for a proxy', status: 413, body: {}, code: 'INPUT_INVALID' },
    refusal(500, 'Invalid encoded image', { code: 'INPUT_INVALID' }),
    refusal(500, 'Invalid image format', { code: 'MODEL_UNAVAILABLE' }),
    refusal(400, 'Another thing that is wrong', { code: 'PROVIDER_REJECTED' }),
    {
      name: 'memory that is short',
      status: 500,
      body: {
        error: 'OutOfMemoryError',
        detail: '',
        body: '',
        errors: 'CUDA out of memory. Tried to allocate 2.00 GiB /srv/webui/modules/api.py',
      },
      code: 'INTERNAL_ERROR',
    },
  ],
  failures: [
    { name: 'the model gives no numbers', task: (_, token) => task({ token, prompt: 'nan' }), code: 'INTERNAL_ERROR' },
    { name: 'nothing was made', task: (_, token) => task({ token, prompt: 'nothing' }), code: 'INTERNAL_ERROR' },
  ],
  partial: { task: (_, token) => task({ token, prompt: 'fewer', outputCount: 2 }), outputs: 1 },
});

function refusal(status: number, detail: string, is: Pick<RefusalCase, 'code' | 'because'>): RefusalCase {
  return { name: `${status} ${detail}`, status, body: { detail }, ...is };
}
