import { openAiDriver } from '../../../../adapters/providers/openai/openai-driver.js';
import { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import { openConnection } from '../../../../adapters/providers/shared/connection.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { ProviderReference, Submission } from '../../../../core/ports/provider.js';
import { inPieces } from '../../../fixtures/byte-streams.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

export const IMAGES: JsonObject = { model: 'gpt-image-2' };
export const VIDEOS: JsonObject = { preset: 'vllm-omni', api: 'video' };

/** An instance with the defaults of its driver. */
export function openAiAt(base: string, options: JsonObject = {}, log: Log = SILENT): OpenAiProvider {
  const given = { ...defaultsOf(openAiDriver.options), base_url: base, ...options };
  return new OpenAiProvider({
    name: 'openai',
    connection: openConnection({ options: given, instance: 'openai' }),
    maxOutputBytes: 4 * 1024 * 1024,
    log,
    memory: new MemoryBudget(64 * 1024 * 1024),
  });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return sampleTask({ modelKey: 'gpt-image', parameters: { n: 2 }, settings: IMAGES, outputCount: 2, ...wish });
}

export function video(wish: Partial<Submission> = {}): Submission {
  return task({ operation: 'video_generation', settings: VIDEOS, outputCount: 1, parameters: {}, ...wish });
}

export function file(bytes: Uint8Array, mediaType = 'image/png'): ProviderReference {
  const open = async () => inPieces(bytes, 1_000);
  return { role: 'reference_image', mediaType, byteSize: bytes.byteLength, open };
}
