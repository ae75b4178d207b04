import type { Generation, GenerationRecord, Tombstone } from '../../../core/generation/generation.js';
import type { Settings } from '../../../core/settings.js';
import { sizeAsked } from '../../history/prices.js';
import { checkShape } from '../../history/record-shape.js';
import { checkOutputs } from '../../history/task.js';
import { type Answer, type Asked, type Durable, type Effect, violation } from '../observed.js';
import type { EffectOf, Handlers } from './calls.js';
import type { Standing } from './claims.js';
import { demandNone } from './event-order.js';
import type { GuardedObjects } from './guarded-objects.js';
import type { Prices } from './prices.js';
import { canBeDue } from './process-clocks.js';
import { classify, faultOf, hasEnded } from './record-events.js';

/** Facts about a generation that are kept for the whole run, even after its retention. */
export interface Life {
  readonly generationId: string;
  readonly accountId: string;
  readonly appId: string;
  /** The generation as it was accepted, with all requested parameters. */
  readonly asked: Generation;
  /** The newest version that was still a generation. */
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

/** Receives the writes of generations. */
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
      if (result.inserted !== (known === undefined))
        throw violation`7: generation ${record.generationId} was ${result.inserted ? 'inserted over another one' : 'refused, and free'}`;
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
    if (record.version !== 1) throw violation`7: ${generationId} was inserted as version ${record.version}`;
    if (record.kind !== 'generation') {
      if (record.kind !== 'void') throw violation`7: ${generationId} was inserted as ${record.kind}`;
      return;
    }
    const { accountId, appId, updatedAt, createdAt, fence, attemptsMade } = record;
    if (record.status !== 'queued' || fence !== 0 || attemptsMade !== 0 || updatedAt !== createdAt)
      throw violation`7: generation ${generationId} was inserted ${record.status}, with fence ${fence} and ${attemptsMade} attempts`;
    const known = this.lives.get(generationId);
    if (known !== undefined) throw violation`7: generation ${generationId} was inserted a second time`;
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
    if (!isNext)
      throw violation`7: generation ${generationId} went from version ${before?.version} to ${next.version}, by a change made for ${expectedVersion}`;
    this.records.set(generationId, next);
    if (before.kind === 'expired' && next.kind === 'expired') return this.sweptAgain(before, next, effect);
    if (before.kind !== 'generation') throw violation`7: generation ${generationId} came back from ${before.kind}`;
    if (next.kind !== 'generation') return this.retired(before, next, effect);

    const event = classify(before, next, effect.process);
    const fault = faultOf(before, event, next);
    if (fault !== undefined) throw violation`7: generation ${generationId}, version ${next.version}: ${fault}`;
    if (!(next.updatedAt >= before.updatedAt && next.chargedCredits >= before.chargedCredits))
      throw violation`8: generation ${generationId} went back, from ${before.updatedAt} and ${before.chargedCredits} charged to ${next.updatedAt} and ${next.chargedCredits}`;
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
    if (!isDue)
      throw violation`7: generation ${generationId} ended at ${completedAt}, and its content was removed at ${processNow} by the clock of ${process}`;
  }

  /** Only a settled generation is removed, and only when its retention is over. */
  private retired(before: Generation, next: Tombstone, { at, process, processNow }: Step['by']): void {
    const { generationId, completedAt = Infinity } = before;
    if (next.kind !== 'expired' || before.settledAt === undefined)
      throw violation`7: generation ${generationId} became ${next.kind}, ${before.status} and ${before.settledAt === undefined ? 'not ' : ''}settled`;
    if (next.accountId !== before.accountId || next.appId !== before.appId || next.createdAt !== before.createdAt)
      throw violation`7: what remains of generation ${generationId} belongs to somebody else`;
    if (before.deletedAt !== undefined) return;
    if (!canBeDue(completedAt + this.settings.taskRetentionMs, at))
      throw violation`7: generation ${generationId} ended at ${completedAt} and was retired at ${processNow} by the clock of ${process}`;
    const hasFiles = before.outputs.length > 0 && before.outputsRemovedAt === undefined;
    if (hasFiles) throw violation`7: generation ${generationId} was retired before its outputs were`;
  }

  /** The tombstone of a deleted generation is due once before its own retention ends. */
  private sweptAgain(before: Tombstone, next: Tombstone, { at }: Step['by']): void {
    const { generationId, written, dueAt } = before;
    if (written === undefined || next.written !== undefined || !canBeDue(dueAt, at))
      throw violation`7: what remained of generation ${generationId} was written again before ${dueAt}`;
  }

  private removed({
    args: [generationId, expectedVersion],
    at,
    process,
    processNow,
  }: EffectOf<'generations.remove'>): void {
    const before = this.records.get(generationId);
    if (before?.version !== expectedVersion)
      throw violation`7: generation ${generationId} was removed at version ${expectedVersion}, and has ${before?.version}`;
    if (before.kind === 'generation') throw violation`7: generation ${generationId} was removed, and not retired`;
    if (!canBeDue(before.dueAt, at))
      throw violation`7: what remained of ${generationId} was to stay until ${before.dueAt}, and was removed at ${processNow} by the clock of ${process}`;
    this.records.delete(generationId);
  }

  private async requireStored({ generationId, version }: Generation): Promise<void> {
    const stored = await this.durable.generations.read(generationId);
    if (stored?.kind !== 'generation' || stored.version !== version)
      throw violation`7: generation ${generationId} was written as version ${version}, and is stored as ${stored?.kind} ${stored?.version}`;
  }
}

/** A text of the members that a client sees change. */
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

/**
 * Invariant 26: a client's deletion removes all of the content, only of generations that have ended and are settled,
 * and only at the client's request.
 */
export class Deletions implements GenerationListener {
  /** Ids that clients asked to have deleted. */
  private readonly wanted = new Set<string>();

  constructor(
    private readonly generations: Pick<Generations, 'lives' | 'record'>,
    private readonly objects: Pick<GuardedObjects, 'isThere'>,
  ) {}

  readonly handlers: Handlers = {
    'generations.replace': async ({ args: [next], result }) => {
      const deleted = result === 'applied' && next.kind === 'expired' ? this.deletedLife(next.generationId) : undefined;
      if (deleted) await this.requireNoOutputs(deleted, 'its record');
    },
  };

  asked({ request }: Asked): void {
    if (request.operation === 'delete') this.wanted.add(request.generationId.toLowerCase());
  }

  isDeleted(generationId: string): boolean {
    return this.deletedLife(generationId) !== undefined;
  }

  stepped({ before, next, event }: Pick<Step, 'before' | 'next' | 'event'>): void {
    if (event !== 'delete') return;
    const { generationId } = next;
    if (!this.wanted.has(generationId))
      throw violation`26: generation ${generationId} was deleted, and nobody asked for it`;
    if (before.settledAt === undefined)
      throw violation`26: generation ${generationId} was deleted as ${before.status}, before it was settled`;
    const { prompt, negativePrompt, parameters, references } = next;
    const isEmpty =
      prompt === '' && negativePrompt === undefined && Object.keys(parameters).length === 0 && references.length === 0;
    if (!isEmpty) throw violation`26: generation ${generationId} was deleted, and still has what was asked for`;
  }

  /** Everything is gone by the time of the answer. */
  async served({ request, number }: Asked, answer: Answer): Promise<void> {
    if (request.operation !== 'delete' || answer.outcome !== 'success') return;
    const id = request.generationId.toLowerCase();
    const record = this.generations.record(id);
    if (record?.kind === 'generation' && !isCounted(record))
      throw violation`26: request ${number} was told that generation ${id} is deleted, and its record stands`;
    const life = this.generations.lives.get(id);
    if (life) await this.requireNoOutputs(life.newest, `the answer to request ${number}`);
  }

  /** At rest no deletion is incomplete. */
  async atRest(): Promise<void> {
    for (const id of this.generations.lives.keys()) {
      const deleted = this.deletedLife(id);
      if (deleted === undefined) continue;
      const isHalfDone = this.generations.record(id)?.kind === 'generation' && !isCounted(deleted);
      if (isHalfDone) throw violation`26: at rest generation ${id} is marked as deleted, and its record stands`;
      await this.requireNoOutputs(deleted, 'the run');
    }
  }

  private deletedLife(generationId: string): Generation | undefined {
    const newest = this.generations.lives.get(generationId)?.newest;
    return newest?.deletedAt === undefined ? undefined : newest;
  }

  private async requireNoOutputs({ generationId, outputs }: Generation, what: string): Promise<void> {
    for (const { objectKey } of outputs) {
      const isThere = await this.objects.isThere(objectKey);
      if (isThere) throw violation`26: generation ${generationId} was deleted, and ${objectKey} outlived ${what}`;
    }
  }
}

/**
 * Uncharged content counts towards its account's bound for some time, even if it is deleted: otherwise there would be
 * no bound to it.
 */
function isCounted({ deletedAt, chargedCredits, unchargedBytes }: Generation): boolean {
  return deletedAt !== undefined && chargedCredits === 0 && unchargedBytes === 2_048;
}

/**
 * Invariant 16 for delivered outputs: each is stored with the recorded bytes from the end until its retention is over.
 */
export class Outputs implements GenerationListener {
  constructor(
    private readonly settings: Settings,
    private readonly objects: GuardedObjects,
    private readonly prices: Prices,
    private readonly deletions: Deletions,
  ) {}

  async stepped({ before, next, event, by }: Step): Promise<void> {
    const { generationId, outputs, modelKey, parameters, completedAt = 0 } = next;
    const goesAt = completedAt + this.settings.outputRetentionMs;
    if (event === 'outputs-removed' && !canBeDue(goesAt, by.at))
      throw violation`16: the outputs of generation ${generationId} were to stay until ${goesAt}, and ${by.process} removed them at ${by.processNow} by its clock`;
    if (!hasEnded(next) || hasEnded(before)) return;
    const { modality, price, onOtherSize } = this.prices.model(modelKey);
    const parameter = (name: string | undefined) => (name === undefined ? undefined : parameters[name]);
    const asked = {
      count: this.prices.wanted(modelKey, parameters),
      size: sizeAsked(price, parameters),
      durationSeconds: parameter(price.durationParameter),
      isExact: onOtherSize === 'refuse',
    };
    demandNone(checkOutputs({ generationId, modality, outputs }, asked));
    for (const { objectKey, sha256, byteSize } of outputs) {
      const mayGo = (at: number) => canBeDue(goesAt, at) || this.deletions.isDeleted(generationId);
      await this.objects.guard({ objectKey, sha256, byteSize, of: `generation ${generationId}`, mayGo });
    }
  }
}
