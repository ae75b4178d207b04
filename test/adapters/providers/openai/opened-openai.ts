import { openAiDriver } from '../../../../adapters/providers/openai/openai-driver.js';
import { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import { openConnection } from '../../../../adapters/providers/shared/connection.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { ProviderReference, Submission } from '../../../../core/ports/provider.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf } from '../vendor-subject.js';

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
  return {
    generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
    attempt: 1,
    modelKey: 'gpt-image',
    operation: 'image_generation',
    prompt: 'a lighthouse',
    parameters: { n: 2 },
    references: [],
    settings: IMAGES,
    token: '7b7d9d2c-40be-4d28-b0f8-0f6c2c8a5a10',
    outputCount: 2,
    timeLeftMs: 60_000,
    ...wish,
  };
}

export function video(wish: Partial<Submission> = {}): Submission {
  return task({ operation: 'video_generation', settings: VIDEOS, outputCount: 1, parameters: {}, ...wish });
}

export function file(bytes: Uint8Array, mediaType = 'image/png'): ProviderReference {
  return {
    role: 'reference_image',
    mediaType,
    byteSize: bytes.byteLength,
    open: async () =>
      (async function* pieces() {
        for (let at = 0; at < bytes.byteLength; at += 1_000) yield bytes.subarray(at, at + 1_000);
      })(),
  };
}
