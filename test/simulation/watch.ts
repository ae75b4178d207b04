import { Auditor } from './audit/auditor.js';
import type { Premises, Watcher } from './observed.js';

/** Who watches every run. */
export function watch(premises: Premises): Watcher {
  return new Auditor(premises);
}
