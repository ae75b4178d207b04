import type { Generation, GenerationRecord } from '../../../core/generation/generation.js';
import type { Claim } from '../../../core/idempotency/claim.js';
import type { WakeUpSubject } from '../../../core/ports/wake-ups.js';
import type { PortCall } from '../../fixtures/intercepted.js';
import { type AnsweredCall, stepsOf } from '../../fixtures/stored-records.js';
import { Violation } from '../observed.js';
import type { Request } from './cases.js';
import type { Answer } from './serve.js';

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

/**
 * Observes every effect on the stores and every answer to a client, in the order in which they happen, and remembers
 * them.
 */
export class Witness {
  /** The contents of the stores that their ports do not list. */
  readonly claims = new Map<string, Claim>();
  readonly scheduled = new Map<string, number>();
  readonly generations = new Map<string, GenerationRecord>();
  /** Generation ids that clients received, by key. */
  readonly told = new Map<string, string>();
  readonly refusals = new Set<string>();
  /** Whether the process that minted this id is dead: no other process ever holds under it. */
  isOrphan: (generationId: string) => boolean = () => false;
  /**
   * Ids that were ruled out when their process was already dead: a hold under one must be released before the key is
   * used again.
   */
  private readonly orphansRuledOut = new Set<string>();
  /** Generations that never started and whose end a client received. */
  private readonly neverToBegin = new Set<string>();
  private schedules = 0;
  private violation: Violation | undefined;

  constructor(private readonly hasHold: (generationId: string) => Promise<boolean>) {}

  /**
   * Core would mistake an error that is thrown into it for an outage, so violations are stored until they are
   * requested.
   */
  throwViolation(): void {
    if (this.violation) throw this.violation;
  }

  /** All remembered data that a later check depends on. */
  summary(): string {
    const told = [...this.told].map(([key, generationId]) => `${key} ${generationId}`);
    return JSON.stringify([
      [...this.claims.values()],
      [...this.scheduled],
      inOrder(told),
      inOrder(this.refusals),
      inOrder(this.neverToBegin),
      inOrder(this.orphansRuledOut),
    ]);
  }

  async effect(process: string, { name, args }: Pick<PortCall, 'name' | 'args'>, answer: unknown): Promise<void> {
    for (const step of stepsOf({ name, args, result: answer })) await this.step(process, step);
  }

  private async step(process: string, { name, args, result: answer }: AnsweredCall): Promise<void> {
    switch (name) {
      case 'claims.insert':
        if (isInserted(answer)) this.claims.set((args[0] as Claim).key, args[0] as Claim);
        return;
      case 'claims.replace':
        if (answer === 'applied') await this.takenOver(args[0] as Claim);
        return;
      case 'claims.remove':
        if (answer === 'applied') this.claims.delete((args[0] as Claim).key);
        return;
      case 'wakeUps.schedule':
        this.scheduled.set((args[0] as WakeUpSubject).id, (this.schedules += 1));
        return;
      case 'generations.insert':
        if (isInserted(answer)) await this.inserted(args[0] as GenerationRecord);
        return;
      case 'generations.replace':
        if (answer === 'applied') this.replaced(process, args[0] as GenerationRecord);
        return;
      case 'provider.submit':
        this.submitted((args[0] as { readonly generationId: string }).generationId);
        return;
      default:
    }
  }

  answered(request: Request, answer: Answer): void {
    if (answer.outcome === 'broken') return this.violated(0, `a client's request broke: ${answer.message}`);
    if (answer.outcome === 'refused') {
      this.refusals.add(answer.code);
      return;
    }
    const { generation } = answer;
    if (!this.generations.has(generation.generationId))
      this.violated(12, `generation ${generation.generationId} was answered and is not stored`);
    if (answer.outcome === 'cancelled' && generation.status === 'cancelled' && generation.attemptsMade === 0) {
      this.neverToBegin.add(generation.generationId);
      if (generation.chargedCredits !== 0) this.violated(10, 'a generation cancelled in the queue was charged');
    }
    const before = this.told.get(request.key);
    if (before !== undefined && before !== generation.generationId)
      this.violated(11, `key ${request.key} was answered with ${before} and with ${generation.generationId}`);
    this.told.set(request.key, generation.generationId);
  }

  private async takenOver(claim: Claim): Promise<void> {
    const before = this.claims.get(claim.key);
    this.claims.set(claim.key, claim);
    if (before === undefined || !this.orphansRuledOut.has(before.subjectId)) return;
    if (await this.hasHold(before.subjectId))
      this.violated(6, `key ${claim.key} was taken over, and the hold of ${before.subjectId} left`);
  }

  private async inserted(record: GenerationRecord): Promise<void> {
    this.generations.set(record.generationId, record);
    if (record.kind === 'void' && this.isOrphan(record.generationId)) this.orphansRuledOut.add(record.generationId);
    if (record.kind === 'generation' && !(await this.hasHold(record.generationId)))
      this.violated(4, `generation ${record.generationId} was inserted without a hold`);
  }

  private replaced(process: string, record: GenerationRecord): void {
    const before = this.generations.get(record.generationId);
    this.generations.set(record.generationId, record);
    if (before === undefined || record.version !== before.version + 1)
      this.violated(7, `generation ${record.generationId} skipped a version`);
    if (before?.kind !== 'generation' || record.kind !== 'generation') return;
    if (ENDED.has(before.status) && clientSide(before) !== clientSide(record))
      this.violated(7, `generation ${record.generationId} changed after its end`);
    const isWork =
      before.status === 'running' &&
      (record.status !== 'running' || JSON.stringify(before.attempt) !== JSON.stringify(record.attempt));
    if (isWork && before.lease?.worker !== process)
      this.violated(14, `${process} wrote as the holder of a lease that is ${before.lease?.worker ?? 'nobody'}'s`);
  }

  private submitted(generationId: string): void {
    if (this.neverToBegin.has(generationId))
      this.violated(10, `generation ${generationId} was submitted after its cancel was acknowledged`);
  }

  private violated(invariant: number, what: string): void {
    this.violation ??= new Violation(invariant, what);
  }
}

function clientSide({ status, chargedCredits, completedAt, outputs, error }: Generation): string {
  return JSON.stringify([status, chargedCredits, completedAt, outputs, error]);
}

/** Sorted, because events in a different order lead to the same state. */
function inOrder(texts: Iterable<string>): string[] {
  return [...texts].sort((a, b) => (a < b ? -1 : 1));
}

function isInserted(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'inserted' in answer && answer.inserted === true;
}
