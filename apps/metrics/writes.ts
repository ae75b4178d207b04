import type { AccountChange } from '../../core/credits/account.js';
import { type Generation, type GenerationRecord, isTerminal, type Lease } from '../../core/generation/generation.js';
import type { Catalog } from '../../core/ports/catalog.js';
import type { Clock } from '../../core/ports/machine.js';
import type { AccountStore, GenerationStore } from '../../core/ports/stores.js';
import type { Instruments } from './instruments.js';
import type { AnswersOf } from './store-calls.js';

const WAIT_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];
const RUN_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600];
const MAX_SEEN = 10_000;

/**
 * The course of generations, derived from what this process writes of them. A record does not say what it was before, so
 * the few for which that matters are remembered when they are seen: those that wait for their settlement, and those
 * whose lease has lapsed.
 */
export function generationWrites({ counter, histogram }: Instruments) {
  const acceptances = counter('darkroom_generations_accepted_total', 'Generations accepted.', ['model']);
  const finished = counter(
    'darkroom_generations_finished_total',
    'Generations that ended, by status and the error code of those that failed.',
    ['model', 'status', 'code'],
  );
  const waits = histogram(
    'darkroom_generation_wait_seconds',
    'Time from being accepted to being started, or to the end of those that never were; recorded at the end.',
    WAIT_SECONDS,
    ['model'],
  );
  const runs = histogram(
    'darkroom_generation_run_seconds',
    'Time from the first start to the end, all attempts together.',
    RUN_SECONDS,
    ['model'],
  );
  const takenOver = counter(
    'darkroom_leases_lost_total',
    'Leases that lapsed with one worker and were taken over by another; counted by the second.',
  );
  const unsettled = new RecentlySeen<true>(MAX_SEEN);
  const lapsed = new RecentlySeen<Lease>(MAX_SEEN);

  const countEnd = (g: Generation, model: string): void => {
    finished.inc({ model, status: g.status, code: g.error?.code ?? 'none' });
    const endedAt = g.completedAt ?? g.updatedAt;
    const startedAt = g.runDeadlineAt === undefined ? undefined : g.runDeadlineAt - g.terms.runTimeoutMs;
    waits.observe({ model }, secondsBetween(g.createdAt, startedAt ?? endedAt));
    if (startedAt !== undefined) runs.observe({ model }, secondsBetween(startedAt, endedAt));
  };
  /**
   * A worker that takes a lease over has first read that it had lapsed. A holder that was suspended and continues has
   * not lost it.
   */
  const countTakenOver = ({ generationId, lease }: Generation): void => {
    const lost = lapsed.forget(generationId);
    if (lost !== undefined && lease !== undefined && lease.worker !== lost.worker) takenOver.inc();
  };
  return {
    /** Counts accepted generations without those whose id has another record. */
    countAccepted(
      { catalog }: { readonly catalog: Catalog },
      accepted: readonly Generation[],
      existing: readonly GenerationRecord[],
    ): void {
      const others = new Set(existing.map(({ generationId }) => generationId));
      for (const one of accepted) if (!others.has(one.generationId)) acceptances.inc({ model: modelOf(one, catalog) });
    },
    /** Collects metrics from the results of the generation store. */
    learnWith: ({
      catalog,
      clock,
    }: {
      readonly catalog: Catalog;
      readonly clock: Clock;
    }): AnswersOf<GenerationStore> => ({
      read: (record) => {
        if (record?.kind === 'generation' && record.lease && record.lease.expiresAt <= clock.now())
          lapsed.note(record.generationId, record.lease);
      },
      // Only recovery postpones an ended generation that it cannot settle, and it reads generations by their due time.
      due: (records) => {
        for (const record of records)
          if (record.kind === 'generation' && isTerminal(record.status) && record.settledAt === undefined)
            unsettled.note(record.generationId, true);
      },
      replace: (answer, [next]) => {
        if (answer !== 'applied' || next.kind !== 'generation') return;
        if (!isTerminal(next.status)) countTakenOver(next);
        else if (next.settledAt !== undefined) unsettled.forget(next.generationId);
        else if (next.lateReport === undefined && !unsettled.note(next.generationId, true))
          countEnd(next, modelOf(next, catalog));
      },
    }),
  };
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
export function ledgerWrites({ counter, histogram }: Instruments) {
  const commands = histogram(
    'darkroom_account_write_commands',
    'Commands on an account that were written as one change.',
    COMMANDS,
  );
  const moved = counter(
    'darkroom_credits_moved_total',
    'Credits moved by entries of the ledgers, by kind and the book they went to.',
    ['kind', 'to'],
  );
  const opened = counter('darkroom_holds_opened_total', 'Holds opened: generations whose price was reserved.');
  const closed = counter(
    'darkroom_holds_closed_total',
    'Holds closed: generations settled, and reservations given back.',
  );
  for (const [kind, to] of [
    ['hold', 'reserved'],
    ['charge', 'spent'],
    ['release', 'available'],
  ] as const)
    moved.inc({ kind, to }, 0);
  /** Counts a change that was applied. */
  const count = ({ entries, holdsOpened, holdsClosed, profile }: AccountChange): void => {
    let ordered = profile === undefined ? 0 : 1;
    for (const { kind, to, credits, operationId } of entries) {
      moved.inc({ kind, to }, credits);
      if (operationId !== undefined) ordered += 1;
    }
    opened.inc(holdsOpened.length);
    closed.inc(holdsClosed.length);
    // A settlement may be two entries, so entries do not count commands.
    commands.observe(ordered + holdsOpened.length + holdsClosed.length);
  };
  /** Collects metrics from the results of the account store. */
  const learn: AnswersOf<AccountStore> = {
    apply: (answer, [change]) => {
      if (answer === 'applied') count(change);
    },
  };
  return { count, learn };
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
