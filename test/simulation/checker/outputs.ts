import type { Settings } from '../../../core/settings.js';
import { checkOutputs } from '../../history/outputs.js';
import type { Deletions } from './deletions.js';
import { demand, demandNone } from './demand.js';
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
    private readonly deletions: Deletions,
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
    const { modality, price, onOtherSize } = this.prices.model(modelKey);
    const parameter = (name: string | undefined) => (name === undefined ? undefined : parameters[name]);
    const asked = {
      count: this.prices.wanted(modelKey, parameters),
      size: parameter(price.sizeParameter),
      durationSeconds: parameter(price.durationParameter),
      isExact: onOtherSize === 'refuse',
    };
    demandNone(checkOutputs({ generationId, modality, outputs }, asked));
    for (const { objectKey, sha256, byteSize } of outputs) {
      const mayGo = (at: number) => canBeDue(goesAt, at) || this.deletions.isDeleted(generationId);
      await this.objects.guard({ objectKey, sha256, byteSize, of: `generation ${generationId}`, mayGo });
    }
  }
}
