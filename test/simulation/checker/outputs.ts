import type { Settings } from '../../../core/settings.js';
import { demand } from './demand.js';
import type { GenerationListener, Step } from './generations.js';
import type { GuardedObjects } from './guarded-objects.js';
import type { Prices } from './prices.js';
import { canBeDue } from './process-clocks.js';
import { hasEnded } from './record-events.js';

/**
 * Invariant 16 for what was delivered: each output stands with the recorded bytes from the end until its retention is
 * over.
 */
export class Outputs implements GenerationListener {
  constructor(
    private readonly settings: Settings,
    private readonly objects: GuardedObjects,
    private readonly prices: Prices,
  ) {}

  async stepped({ before, next, event, by }: Step): Promise<void> {
    const { generationId, outputs, modelKey, parameters, completedAt = 0 } = next;
    const goesAt = completedAt + this.settings.outputRetentionMs;
    if (event === 'outputs-removed') {
      demand(
        canBeDue(goesAt, by.at),
        16,
        () =>
          `the outputs of generation ${generationId} were to stay until ${goesAt}, and ${by.process} removed them at ${by.processNow} by its clock`,
      );
    }
    if (!hasEnded(next) || hasEnded(before)) return;
    demand(
      outputs.length <= this.prices.wanted(modelKey, parameters),
      3,
      () => `generation ${generationId} has ${outputs.length} outputs, more than were asked for`,
    );
    const distinct = new Set(outputs.flatMap(({ mediaId, objectKey }) => [mediaId, objectKey]));
    demand(distinct.size === 2 * outputs.length, 16, () => `generation ${generationId} delivers one output twice`);
    this.requireAsAsked(next);
    for (const { objectKey, sha256, byteSize } of outputs) {
      const mayGo = (at: number) => canBeDue(goesAt, at);
      await this.objects.guard({ objectKey, sha256, byteSize, of: `generation ${generationId}`, mayGo });
    }
  }

  /** Who pays for a size or a duration gets it. */
  private requireAsAsked({ generationId, outputs, modelKey, parameters }: Step['next']): void {
    const { modality, price } = this.prices.model(modelKey);
    const size = price.sizeParameter === undefined ? undefined : parameters[price.sizeParameter];
    const seconds = price.durationParameter === undefined ? undefined : parameters[price.durationParameter];
    for (const { kind, widthPx, heightPx, durationMs } of outputs) {
      const isAsked =
        kind === modality &&
        (size === undefined || size === `${widthPx}x${heightPx}`) &&
        (seconds === undefined || Math.abs(Number(seconds) * 1_000 - (durationMs ?? 0)) <= 250);
      demand(
        isAsked,
        9,
        () =>
          `generation ${generationId} delivers a ${kind} of ${widthPx}x${heightPx} and ${durationMs} ms, which is not what was asked for`,
      );
    }
  }
}
