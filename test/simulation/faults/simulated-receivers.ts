import type { SendOutcome, WebhookMessage, WebhookSender } from '../../../core/ports/outside.js';
import type { RunContext } from '../harness/run-context.js';
import type { Chance } from '../harness/scheduler.js';
import type { SimulatedProcess } from '../harness/simulated-process.js';
import { never } from './port-faults.js';

/** How long a sender waits for an answer. */
const PATIENCE_MS = 15_000;

const FATES = ['late', 'lost request', 'lost answer', 'error', 'busy', 'gone'] as const;
type Fate = (typeof FATES)[number];

const ANSWERS: Readonly<Record<Fate, SendOutcome>> = {
  'late': { status: 200 },
  'lost request': { fault: 'timeout' },
  'lost answer': { fault: 'timeout' },
  'error': { status: 500 },
  'busy': { status: 503, retryAfterMs: 20_000 },
  'gone': { status: 410 },
};

/** The servers of clients that receive events: they lose messages and answers, fail, and are slow. */
export class SimulatedReceivers {
  constructor(
    private readonly context: RunContext,
    private readonly chance: Chance,
  ) {}

  senderOf(process: SimulatedProcess): WebhookSender {
    return {
      addressFault: () => undefined,
      send: (message) => this.send(process, message),
    };
  }

  private async send(process: SimulatedProcess, message: WebhookMessage): Promise<SendOutcome> {
    if (!process.isAlive) return never();
    const { scheduler, observer, timeline } = this.context;
    const fate = this.fate();
    const outcome: SendOutcome = fate === undefined ? { status: 200 } : ANSWERS[fate];
    const isSlow = fate === 'late' || fate === 'lost answer';
    // A message that has left a process is in transit whatever happens to the process.
    await scheduler.pause(isSlow ? this.chance.between(1, PATIENCE_MS - 1_000) : this.chance.skewed(20));
    if (fate !== 'lost request') {
      const { event, url, view } = message;
      timeline.note(scheduler.now, 'a receiver', () => `${url} is told ${event} of ${view.generation.generationId}`);
      try {
        observer.told(message, {
          at: scheduler.now,
          process: process.name,
          isTaken: !('fault' in outcome) && outcome.status < 300,
        });
      } catch (error) {
        scheduler.fail(error);
      }
    }
    await new Promise<void>((resolve) => {
      scheduler.after('fault' in outcome ? PATIENCE_MS : this.chance.skewed(20), resolve, process);
    });
    return process.isAlive ? outcome : never();
  }

  private fate(): Fate | undefined {
    const { profile, tally } = this.context;
    if (!this.chance.happens(profile.receiverPerMille)) return undefined;
    const fate = this.chance.happens(980) ? this.chance.pick(FATES.slice(0, -1)) : 'gone';
    tally.add(`receiver ${fate}`);
    return fate;
  }
}
