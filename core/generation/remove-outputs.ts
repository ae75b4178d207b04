import type { Context } from '../context.js';
import { outputCountOf, type Generation, type Tombstone } from './generation.js';
import { outputKey } from './run/collect-outputs.js';

/** Under which keys there may be outputs. */
export type Written = NonNullable<Tombstone['written']>;

export function writtenBy(g: Generation): Written {
  return { fence: g.fence, outputs: outputCountOf(g) };
}

/** Every key a worker may have written to, whether or not it became an output: fences and outputs are both bounded. */
export async function removeOutputs(
  { objects }: Pick<Context, 'objects'>,
  generationId: string,
  { fence: last, outputs }: Written,
): Promise<void> {
  for (let fence = 1; fence <= last; fence += 1)
    for (let index = 0; index < outputs; index += 1) await objects.remove(outputKey(generationId, fence, index));
}
