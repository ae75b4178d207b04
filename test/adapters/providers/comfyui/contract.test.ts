import { providerContract } from '../../../contracts/provider.contract.js';
import type { OpenedRemoteProvider } from '../../../contracts/remote-provider.contract.js';
import { bytesOf } from '../../../fixtures/byte-streams.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import { refusal } from '../../../providers/fakes/comfyui-nodes.js';
import { CAPABILITIES, proveContracts, refusalsOf, vendorSubject } from '../vendor-subject.js';
import { comfyUiAt, reference, task } from './opened-comfyui.js';
import { EDIT_SETTINGS, folderWith, LONG_SETTINGS, WORKFLOWS } from './workflows.js';

/*
 * Goal: the provider for ComfyUI keeps the contracts of providers, with servers that have jobs and with older ones, and runs
 * under all of core.
 * Method: the shared contracts against a server that behaves as real ones were seen to, behind a proxy that asks for a key,
 * and the first of them against the real one that TEST_COMFYUI_URL names.
 */

const { folder, remove } = folderWith(WORKFLOWS);
after(remove);

const real = process.env['TEST_COMFYUI_URL'];
if (real === undefined) it.skip('keeps the contract with a real ComfyUI (skipped: TEST_COMFYUI_URL names no server)');
else
  providerContract({
    name: 'comfyui, a real server',
    open: async () => ({
      provider: comfyUiAt([real], { folder }),
      quick: (token: string) => task({ token }),
      endless: (token: string) => task({ token, settings: LONG_SETTINGS }),
    }),
    close: ({ provider }) => provider.close(),
    supports: { recovery: true, cancellation: true },
  });

const KEY = 'comfy-secret-5up3r';

for (const version of ['0.33.0', '0.3.64']) {
  const { fakeOf, ...opening } = vendorSubject({
    openFake: () => ComfyUiFake.open({ version, key: KEY }),
    providerAt: (base, options, log) => comfyUiAt([base], { folder, options, log }),
    tasksOf: (fake) => fake.tasks,
    task,
    key: KEY,
    endless: { settings: LONG_SETTINGS },
    queued: (fake) => {
      fake.queue.occupy();
      return {};
    },
    withReference: (given) => ({ settings: EDIT_SETTINGS, references: [given] }),
  });
  const broken = (exceptionType: string) => (opened: OpenedRemoteProvider, token: string) => {
    fakeOf(opened).queue.breakage = { node: '1', exceptionType };
    return task({ token });
  };

  proveContracts({
    name: `comfyui ${version}`,
    ...opening,
    supports: {
      capabilities: { ...CAPABILITIES, isAskedBy: 'token', settleMs: 30_000, cancels: 'running', isPaid: false },
      cost: false,
      checksKey: true,
      readsErrors: true,
      followsRedirects: true,
      ...(version === '0.33.0' ? { hasStatusWord: true } : {}),
      // An older server returns the whole queue.
      ...(version === '0.3.64' ? { maxAnswerBytes: 40 * 1024 * 1024 } : {}),
    },
    refusals: refusalsOf([
      [
        'a node that the server does not have',
        400,
        refusal('invalid_prompt', 'Cannot execute because node Unknown does not exist.', "Node ID '#1'"),
        'MODEL_UNAVAILABLE',
        'not-here',
      ],
      [
        'a model that the server does not have',
        400,
        withFault('9', 'ckpt_name', 'value_not_in_list'),
        'MODEL_UNAVAILABLE',
        'not-here',
      ],
      [
        'a value of the client that a node does not take',
        400,
        withFault('1', 'width', 'value_bigger_than_max'),
        'INPUT_INVALID',
      ],
      [
        'a key that a proxy does not take',
        401,
        { error: 'Unauthorized by the gateway' },
        'PROVIDER_REJECTED',
        'not-here',
      ],
      ['a proxy that limits the rate', 429, { error: 'Too many requests for now' }, 'PROVIDER_UNAVAILABLE', 'capacity'],
    ]),
    failures: [
      {
        name: 'a node runs out of memory',
        task: broken('torch.OutOfMemoryError'),
        code: 'PROVIDER_UNAVAILABLE',
      },
      { name: 'a node breaks', task: broken('RuntimeError'), code: 'INTERNAL_ERROR' },
      {
        name: 'a reference file is no image',
        task: (_, token) => task({ token, settings: EDIT_SETTINGS, references: [reference(bytesOf('<svg>'))] }),
        code: 'INPUT_INVALID',
      },
    ],
    partial: { task: (_, token) => task({ token, parameters: { n: 2 }, outputCount: 4 }), outputs: 2 },
  });
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
