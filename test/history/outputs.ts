import type { Generation } from '../../core/generation/generation.js';
import type { Json } from '../../core/json.js';
import type { Finding } from './finding.js';
import { textOf } from './values.js';

/** How far a video may be from the duration that was asked for. */
const DURATION_OFF_MS = 250;

/** What a request asked its outputs to be. A member that is no such value was not asked for. */
export interface AskedOutputs {
  readonly count: number;
  /** Width and height as in `128x128`. */
  readonly size: Json | undefined;
  readonly durationSeconds: Json | undefined;
  /** Whether outputs of another size or duration are refused; true when absent. */
  readonly isExact?: boolean;
}

/**
 * Invariants 3, 9 and 16: a generation delivers outputs of the kind that was asked for, no more, and nothing twice; of the
 * size and the duration that were asked for where the model says so.
 */
export function* checkOutputs(
  { generationId, modality, outputs }: Pick<Generation, 'generationId' | 'modality' | 'outputs'>,
  { count, size, durationSeconds, isExact = true }: AskedOutputs,
): Iterable<Finding> {
  if (outputs.length > count)
    yield {
      invariant: 3,
      sentence: `generation ${generationId} has ${outputs.length} outputs, and ${count} to deliver`,
    };
  const distinct = new Set(outputs.flatMap(({ mediaId, objectKey }) => [mediaId, objectKey]));
  if (distinct.size !== 2 * outputs.length)
    yield { invariant: 16, sentence: `generation ${generationId} delivers one output twice` };
  for (const { kind, widthPx, heightPx, durationMs = 0 } of outputs) {
    const isAsked =
      kind === modality &&
      widthPx > 0 &&
      heightPx > 0 &&
      (!isExact || typeof size !== 'string' || size === `${widthPx}x${heightPx}`) &&
      (!isExact ||
        typeof durationSeconds !== 'number' ||
        Math.abs(durationSeconds * 1_000 - durationMs) <= DURATION_OFF_MS);
    if (!isAsked)
      yield {
        invariant: 9,
        sentence: `generation ${generationId} delivers a ${kind} of ${widthPx}x${heightPx} and ${durationMs} ms, and should a ${modality} of ${textOf(size)} and ${textOf(durationSeconds)} s`,
      };
  }
}
