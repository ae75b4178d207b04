import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { ProviderFailure } from '../../../core/ports/provider.js';
import type { ImageFormat, Size } from './plan.js';

/** A reference of the size of the picture: three bytes a pixel, top row first. */
export interface RenderReference {
  readonly role: ReferenceRole;
  readonly pixels: Uint8Array;
  /** One byte a pixel: 255 where the picture is to be painted anew, 0 where this reference is kept. Absent for all of it. */
  readonly mask?: Uint8Array;
}

interface RenderSubject {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly seed?: number;
  readonly size: Size;
  readonly references: readonly RenderReference[];
}

/** The job of a rendering thread. The same job gives the same bytes, in any process. */
export type RenderJob =
  | (RenderSubject & { readonly kind: 'image'; readonly count: number; readonly format: ImageFormat })
  | (RenderSubject & { readonly kind: 'video'; readonly durationSeconds: number; readonly framesPerSecond: number });

export interface Rendered {
  readonly kind: 'image' | 'video';
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export type RenderOutcome =
  | { readonly state: 'done'; readonly outputs: readonly Rendered[] }
  | { readonly state: 'failed'; readonly failure: ProviderFailure }
  | { readonly state: 'aborted' };

/** From the pool to a thread. The first number of `abort` becomes 1 when the result is no longer needed. */
export interface RenderRequest {
  readonly job: RenderJob;
  readonly abort: Int32Array;
}

/** From a thread to the pool. */
export type RenderMessage = { readonly progress: number } | { readonly outcome: RenderOutcome };

/** What painting code may use of the thread around it. */
export interface RenderControl {
  progress(share: number): void;
  /** Throws `RenderAborted` when the result is no longer needed; to be called between pieces of work. */
  check(): void;
}

export class RenderAborted extends Error {
  constructor() {
    super('The rendering was stopped.');
    this.name = 'RenderAborted';
  }
}
