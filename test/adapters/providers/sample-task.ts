import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { ProviderReference, Submission, SubmitAnswer, SubmittedOutput } from '../../../core/ports/provider.js';
import { inPieces } from '../../fixtures/byte-streams.js';

/** A task for one picture, with what a test wishes. */
export function sampleTask(wish: Partial<Submission> & Pick<Submission, 'settings'>): Submission {
  return {
    generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
    attempt: 1,
    modelKey: 'sd',
    operation: 'image_generation',
    prompt: 'a lighthouse',
    parameters: {},
    references: [],
    token: '7b7d9d2c-40be-4d28-b0f8-0f6c2c8a5a10',
    outputCount: 1,
    timeLeftMs: 60_000,
    ...wish,
  };
}

/** A reference that comes in small pieces, a large one in some. */
export function referenceOf(bytes: Uint8Array, role: ReferenceRole = 'reference_image'): ProviderReference {
  const { byteLength: byteSize } = bytes;
  return {
    role,
    mediaType: 'image/png',
    byteSize,
    open: async () => inPieces(bytes, Math.max(100, byteSize >> 6)),
  };
}

const closes: (() => void)[] = [];

/** The outputs of an answer that must have them, which `closeAnswers` frees. */
export async function outputsOf(answer: Promise<SubmitAnswer>): Promise<readonly SubmittedOutput[]> {
  const given = await answer;
  if (!('outputs' in given)) throw new Error('The answer has no outputs.');
  if (given.close !== undefined) closes.push(given.close);
  return given.outputs;
}

/** Closes the answers whose outputs a test was given, as core does when it has read them. */
export function closeAnswers(): void {
  for (const close of closes.splice(0)) close();
}
