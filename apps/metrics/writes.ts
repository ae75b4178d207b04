import { Counter, Histogram, type Registry } from 'prom-client';
import type { AccountChange } from '../../core/credits/account.js';
import { type Generation, type GenerationRecord, isTerminal, type Lease } from '../../core/generation/generation.js';
import type { Catalog } from '../../core/ports/catalog.js';
import type { Clock } from '../../core/ports/machine.js';
import type { AccountStore, GenerationStore } from '../../core/ports/stores.js';
import type { AnswersOf } from './store-calls.js';

const WAIT_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];
const RUN_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600];
const MAX_SEEN = 10_000;

/**
 * The course of generations, derived from what this process writes of them. A record does not say what it was before, so
 * the few for which that matters are remembered when they are seen: those that wait for their settlement, and those
 * whose lease has lapsed.
 */
export class GenerationWrites {
  private readonly accepted: Counter<'model'>;
  private readonly finished: Counter<'model' | 'status' | 'code'>;
  private readonly waits: Histogram<'model'>;
  private readonly runs: Histogram<'model'>;
  private readonly takenOver: Counter;
  private readonly unsettled = new RecentlySeen<true>(MAX_SEEN);
  private readonly lapsed = new RecentlySeen<Lease>(MAX_SEEN);

  constructor(registry: Registry) {
    const registers = [registry];
    this.accepted = new Counter({
      name: 'darkroom_generations_accepted_total',
      help: 'Generations accepted.',
      labelNames: ['model'],
      registers,
    });
    this.finished = new Counter({
      name: 'darkroom_generations_finished_total',
      help: 'Generations that ended, by status and the error code of those that failed.',
      labelNames: ['model', 'status', 'code'],
      registers,
    });
    this.waits = new Histogram({
      name: 'darkroom_generation_wait_seconds',
      help: 'Time from being accepted to being started, or to the end of those that never were; recorded at the end.',
      labelNames: ['model'],
      buckets: WAIT_SECONDS,
      registers,
    });
    this.runs = new Histogram({
      name: 'darkroom_generation_run_seconds',
      help: 'Time from the first start to the end, all attempts together.',
      labelNames: ['model'],
      buckets: RUN_SECONDS,
      registers,
    });
    this.takenOver = new Counter({
      name: 'darkroom_leases_lost_total',
      help: 'Leases that lapsed with one worker and were taken over by another; counted by the second.',
      registers,
    });
  }

  /** Counts accepted generations without those whose id has another record. */
  countAccepted(
    { catalog }: { readonly catalog: Catalog },
    accepted: readonly Generation[],
    existing: readonly GenerationRecord[],
  ): void {
    const others = new Set(existing.map(({ generationId }) => generationId));
    for (const one of accepted) if (!others.has(one.generationId)) this.accepted.inc({ model: modelOf(one, catalog) });
  }

  /** Collects metrics from the results of the generation store. */
  learnWith({ catalog, clock }: { readonly catalog: Catalog; readonly clock: Clock }): AnswersOf<GenerationStore> {
    return {
      read: (record) => {
        if (record) this.noteLapsed(record, clock);
      },
      due: (records) => {
        for (const record of records) this.noteUnsettled(record);
      },
      replace: (answer, [next]) => {
        if (answer !== 'applied' || next.kind !== 'generation') return;
        if (!isTerminal(next.status)) this.countTakenOver(next);
        else if (next.settledAt !== undefined) this.unsettled.forget(next.generationId);
        else if (next.lateReport === undefined && !this.unsettled.note(next.generationId, true))
          this.countEnd(next, modelOf(next, catalog));
      },
    };
  }

  private countEnd(g: Generation, model: string): void {
    this.finished.inc({ model, status: g.status, code: g.error?.code ?? 'none' });
    const endedAt = g.completedAt ?? g.updatedAt;
    const startedAt = g.runDeadlineAt === undefined ? undefined : g.runDeadlineAt - g.terms.runTimeoutMs;
    this.waits.observe({ model }, secondsBetween(g.createdAt, startedAt ?? endedAt));
    if (startedAt !== undefined) this.runs.observe({ model }, secondsBetween(startedAt, endedAt));
  }

  /** Only recovery postpones an ended generation that it cannot settle, and it reads generations by their due time. */
  private noteUnsettled(record: GenerationRecord): void {
    if (record.kind === 'generation' && isTerminal(record.status) && record.settledAt === undefined)
      this.unsettled.note(record.generationId, true);
  }

  private noteLapsed(record: GenerationRecord, clock: Clock): void {
    if (record.kind === 'generation' && record.lease && record.lease.expiresAt <= clock.now())
      this.lapsed.note(record.generationId, record.lease);
  }

  /**
   * A worker that takes a lease over has first read that it had lapsed. A holder that was suspended and continues has
   * not lost it.
   */
  private countTakenOver({ generationId, lease }: Generation): void {
    const lost = this.lapsed.forget(generationId);
    if (lost !== undefined && lease !== undefined && lease.worker !== lost.worker) this.takenOver.inc();
  }
}

/** One that the catalog has no more must not bring its key with it, or the label would not be bounded. */
function modelOf({ modelKey }: Generation, catalog: Catalog): string {
  return catalog.find(modelKey) ? modelKey : 'withdrawn';
}

/** Two machines may have written the two times; neither is before the other by what their clocks differ. */
function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1_000;
}

const COMMANDS = [1, 2, 5, 10, 25, 50, 100, 250];

/** The writes to the ledgers: how many commands per write, and which credits moved. */
export class LedgerWrites {
  private readonly commands: Histogram;
  private readonly credits: Counter<'kind' | 'to'>;
  private readonly opened: Counter;
  private readonly closed: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.commands = new Histogram({
      name: 'darkroom_account_write_commands',
      help: 'Commands on an account that were written as one change.',
      buckets: COMMANDS,
      registers,
    });
    this.credits = new Counter({
      name: 'darkroom_credits_moved_total',
      help: 'Credits moved by entries of the ledgers, by kind and the book they went to.',
      labelNames: ['kind', 'to'],
      registers,
    });
    this.opened = new Counter({
      name: 'darkroom_holds_opened_total',
      help: 'Holds opened: generations whose price was reserved.',
      registers,
    });
    this.closed = new Counter({
      name: 'darkroom_holds_closed_total',
      help: 'Holds closed: generations settled, and reservations given back.',
      registers,
    });
    for (const [kind, to] of [
      ['hold', 'reserved'],
      ['charge', 'spent'],
      ['release', 'available'],
    ] as const)
      this.credits.inc({ kind, to }, 0);
  }

  /** Collects metrics from the results of the account store. */
  readonly learn: AnswersOf<AccountStore> = {
    apply: (answer, [change]) => {
      if (answer === 'applied') this.count(change);
    },
  };

  /** Counts a change that was applied. */
  count({ entries, holdsOpened, holdsClosed, profile }: AccountChange): void {
    let ordered = profile === undefined ? 0 : 1;
    for (const { kind, to, credits, operationId } of entries) {
      this.credits.inc({ kind, to }, credits);
      if (operationId !== undefined) ordered += 1;
    }
    this.opened.inc(holdsOpened.length);
    this.closed.inc(holdsClosed.length);
    // A settlement may be two entries, so entries do not count commands.
    this.commands.observe(ordered + holdsOpened.length + holdsClosed.length);
  }
}

/** The last notes about a bounded number of ids; the oldest is forgotten first. */
class RecentlySeen<Note> {
  private readonly notes = new Map<string, Note>();

  constructor(private readonly limit: number) {}

  /** Returns whether something was noted of this id before. */
  note(id: string, note: Note): boolean {
    const wasThere = this.notes.delete(id);
    this.notes.set(id, note);
    const [oldest] = this.notes.size > this.limit ? this.notes.keys() : [];
    if (oldest !== undefined) this.notes.delete(oldest);
    return wasThere;
  }

  /** Returns what was noted. */
  forget(id: string): Note | undefined {
    const note = this.notes.get(id);
    this.notes.delete(id);
    return note;
  }
}
