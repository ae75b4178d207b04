import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { Submission } from '../../../core/ports/provider.js';
import { waitsOf } from '../shared/reference-bytes.js';
import { decodeMasked, decodeReference } from './decode-reference.js';
import type { Plan, Size } from './plan.js';
import type { RenderJob, RenderReference } from './render-job.js';
import { sizeToPaint } from './test-outputs.js';

/**
 * Decodes the references, one after another, and puts together what a thread needs. Throws `CallOver` when the call is
 * over.
 */
export async function toRenderJob(
  submission: Submission,
  plan: Exclude<Plan, { painter: 'noop' }>,
  memory: MemoryBudget,
  signal: AbortSignal,
): Promise<RenderJob> {
  const size = plan.painter === 'test' ? sizeToPaint(plan) : plan.size;
  const subject = {
    prompt: submission.prompt,
    negativePrompt: submission.negativePrompt ?? '',
    size,
    references: await decodeReferences(submission, size, memory, signal),
    ...(plan.seed === undefined ? {} : { seed: plan.seed }),
  };
  switch (plan.painter) {
    case 'image':
      return { ...subject, kind: 'image', count: plan.count, format: plan.format };
    case 'video':
      return {
        ...subject,
        kind: 'video',
        durationSeconds: plan.durationSeconds,
        framesPerSecond: plan.framesPerSecond,
      };
    case 'test':
      return { ...subject, kind: 'image', count: plan.count, format: 'png' };
  }
}

async function decodeReferences(
  { references }: Submission,
  size: Size,
  memory: MemoryBudget,
  signal: AbortSignal,
): Promise<RenderReference[]> {
  const decoded: RenderReference[] = [];
  for (const reference of references)
    decoded.push(
      reference.isMasked === true
        ? await decodeMasked(reference, size, memory, signal)
        : await decodeReference(reference, size, memory, waitsOf(signal)),
    );
  return decoded;
}
