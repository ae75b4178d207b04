import type { GenerationRequest, Task } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { change, codeOf, newKey, RequestFailed } from '../server.js';

/** Between tries of a create whose answer did not come, in milliseconds. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];
/** What says nothing of whether it was created: the same key finds it out. */
const UNKNOWN = new Set(['', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'IDEMPOTENCY_IN_PROGRESS', 'REQUEST_TIMEOUT']);

/**
 * Creates generations, each under a key of its own: a create whose answer was lost is asked for again under its key, at
 * once and when the person tries again, until an answer says what came of it.
 */
export class Creates {
  private pending: { readonly asked: string; readonly key: string } | undefined;

  async create(appId: string, request: GenerationRequest): Promise<Task> {
    const asked = JSON.stringify([appId, request]);
    if (this.pending?.asked !== asked) this.pending = { asked, key: newKey() };
    const { key } = this.pending;
    for (let tries = 0; ; tries += 1) {
      try {
        const task = await change<Task>(inApp(appId, '/generations'), request, { idempotencyKey: key });
        this.pending = undefined;
        return task;
      } catch (error) {
        if (!(error instanceof RequestFailed) || !UNKNOWN.has(codeOf(error))) {
          this.pending = undefined;
          throw error;
        }
        const pause = PAUSES_MS[tries];
        if (pause === undefined) throw error;
        await new Promise((resolve) => {
          setTimeout(resolve, pause);
        });
      }
    }
  }
}
