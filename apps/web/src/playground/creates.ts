import type { GenerationRequest, Task } from '../api-types.js';
import { change, codeOf, inApp, isUnreachable, randomKey } from '../server.js';

/** Between rounds of tries of a create whose answer did not come, in milliseconds. */
const PAUSES_MS = [1_000, 3_000];
/** Codes that do not tell whether the generation was created: a retry with the same key finds out. */
const UNKNOWN = new Set(['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'IDEMPOTENCY_IN_PROGRESS', 'REQUEST_TIMEOUT']);

/** Whether a generation may have been created, although the answer was this error. */
export function isUnknown(error: unknown): boolean {
  return isUnreachable(error) || UNKNOWN.has(codeOf(error));
}

/**
 * Creates generations, each under its own key: a create whose response was lost is repeated under its key,
 * immediately and when the person tries again, until a response shows its outcome.
 */
export class Creates {
  private pending: { readonly asked: string; readonly key: string } | undefined;

  async create(appId: string, request: GenerationRequest): Promise<Task> {
    const asked = JSON.stringify([appId, request]);
    if (this.pending?.asked !== asked) this.pending = { asked, key: randomKey() };
    const { key } = this.pending;
    for (let rounds = 0; ; rounds += 1) {
      try {
        const task = await change<Task>(inApp(appId, '/generations'), request, { idempotencyKey: key });
        this.pending = undefined;
        return task;
      } catch (error) {
        if (!isUnknown(error)) {
          this.pending = undefined;
          throw error;
        }
        const pause = PAUSES_MS[rounds];
        if (pause === undefined) throw error;
        await new Promise((resolve) => {
          setTimeout(resolve, pause);
        });
      }
    }
  }
}
