import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { PlanInvalid } from './plan-invalid.js';
import { planOf } from './read-workflow.js';

/** How long the analysis of a workflow file is cached. */
const KNOWN_FOR_MS = 5_000;

const known = new WeakMap<JsonObject, { readonly folder: string; readonly until: number; readonly count: number }>();

/** The capabilities of ComfyUI for a model; a request may be in flight for `settleMs`. */
export function comfyUiCapabilities(settings: JsonObject, folder: string, settleMs: number): ProviderCapabilities {
  const maxMaskedReferences = masksOf(settings, folder);
  return {
    answersWithOutputs: false,
    isAskedBy: 'token',
    takesTokenOnce: false,
    settleMs,
    cancels: 'running',
    ...(maxMaskedReferences === 0 ? {} : { maxMaskedReferences }),
    isPaid: false,
  };
}

/** How many files of a task the workflow uses a mask of. The file is read now and then: this is called for each task. */
function masksOf(settings: JsonObject, folder: string): number {
  const now = performance.now();
  const before = known.get(settings);
  if (before !== undefined && before.folder === folder && now < before.until) return before.count;
  const count = freshMasksOf(settings, folder);
  known.set(settings, { folder, until: now + KNOWN_FOR_MS, count });
  return count;
}

function freshMasksOf(settings: JsonObject, folder: string): number {
  try {
    return planOf(settings, folder).masks.filter((use) => use !== undefined).length;
  } catch (error) {
    if (error instanceof PlanInvalid) return 0;
    throw error;
  }
}

/** From the option `settle_seconds`. */
export function settleMsOf(settleSeconds: number): number {
  return Math.ceil(settleSeconds * 1_000);
}
