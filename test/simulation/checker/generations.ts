import type { Generation, GenerationRecord, Tombstone } from '../../../core/generation/generation.js';
import type { Settings } from '../../../core/settings.js';
import { checkShape } from '../../history/record-shape.js';
import type { Durable, Effect } from '../observed.js';
import type { EffectOf, Handlers } from './calls.js';
import type { Standing } from './claims.js';
import { demand, demandNone } from './demand.js';
import { canBeDue } from './process-clocks.js';
import { classify, faultOf, hasEnded } from './record-events.js';

/** What is kept of a generation for the whole of a run, also after its retention. */
export interface Life {
  readonly generationId: string;
  readonly accountId: string;
  readonly appId: string;
  /** As it was accepted, with all that was asked for. */
  readonly asked: Generation;
  /** The newest version, as long as it was a generation. */
  newest: Generation;
  /** Every state a client could have been shown. */
  readonly shown: Set<string>;
  readonly insertedAt: number;
  /** True times. */
  endedAt?: number;
  settledAt?: number;
}

export interface Step {
  readonly before: Generation;
  readonly next: Generation;
  readonly event: string;
  readonly by: Pick<Effect, 'at' | 'process' | 'processNow'>;
}

/** Who wants to know what was written about generations. */
export interface GenerationListener {
  inserted?(generation: Generation, by: Step['by']): Promise<void> | void;
  stepped?(step: Step): Promise<void> | void;
}

/** Invariants 7 and 9: all generations as they are written, version by version. */
export class Generations {
  readonly lives = new Map<string, Life>();
  /** How often each step was seen, as `running cancel running`. */
  readonly transitions = new Map<string, number>();
  private readonly records = new Map<string, GenerationRecord>();
  private readonly listeners: GenerationListener[] = [];

  constructor(
    private readonly durable: Pick<Durable, 'generations'>,
    private readonly settings: Settings,
  ) {}

  readonly handlers: Handlers = {
    'generations.insert': async (effect) => {
      const {
        args: [record],
        result,
      } = effect;
      const known = this.records.get(record.generationId);
      demand(
        result.inserted === (known === undefined),
        7,
        () =>
          `generation ${record.generationId} was ${result.inserted ? 'inserted over another one' : 'refused, and free'}`,
      );
      if (result.inserted) await this.inserted(record, effect);
    },
    'generations.replace': async (effect) => {
      if (effect.result === 'applied') await this.replaced(effect);
    },
    'generations.remove': (effect) => {
      if (effect.result === 'applied') this.removed(effect);
    },
  };

  listen(listener: GenerationListener): void {
    this.listeners.push(listener);
  }

  record(generationId: string): GenerationRecord | undefined {
    return this.records.get(generationId);
  }

  standingAt(generationId: string): Standing {
    const record = this.records.get(generationId);
    if (!record) return 'nothing';
    return record.kind === 'void' ? 'precluded' : 'effect';
  }

  private async inserted(record: GenerationRecord, by: Step['by']): Promise<void> {
    const { generationId } = record;
    this.records.set(generationId, record);
    demand(record.version === 1, 7, () => `${generationId} was inserted as version ${record.version}`);
    if (record.kind !== 'generation')
      return demand(record.kind === 'void', 7, () => `${generationId} was inserted as ${record.kind}`);
    const { accountId, appId, updatedAt, createdAt, fence, attemptsMade } = record;
    demand(
      record.status === 'queued' && fence === 0 && attemptsMade === 0 && updatedAt === createdAt,
      7,
      () =>
        `generation ${generationId} was inserted ${record.status}, with fence ${fence} and ${attemptsMade} attempts`,
    );
    const known = this.lives.get(generationId);
    demand(known === undefined, 7, () => `generation ${generationId} was inserted a second time`);
    this.lives.set(generationId, {
      generationId,
      accountId,
      appId,
      asked: record,
      newest: record,
      shown: new Set([shownAs(record)]),
      insertedAt: by.at,
    });
    demandNone(checkShape(record));
    await this.requireStored(record);
    for (const listener of this.listeners) await listener.inserted?.(record, by);
  }

  private async replaced(effect: EffectOf<'generations.replace'>): Promise<void> {
    const {
      args: [next, expectedVersion],
    } = effect;
    const { generationId } = next;
    const before = this.records.get(generationId);
    const isNext = before?.version === expectedVersion && next.version === expectedVersion + 1;
    demand(
      isNext,
      7,
      () =>
        `generation ${generationId} went from version ${before?.version} to ${next.version}, by a change made for ${expectedVersion}`,
    );
    this.records.set(generationId, next);
    if (before.kind === 'expired' && next.kind === 'expired') return this.sweptAgain(before, next, effect);
    demand(before.kind === 'generation', 7, () => `generation ${generationId} came back from ${before.kind}`);
    if (next.kind !== 'generation') return this.retired(before, next, effect);

    const event = classify(before, next, effect.process);
    const fault = faultOf(before, event, next);
    demand(fault === undefined, 7, () => `generation ${generationId}, version ${next.version}: ${fault}`);
    demand(
      next.updatedAt >= before.updatedAt && next.chargedCredits >= before.chargedCredits,
      8,
      () =>
        `generation ${generationId} went back, from ${before.updatedAt} and ${before.chargedCredits} charged to ${next.updatedAt} and ${next.chargedCredits}`,
    );
    if (event === 'content-removed') this.contentRemoved(before, effect);
    this.note(before, next, event, effect.at);
    demandNone(checkShape(next));
    for (const listener of this.listeners) await listener.stepped?.({ before, next, event, by: effect });
    await this.requireStored(next);
  }

  private note(before: Generation, next: Generation, event: string, at: number): void {
    const name = `${before.status} ${event} ${next.status}`;
    this.transitions.set(name, (this.transitions.get(name) ?? 0) + 1);
    const life = this.lives.get(next.generationId);
    if (!life) return;
    life.newest = next;
    life.shown.add(shownAs(next));
    if (hasEnded(next)) life.endedAt ??= at;
    if (next.settledAt !== undefined) life.settledAt ??= at;
  }

  private contentRemoved(
    { generationId, completedAt = Infinity }: Generation,
    { at, process, processNow }: Step['by'],
  ): void {
    const isDue = canBeDue(completedAt + this.settings.unchargedContentRetentionMs, at);
    demand(
      isDue,
      7,
      () =>
        `generation ${generationId} ended at ${completedAt}, and its content was removed at ${processNow} by the clock of ${process}`,
    );
  }

  /** Only a settled generation goes, and only when its retention is over. */
  private retired(before: Generation, next: Tombstone, { at, process, processNow }: Step['by']): void {
    const { generationId, completedAt = Infinity } = before;
    demand(
      next.kind === 'expired' && before.settledAt !== undefined,
      7,
      () =>
        `generation ${generationId} became ${next.kind}, ${before.status} and ${before.settledAt === undefined ? 'not ' : ''}settled`,
    );
    demand(
      next.accountId === before.accountId && next.appId === before.appId && next.createdAt === before.createdAt,
      7,
      () => `what remains of generation ${generationId} belongs to somebody else`,
    );
    if (before.deletedAt !== undefined) return;
    demand(
      canBeDue(completedAt + this.settings.taskRetentionMs, at),
      7,
      () =>
        `generation ${generationId} ended at ${completedAt} and was retired at ${processNow} by the clock of ${process}`,
    );
    const hasFiles = before.outputs.length > 0 && before.outputsRemovedAt === undefined;
    demand(!hasFiles, 7, () => `generation ${generationId} was retired before its outputs were`);
  }

  /** The tombstone of a deleted generation is due once before its own time is over. */
  private sweptAgain(before: Tombstone, next: Tombstone, { at }: Step['by']): void {
    const { generationId, written, dueAt } = before;
    demand(
      written !== undefined && next.written === undefined && canBeDue(dueAt, at),
      7,
      () => `what remained of generation ${generationId} was written again before ${dueAt}`,
    );
  }

  private removed({
    args: [generationId, expectedVersion],
    at,
    process,
    processNow,
  }: EffectOf<'generations.remove'>): void {
    const before = this.records.get(generationId);
    demand(
      before?.version === expectedVersion,
      7,
      () => `generation ${generationId} was removed at version ${expectedVersion}, and has ${before?.version}`,
    );
    demand(before.kind !== 'generation', 7, () => `generation ${generationId} was removed, and not retired`);
    demand(
      canBeDue(before.dueAt, at),
      7,
      () =>
        `what remained of ${generationId} was to stay until ${before.dueAt}, and was removed at ${processNow} by the clock of ${process}`,
    );
    this.records.delete(generationId);
  }

  private async requireStored({ generationId, version }: Generation): Promise<void> {
    const stored = await this.durable.generations.read(generationId);
    demand(
      stored?.kind === 'generation' && stored.version === version,
      7,
      () =>
        `generation ${generationId} was written as version ${version}, and is stored as ${stored?.kind} ${stored?.version}`,
    );
  }
}

/** What a client sees change, as one text. */
export function shownAs({
  status,
  chargedCredits,
  updatedAt,
}: {
  readonly status: string;
  readonly chargedCredits: number;
  readonly updatedAt: number;
}): string {
  return `${status} ${chargedCredits} ${updatedAt}`;
}
