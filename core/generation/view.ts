import type { Context } from '../context.js';
import type { Generation } from './generation.js';
import type { GenerationView } from './generation-view.js';

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
