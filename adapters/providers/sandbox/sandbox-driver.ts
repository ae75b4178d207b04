import { availableParallelism } from 'node:os';
import type { ProviderDriver } from '../../driver.js';
import { sandboxCapabilities, settingsFault } from './plan.js';

/** Paints in this process, for trial use. */
export const sandboxDriver: ProviderDriver = {
  kind: 'provider',
  name: 'sandbox',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      threads: {
        type: 'integer',
        minimum: 0,
        maximum: 256,
        default: 0,
        description: "Threads that render. 0: one less than the machine's processors, and at least one.",
      },
    },
  },
  settingsFault,
  capabilities: sandboxCapabilities,
  async open({ options, clock, memory }) {
    const { SandboxProvider } = await import('./sandbox-provider.js');
    const { threads } = options as { readonly threads: number };
    return new SandboxProvider({ clock, threads: threads || Math.max(1, availableParallelism() - 1), memory });
  },
};
