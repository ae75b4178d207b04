import type { Premises } from '../observed.js';
import type { Accepted } from './accepted.js';
import type { Books } from './books.js';
import type { Claims } from './claims.js';
import { checkHeldAtRest } from '../../history/charges.js';
import { checkEnd } from '../../history/ends.js';
import { checkOrigin } from '../../history/keys.js';
import { demand, demandNone } from './demand.js';
import type { Generations, Life } from './generations.js';
import type { GuardedObjects } from './guarded-objects.js';
import type { Keys } from './keys.js';
import { MAX_SKEW_MS } from './process-clocks.js';

interface Knowledge {
  readonly premises: Premises;
  readonly books: Books;
  readonly claims: Claims;
  readonly keys: Keys;
  readonly generations: Generations;
  readonly objects: GuardedObjects;
  readonly accepted: Accepted;
}

/** The most outputs of a simulated model. */
const MAX_OUTPUTS = 4;

/** Invariants 6, 12, 13 and 20, once everything that can end has had the time to. */
export class Rest {
  private quietAt: number | undefined;

  constructor(private readonly known: Knowledge) {}

  quiet(at: number): void {
    this.quietAt = at;
  }

  async check(): Promise<void> {
    const { books, generations, objects, accepted } = this.known;
    await books.compareAll();
    for (const id of books.openHolds()) demandNone(checkHeldAtRest(id, this.standing(id)));
    for (const life of generations.lives.values()) await this.requireEnded(life);
    for (const id of accepted.acknowledged)
      demand(generations.lives.has(id), 12, () => `generation ${id} was accepted, and never was`);
    this.requireRefusedLeftNothing();
    await objects.requireAllStanding();
  }

  private async requireEnded(life: Life): Promise<void> {
    const { generationId, newest, endedAt, settledAt } = life;
    const record = this.known.generations.record(generationId);
    const stored = await this.known.premises.durable.generations.read(generationId);
    demand(
      stored?.kind === record?.kind && stored?.version === record?.version,
      12,
      () =>
        `at rest generation ${generationId} is stored as ${stored?.kind} ${stored?.version}, and was written as ${record?.kind} ${record?.version}`,
    );
    const calm = this.quietAt === undefined ? undefined : { from: this.quietAt, slackMs: this.slackMs() };
    demandNone(checkEnd(newest, { endedAt, settledAt }, calm));
  }

  /**
   * How late an end may be once nothing goes wrong: a lease lapses, recovery passes, a worker waits for its provider to
   * answer and to stop, polls it once more and downloads, and all clocks may differ. A time that a clock far ahead wrote is believed until true time
   * reaches it.
   */
  private slackMs(): number {
    const {
      premises: { settings, recoveryIntervalMs },
    } = this.known;
    const waitedFor =
      settings.leaseMs +
      settings.recoveryGraceMs +
      settings.cancelGraceMs +
      3 * recoveryIntervalMs +
      (3 + 1 + MAX_OUTPUTS) * settings.providerCallMs;
    return waitedFor + MAX_SKEW_MS;
  }

  /** A key under which every request was refused has no effect: nothing inserted, nothing held. */
  private requireRefusedLeftNothing(): void {
    const { keys, claims, generations } = this.known;
    for (const { generationId } of generations.lives.values()) {
      const key = claims.keyOf('create', generationId);
      if (key) demandNone(checkOrigin(`generation ${generationId}`, key.key, keys.origins(key)));
    }
  }

  private standing(generationId: string): string {
    const record = this.known.generations.record(generationId);
    return record?.kind === 'generation' ? record.status : (record?.kind ?? 'nothing stands there');
  }
}
