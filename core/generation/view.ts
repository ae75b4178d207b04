import type { Context } from '../context.js';
import type { Generation, Output } from './generation.js';

export interface OutputView {
  readonly output: Output;
  /** Signed on each read; valid for the operator's `outputUrlMs`. */
  readonly url: string;
  /** The name that the file is served under. */
  readonly filename: string;
}

/** A generation as a front shows it: with an address for each output. */
export interface GenerationView {
  readonly generation: Generation;
  readonly outputs: readonly OutputView[];
  /** Present exactly while it has not ended, in milliseconds. */
  readonly pollAfterMs?: number;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

export async function viewGeneration(
  context: Pick<Context, 'objects' | 'clock' | 'settings'>,
  generation: Generation,
): Promise<GenerationView> {
  const expiresAt = context.clock.now() + context.settings.outputUrlMs;
  const outputs = await Promise.all(
    generation.outputs.map(async (output, index) => {
      const filename = `${generation.generationId}-${index + 1}.${EXTENSIONS[output.contentType] ?? 'bin'}`;
      const { url } = await context.objects.signGet({
        key: output.objectKey,
        mediaType: output.contentType,
        filename,
        expiresAt,
      });
      return { output, url, filename };
    }),
  );
  const isOpen = generation.completedAt === undefined;
  return { generation, outputs, ...(isOpen ? { pollAfterMs: context.settings.pollAfterMs } : {}) };
}
