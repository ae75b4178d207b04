import { type OpenedProvider, providerContract } from '../../../contracts/provider.contract.js';
import { type OpenedRemoteProvider, remoteProviderContract } from '../../../contracts/remote-provider.contract.js';
import { bytesOf } from '../../../fixtures/byte-streams.js';
import { refusal } from '../../../providers/fakes/comfyui-nodes.js';
import { comfyUiAt, openStudio, reference, type Studio, task } from './opened-comfyui.js';
import { EDIT_SETTINGS, folderWith, LONG_SETTINGS, WORKFLOWS } from './workflows.js';

/*
 * Goal: the provider for ComfyUI keeps the provider contract, with servers that have jobs and with older ones.
 * Method: the shared contract against a server that behaves as real ones were seen to, and against the real one that
 * TEST_COMFYUI_URL names.
 */

const closing = new Map<OpenedProvider, () => Promise<unknown>>();
const close = async (subject: OpenedProvider) => void (await closing.get(subject)?.());
const supports = { recovery: true, cancellation: true };
const quick = (token: string) => task({ token });
const endless = (token: string) => task({ token, settings: LONG_SETTINGS });

for (const version of ['0.33.0', '0.3.64'])
  providerContract({
    name: `comfyui ${version}`,
    open: async () => {
      const studio = await openStudio({ version });
      const subject = { provider: studio.provider, quick, endless };
      closing.set(subject, studio.close);
      return subject;
    },
    close,
    supports,
  });

const real = process.env['TEST_COMFYUI_URL'];
if (real === undefined) it.skip('keeps the contract with a real ComfyUI (skipped: TEST_COMFYUI_URL names no server)');
else
  providerContract({
    name: 'comfyui, a real server',
    open: async () => {
      const { folder, remove } = folderWith(WORKFLOWS);
      const provider = comfyUiAt([real], { folder });
      const subject = { provider, quick, endless };
      closing.set(subject, async () => {
        await provider.close();
        remove();
      });
      return subject;
    },
    close,
    supports,
  });

/*
 * Goal: the provider for ComfyUI keeps the contract of remote providers, with servers that have jobs and with older ones, and runs
 * under all of core.
 * Method: the shared contract against a server that behaves as real ones were seen to, behind a proxy that asks for a key.
 */

const KEY = 'comfy-secret-5up3r';
const studios = new Map<OpenedRemoteProvider, Studio>();

function studioOf(opened: OpenedRemoteProvider): Studio {
  const studio = studios.get(opened);
  if (studio === undefined) throw new Error('It was not opened here.');
  return studio;
}

async function open(version: string): Promise<OpenedRemoteProvider> {
  const studio = await openStudio({ version, key: KEY }, { options: { api_key: KEY } });
  const { fake, provider, another, log } = studio;
  const opened: OpenedRemoteProvider = {
    provider,
    quick: (token) => task({ token }),
    endless: (token) => task({ token, settings: LONG_SETTINGS }),
    server: fake.server,
    tasks: () => fake.tasks,
    secret: KEY,
    reopened: () => another(),
    openedAt: (origin) => another({ servers: [origin], options: { api_key: KEY, connect_timeout_seconds: 1 } }),
    openedWithKey: (key) => another({ options: { api_key: key } }),
    withReference: (token, given) => task({ token, settings: EDIT_SETTINGS, references: [given] }),
    queued: (token) => {
      fake.queue.occupy();
      return task({ token });
    },
    logged: () => JSON.stringify(log.lines),
  };
  studios.set(opened, studio);
  return opened;
}

for (const version of ['0.33.0', '0.3.64'])
  remoteProviderContract({
    name: `comfyui ${version}`,
    open: () => open(version),
    close: async (opened) => {
      await studioOf(opened).close();
      studios.delete(opened);
    },
    supports: {
      capabilities: {
        answersWithOutputs: false,
        isAskedBy: 'token',
        takesTokenOnce: false,
        settleMs: 30_000,
        cancels: 'running',
        isPaid: false,
      },
      cost: false,
      checksKey: true,
      readsErrors: true,
      followsRedirects: true,
      ...(version === '0.33.0' ? { hasStatusWord: true } : {}),
      // An older server returns the whole queue.
      ...(version === '0.3.64' ? { maxAnswerBytes: 40 * 1024 * 1024 } : {}),
    },
    refusals: [
      {
        name: 'a node that the server does not have',
        status: 400,
        body: refusal('invalid_prompt', 'Cannot execute because node Unknown does not exist.', "Node ID '#1'"),
        code: 'MODEL_UNAVAILABLE',
        because: 'not-here',
      },
      {
        name: 'a model that the server does not have',
        status: 400,
        body: withFault('9', 'ckpt_name', 'value_not_in_list'),
        code: 'MODEL_UNAVAILABLE',
        because: 'not-here',
      },
      {
        name: 'a value of the client that a node does not take',
        status: 400,
        body: withFault('1', 'width', 'value_bigger_than_max'),
        code: 'INPUT_INVALID',
      },
      {
        name: 'a key that a proxy does not take',
        status: 401,
        body: { error: 'Unauthorized by the gateway' },
        code: 'PROVIDER_REJECTED',
        because: 'not-here',
      },
      {
        name: 'a proxy that limits the rate',
        status: 429,
        body: { error: 'Too many requests for now' },
        code: 'PROVIDER_UNAVAILABLE',
        because: 'capacity',
      },
    ],
    failures: [
      {
        name: 'a node runs out of memory',
        task: (opened, token) => broken(opened, token, 'torch.OutOfMemoryError'),
        code: 'PROVIDER_UNAVAILABLE',
      },
      {
        name: 'a node breaks',
        task: (opened, token) => broken(opened, token, 'RuntimeError'),
        code: 'INTERNAL_ERROR',
      },
      {
        name: 'a reference file is no image',
        task: (_, token) => task({ token, settings: EDIT_SETTINGS, references: [reference(bytesOf('<svg>'))] }),
        code: 'INPUT_INVALID',
      },
    ],
    partial: { task: (_, token) => task({ token, parameters: { n: 2 }, outputCount: 4 }), outputs: 2 },
  });

function broken(opened: OpenedRemoteProvider, token: string, exceptionType: string) {
  studioOf(opened).fake.queue.breakage = { node: '1', exceptionType };
  return task({ token });
}

function withFault(node: string, input: string, type: string): object {
  const fault = {
    type,
    message: 'This value is out of range',
    details: '/root/ComfyUI',
    extra_info: { input_name: input },
  };
  return {
    ...refusal('prompt_outputs_failed_validation', 'Prompt outputs failed validation', ''),
    node_errors: { [node]: { errors: [fault], dependent_outputs: ['4'], class_type: 'EmptyImage' } },
  };
}
