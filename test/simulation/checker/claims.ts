import type { Claim, ClaimedOperation, ClaimKey } from '../../../core/idempotency/claim.js';
import type { Settings } from '../../../core/settings.js';
import { violation } from '../observed.js';
import type { EffectOf, Handlers } from './calls.js';
import type { EventOrder } from './event-order.js';
import { canBeDue, MAX_SKEW_MS, type ProcessClocks } from './process-clocks.js';

/** The record at a subject's id: an effect, a note that none can come, or nothing. */
export type Standing = 'effect' | 'precluded' | 'nothing';

/** Invariant 11: the current claims, and everything that each id was ever claimed for. */
export class Claims {
  private readonly standing = new Map<string, Claim>();
  /** The key under which an id was claimed, by operation and id. */
  private readonly namedBy = new Map<string, ClaimKey>();
  private readonly expired = new Set<string>();
  /** When a key was last freed by a refusal, or read and found free before one, by event number. */
  private readonly freeAt = new Map<string, number>();
  /** The process that made each current claim. */
  private readonly madeBy = new Map<string, string>();

  constructor(
    private readonly settings: Settings,
    private readonly clocks: ProcessClocks,
    private readonly order: EventOrder,
    private readonly standingAt: (operation: ClaimedOperation, subjectId: string) => Standing,
    private readonly isHeld: (generationId: string) => boolean,
    /** With one process at a time, the maker of an earlier claim is gone. */
    private readonly isExclusive: boolean,
  ) {}

  readonly handlers: Handlers = {
    'claims.insert': ({ args: [claim], result, process }) => {
      const known = this.standing.get(keyName(claim));
      if (result.inserted !== (known === undefined))
        throw violation`11: key ${claim.key} was ${result.inserted ? 'claimed twice' : 'refused, and free'}`;
      if (result.inserted) this.keep(claim, process);
    },
    'claims.read': ({ args: [key], result }) => {
      const known = this.standing.get(keyName(key));
      if (result?.version !== known?.version)
        throw violation`11: the claim of ${key.key} was read at version ${result?.version}, and has ${known?.version}`;
      if (result === null) this.freeAt.set(keyName(key), this.order.position);
    },
    'claims.replace': ({ args: [next], result, process }) => {
      if (result !== 'applied') return;
      if (next.leaseExpiresAt === 0) this.finish(next);
      else this.takeOver(next, process);
    },
    'claims.remove': ({ args: [key, expectedVersion], result }) => {
      if (result === 'applied') this.free(key, expectedVersion);
    },
    'claims.removeExpired': (effect) => this.removeExpired(effect),
  };

  at(key: ClaimKey): Claim | undefined {
    return this.standing.get(keyName(key));
  }

  /** The key under which an id was ever claimed, whether or not the claim still exists. */
  keyOf(operation: ClaimedOperation, subjectId: string): ClaimKey | undefined {
    return this.namedBy.get(`${operation} ${subjectId}`);
  }

  keyOfGeneration(generationId: string): ClaimKey | undefined {
    return this.keyOf('create', generationId) ?? this.keyOf('create-compatible', generationId);
  }

  /** Whether the effect that a key was claimed for exists, and the key is not known to have been free since. */
  hasStoodSince(key: ClaimKey, order: number): boolean {
    const claim = this.at(key);
    return (
      claim !== undefined &&
      this.standingAt(key.operation, claim.subjectId) === 'effect' &&
      (this.freeAt.get(keyName(key)) ?? -1) < order
    );
  }

  /** Whether a claim of this key was ever removed after its retention. */
  wasExpired(key: ClaimKey): boolean {
    return this.expired.has(keyName(key));
  }

  private keep(claim: Claim, process: string): void {
    const { operation, subjectId, createdAt, leaseExpiresAt, removeAt, key } = claim;
    const named = `${operation} ${subjectId}`;
    const { claimLeaseMs, claimRetentionMs } = this.settings;
    const isTimed = leaseExpiresAt === createdAt + claimLeaseMs && removeAt === createdAt + claimRetentionMs;
    if (!isTimed)
      throw violation`11: the claim of ${key} made at ${createdAt} is leased until ${leaseExpiresAt} and kept until ${removeAt}`;
    if (operation !== 'complete' && this.namedBy.has(named))
      throw violation`11: id ${subjectId} was claimed under a second time, for ${key}`;
    this.namedBy.set(named, claim);
    this.standing.set(keyName(claim), claim);
    this.madeBy.set(keyName(claim), process);
  }

  /**
   * A claim is taken over only if it has lapsed or its process is gone, and only once nothing can come of it any more.
   * Its maker read the clock for `createdAt`.
   */
  private takeOver(next: Claim, process: string): void {
    const before = this.standing.get(keyName(next));
    if (before === undefined) throw violation`11: a claim of ${next.key} was taken over, and none stood`;
    const { claimLeaseMs } = this.settings;
    const hasLapsed =
      before.leaseExpiresAt <= next.createdAt || before.leaseExpiresAt > next.createdAt + claimLeaseMs + MAX_SKEW_MS;
    const isOfTheDead = this.isExclusive && this.madeBy.get(keyName(next)) !== process;
    if (!hasLapsed && !isOfTheDead)
      throw violation`11: the claim of ${next.key} was leased until ${before.leaseExpiresAt} and taken over at ${next.createdAt}`;
    if (next.version !== before.version + 1 || next.digest !== before.digest)
      throw violation`11: the claim of ${next.key} was taken over by another request, or out of turn`;
    if (next.operation !== 'complete') {
      const standing = this.standingAt(next.operation, before.subjectId);
      if (standing !== 'precluded')
        throw violation`11: the claim of ${next.key} was taken over while its ${before.subjectId} was not ruled out: ${standing}`;
    }
    this.keep(next, process);
  }

  /**
   * A successful completion marks its claim and changes nothing else there, except that the key of an already ready
   * upload expires sooner.
   */
  private finish(next: Claim): void {
    const before = this.standing.get(keyName(next));
    const isSame =
      before !== undefined &&
      next.version === before.version + 1 &&
      next.digest === before.digest &&
      next.subjectId === before.subjectId &&
      (next.removeAt === before.removeAt || next.removeAt === before.createdAt + this.settings.replayWindowMs);
    if (next.operation !== 'complete' || !isSame)
      throw violation`11: the claim of ${next.key} was marked as finished by another request`;
    this.standing.set(keyName(next), next);
  }

  /** Only a refusal frees a key, and the refused request has no effect. */
  private free(key: ClaimKey, expectedVersion: number): void {
    const before = this.standing.get(keyName(key));
    if (before?.version !== expectedVersion)
      throw violation`11: the claim of ${key.key} was removed at version ${expectedVersion}, and has ${before?.version}`;
    if (key.operation !== 'complete') {
      const standing = this.standingAt(key.operation, before.subjectId);
      if (standing === 'effect')
        throw violation`11: key ${key.key} was freed, and ${before.subjectId} was made under it`;
      // Credits without any reference to them would be missing until recovery finds them.
      if (standing !== 'precluded' && this.isHeld(before.subjectId))
        throw violation`12: key ${key.key} was freed, and credits are held for ${before.subjectId}`;
    }
    this.standing.delete(keyName(key));
    this.freeAt.set(keyName(key), this.order.position);
  }

  private removeExpired({ args: [now], result, at, process, processNow }: EffectOf<'claims.removeExpired'>): void {
    if (result === 0) return;
    if (!canBeDue(now, at)) throw violation`11: ${process} removed claims as of ${now}, which is ${now - at} ms ahead`;
    if (now > processNow && this.clocks.isSteady(process, at))
      throw violation`11: ${process} removed claims as of ${now}, at ${processNow} by its clock`;
    const due = [...this.standing]
      .filter(([, { removeAt }]) => removeAt <= now)
      .sort(([a, { removeAt: atA }], [b, { removeAt: atB }]) => atA - atB || (a < b ? -1 : 1));
    if (result > due.length) throw violation`11: ${result} claims were removed as expired, and ${due.length} were`;
    for (const [name] of due.slice(0, result)) {
      this.standing.delete(name);
      this.expired.add(name);
    }
  }
}

export function keyName({ accountId, appId, operation, key }: ClaimKey): string {
  return JSON.stringify([accountId, appId, operation, key]);
}
