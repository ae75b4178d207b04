/*
 * Goal: the provider for ComfyUI keeps the provider contract, with servers that have jobs and with older ones.
 * Method: the shared contract against a server that behaves as real ones were seen to, and against the real one that
 * TEST_COMFYUI_URL names.
 */
import { providerContract, type OpenedProvider } from '../../../contracts/provider.contract.js';
import { comfyUiAt, openStudio, task } from './opened-comfyui.js';
import { folderWith, LONG_SETTINGS, WORKFLOWS } from './workflows.js';

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
