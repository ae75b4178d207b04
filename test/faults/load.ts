import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';
import type { ClientHistory, SentCreate } from './client-history.js';
import { type Draw, drawsFrom } from './draws.js';

const API = '/api/v1/developer';

const TASKS: readonly { readonly model_key: string; readonly parameters: JsonObject }[] = [
  { model_key: 'sandbox-noop', parameters: {} },
  { model_key: 'sandbox-noop', parameters: { n: 2 } },
  { model_key: 'sandbox-noop', parameters: { n: 3 } },
  { model_key: 'sandbox-noop', parameters: { n: 4 } },
  { model_key: 'sandbox-test', parameters: { behaviour: 'slow', delay_ms: 300, size: '128x128' } },
  { model_key: 'sandbox-test', parameters: { behaviour: 'partial', n: 3, deliver: 1, size: '128x128' } },
  {
    model_key: 'sandbox-test',
    parameters: { behaviour: 'fail', error_code: 'CONTENT_REJECTED_OUTPUT', size: '128x128' },
  },
  { model_key: 'sandbox-test', parameters: { behaviour: 'unknown_acceptance', size: '128x128' } },
];

/** Clients that create, poll, cancel and repeat, and record every answer. Network errors are part of the test. */
export class Load {
  private running = true;

  /** All requests and loops end with the signal. */
  constructor(
    readonly history: ClientHistory,
    private readonly url: string,
    private readonly secret: string,
    private readonly signal: AbortSignal,
  ) {
    // Every request in flight listens, and its listener is released only on garbage collection.
    setMaxListeners(0, signal);
  }

  /** Runs `clients` loops until `stop`; resolves when all have ended. */
  async run(clients: number, seed: number): Promise<void> {
    this.running = true;
    await Promise.all(Array.from({ length: clients }, (_, index) => this.loop(drawsFrom(seed * 1_000 + index))));
  }

  stop(): void {
    this.running = false;
  }

  /** Repeats a create of unknown outcome. Returns whether the outcome is known now. */
  async settle(create: SentCreate): Promise<boolean> {
    const answer = await this.request('POST', '/generations', create.key, create.body);
    if (answer?.status === 202) this.history.noteAccepted(create, answer.data);
    else if (answer && answer.status >= 500 && answer.status !== 503)
      this.history.contradictions.push(`create answered ${answer.status}`);
    return create.generationId !== undefined;
  }

  async look(generationId: string): Promise<JsonObject | undefined> {
    const answer = await this.request('GET', `/generations/${generationId}`);
    if (answer?.status === 200) this.history.noteTask(answer.data);
    else if (answer && answer.status !== 503)
      this.history.contradictions.push(`${generationId} answered ${answer.status} after a 202`);
    return answer?.status === 200 ? answer.data : undefined;
  }

  private async loop(draw: Draw): Promise<void> {
    const mine: SentCreate[] = [];
    while (this.running && !this.signal.aborted) {
      const known = mine.filter(({ generationId }) => generationId !== undefined);
      const [action, chosen] = [draw(10), known[draw(Math.max(1, known.length))]];
      if (action < 5 || !chosen?.generationId) await this.create(mine, draw);
      else if (action < 7) await this.settle(chosen);
      else if (action < 9) await this.look(chosen.generationId);
      else await this.cancel(chosen.generationId);
    }
  }

  private async create(mine: SentCreate[], draw: Draw): Promise<void> {
    const task = TASKS[draw(TASKS.length)] ?? { model_key: 'sandbox-noop', parameters: {} };
    const create: SentCreate = {
      key: randomUUID(),
      body: { ...task, operation: 'image_generation', prompt: `A test card, number ${draw(1_000)}` },
    };
    mine.push(create);
    this.history.creates.push(create);
    await this.settle(create);
  }

  private async cancel(generationId: string): Promise<void> {
    const answer = await this.request('POST', `/generations/${generationId}/cancel`);
    if (answer?.status === 200) this.history.noteTask(answer.data);
  }

  private async request(
    method: string,
    path: string,
    key?: string,
    body?: JsonObject,
  ): Promise<{ status: number; data: JsonObject } | undefined> {
    try {
      const response = await fetch(this.url + API + path, {
        method,
        headers: {
          Authorization: `Bearer ${this.secret}`,
          ...(key === undefined ? {} : { 'Idempotency-Key': key }),
          ...(body ? { 'Content-Type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: this.signal,
      });
      const envelope = (await response.json()) as { data?: JsonObject };
      return { status: response.status, data: envelope.data ?? {} };
    } catch {
      // The process was killed meanwhile: the key shows whether the create took effect.
      await sleep(20);
      return undefined;
    }
  }
}
