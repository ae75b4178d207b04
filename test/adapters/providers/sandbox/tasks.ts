import type { ReferenceRole } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Clock } from '../../../../core/ports/machine.js';
import type { ProviderReference, Submission } from '../../../../core/ports/provider.js';
import { streamOf } from '../../../fixtures/byte-streams.js';

/** A manual clock: it moves only when it is advanced. */
export class HandClock implements Clock {
  #now = 1_000_000;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  /** The sandbox sets no alarms; a test would hang if it did. */
  after(): () => void {
    throw new Error('Nothing here sets alarms.');
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

export interface Wish {
  readonly token?: string;
  readonly attempt?: number;
  readonly prompt?: string;
  readonly negativePrompt?: string;
  readonly painter?: string;
  readonly parameters?: JsonObject;
  readonly references?: readonly ProviderReference[];
}

export function task(wish: Wish = {}): Submission {
  return {
    generationId: 'generation-1',
    attempt: wish.attempt ?? 1,
    modelKey: 'sandbox-image',
    operation: wish.painter === 'video' ? 'video_generation' : 'image_generation',
    prompt: wish.prompt ?? 'a lighthouse above the sea at dusk',
    ...(wish.negativePrompt === undefined ? {} : { negativePrompt: wish.negativePrompt }),
    parameters: wish.parameters ?? {},
    references: wish.references ?? [],
    settings: { painter: wish.painter ?? 'image' },
    token: wish.token ?? 'token-1',
    outputCount: 1,
    timeLeftMs: 60_000,
  };
}

export function referenceFile(role: ReferenceRole, bytes: Uint8Array): ProviderReference {
  return { role, mediaType: 'image/png', byteSize: bytes.byteLength, open: async () => streamOf(bytes) };
}
