import { bytesOf, reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import type { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { task, type Wish } from './tasks.js';

let serial = 0;

/** Runs a task that must succeed, under a new token unless one is given, and returns all its outputs. */
export async function render(provider: SandboxProvider, wish: Wish): Promise<Buffer[]> {
  const submission = task({ token: `render-${(serial += 1)}`, ...wish });
  const reference = await submitted(provider, submission);
  const last = (await reportsUntilOver(provider, reference, submission)).at(-1)!;
  if (last.state !== 'succeeded') throw new Error(`The task ended ${JSON.stringify(last)}.`);
  return Promise.all(last.outputs.map((_, index) => bytesOf(provider.output(reference, index))));
}
