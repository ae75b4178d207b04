import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientHistory, type SentCreate } from '../faults/client-history.js';
import { Load } from '../faults/load.js';

const PROMPTS = ['A lighthouse', 'A red boat', 'Snow falling'];
const PARAMETERS = [
  { behaviour: 'slow', delay_ms: 300, size: '128x128' },
  { behaviour: 'partial', n: 3, deliver: 1, size: '128x128' },
  { behaviour: 'fail', error_code: 'CONTENT_REJECTED_OUTPUT', size: '128x128' },
  { behaviour: 'unknown_acceptance', size: '128x128' },
];
const BETWEEN_ATTEMPTS_MS = 100;

/**
 * Clients that repeat a create with its idempotency key until it is accepted, before they send another. An outage so
 * leaves one create of unknown outcome for each client, however long it takes.
 */
export class PatientClients {
  readonly history = new ClientHistory();
  private readonly over = new AbortController();
  private readonly load: Load;
  private isStopping = false;

  constructor(url: string, key: string) {
    this.load = new Load(this.history, url, key, this.over.signal);
  }

  /** Runs so many clients until `during` resolves, then has every create accepted. */
  async run(count: number, during: () => Promise<unknown>): Promise<void> {
    const clients = Array.from({ length: count }, () => this.client());
    try {
      await during();
      this.isStopping = true;
      await Promise.all(clients);
    } finally {
      // After a failure the service may never answer again.
      this.over.abort();
    }
  }

  private async client(): Promise<void> {
    for (let index = 0; !this.isStopping && !this.over.signal.aborted; index += 1) {
      const create: SentCreate = {
        key: randomUUID(),
        body: {
          model_key: 'sandbox-test',
          operation: 'image_generation',
          prompt: PROMPTS[index % PROMPTS.length] ?? '',
          parameters: PARAMETERS[index % PARAMETERS.length] ?? {},
        },
      };
      this.history.creates.push(create);
      while (!(await this.load.settle(create)) && !this.over.signal.aborted) await sleep(BETWEEN_ATTEMPTS_MS);
      // A repeated create names the same generation, and a view never goes back: the history checks both.
      await this.load.settle(create);
      await this.load.look(create.generationId ?? '');
    }
  }
}
