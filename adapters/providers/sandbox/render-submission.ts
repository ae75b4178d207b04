import type { ProviderReference, Submission } from '../../../core/ports/provider.js';
import type { Plan } from './plan.js';
import type { RenderJob, RenderReference } from './render-job.js';
import { sizeToPaint } from './test-outputs.js';

/** Fetches the references and puts together what a thread needs. */
export async function toRenderJob(submission: Submission, plan: Exclude<Plan, { painter: 'noop' }>): Promise<RenderJob> {
  const subject = {
    prompt: submission.prompt,
    negativePrompt: submission.negativePrompt ?? '',
    references: await Promise.all(submission.references.map(fetchReference)),
    ...(plan.seed === undefined ? {} : { seed: plan.seed }),
  };
  switch (plan.painter) {
    case 'image': return { ...subject, kind: 'image', size: plan.size, count: plan.count, format: plan.format };
    case 'video': return { ...subject, kind: 'video', size: plan.size, durationSeconds: plan.durationSeconds,
      framesPerSecond: plan.framesPerSecond };
    case 'test': return { ...subject, kind: 'image', size: sizeToPaint(plan), count: plan.count, format: 'png' };
  }
}

/** Throws when there are more or fewer bytes than announced: then the file is not the one that was checked. */
async function fetchReference(reference: ProviderReference): Promise<RenderReference> {
  const bytes = new Uint8Array(reference.byteSize);
  let length = 0;
  for await (const chunk of await reference.open()) {
    if (length + chunk.byteLength > bytes.byteLength) throw new Error('A reference file is longer than announced.');
    bytes.set(chunk, length);
    length += chunk.byteLength;
  }
  if (length !== bytes.byteLength) throw new Error('A reference file is shorter than announced.');
  return { role: reference.role, bytes };
}
