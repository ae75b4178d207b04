import type { Generation } from '../../../core/generation/generation.js';
import type { Settings } from '../../../core/settings.js';
import { checkAttribution, type GenerationMoney, namedBy } from '../../history/ledger.js';
import { checkCharge, checkLedgerCharge, checkReserved } from '../../history/prices.js';
import { violation } from '../observed.js';
import type { Books, BooksListener } from './books.js';
import type { Claims } from './claims.js';
import { demandNone } from './event-order.js';
import type { GenerationListener, Generations, Step } from './generations.js';
import type { Keys } from './keys.js';
import type { Prices } from './prices.js';
import type { ProcessClocks } from './process-clocks.js';
import type { ProviderCalls } from './provider-calls.js';
import { hasEnded } from './record-events.js';

interface Knowledge {
  readonly settings: Settings;
  readonly books: Books;
  readonly claims: Claims;
  readonly keys: Keys;
  readonly prices: Prices;
  readonly provider: ProviderCalls;
  readonly generations: Generations;
  readonly clocks: ProcessClocks;
}

/** Invariants 3, 4 and 5: the credits that each generation reserves and is charged, and that its hold matches. */
export class Charges implements GenerationListener, BooksListener {
  /**
   * When the cancel of each generation was written, in true time: a worker measures its provider's grace from when it
   * sees the cancel, by its own clock.
   */
  private readonly cancelledAt = new Map<string, number>();

  constructor(private readonly known: Knowledge) {}

  inserted(g: Generation): void {
    const { generationId, chargedCredits, terms } = g;
    const { prices, books, claims, keys } = this.known;
    const money = books.moneyOf(generationId);
    demandNone(checkReserved(g, prices.of(g.modelKey, g.parameters), money));
    if (money === undefined || money.endedAt !== undefined)
      throw violation`4: generation ${generationId} was inserted after its hold had ended`;
    if (chargedCredits !== 0) throw violation`3: generation ${generationId} begins with ${chargedCredits} charged`;
    const key = claims.keyOfGeneration(generationId);
    demandNone(checkAttribution(`generation ${generationId}`, namedBy(g), key ? keys.attributions(key) : []));
    const model = prices.model(g.modelKey);
    const isFrozen =
      terms.maxAttempts === model.maxAttempts &&
      terms.queueDeadlineAt === g.createdAt + model.queueTimeoutMs &&
      terms.runTimeoutMs === model.runTimeoutMs;
    if (!isFrozen) throw violation`6: generation ${generationId} does not have the terms of ${g.modelKey}`;
  }

  stepped({ before, next, event, by }: Step): void {
    const { generationId, chargedCredits, reservedCredits } = next;
    const isFrozen = next.estimatedCredits === before.estimatedCredits && reservedCredits === before.reservedCredits;
    if (!isFrozen || chargedCredits < before.chargedCredits || chargedCredits > reservedCredits)
      throw violation`3: generation ${generationId} reserves ${reservedCredits} and is charged ${chargedCredits}, after ${before.reservedCredits} and ${before.chargedCredits}`;
    if (hasEnded(next) && !hasEnded(before)) this.ended(before, next, by);
    else if (chargedCredits !== before.chargedCredits)
      throw violation`3: generation ${generationId} was charged by ${event}`;
    if (event === 'cancel') this.cancelledAt.set(generationId, by.at);
    if (event === 'settle') this.settled(next);
  }

  /** A hold is opened for the generation that a claim names, and its amount is the price of a request. */
  held(
    { generationId, attribution }: Parameters<NonNullable<BooksListener['held']>>[0],
    { accountId }: GenerationMoney,
  ): void {
    const key = this.known.claims.keyOfGeneration(generationId);
    if (key?.accountId !== accountId)
      throw violation`4: account ${accountId} holds credits for ${generationId}, which no claim of it ever named`;
    demandNone(checkAttribution(`the hold for ${generationId}`, attribution, this.known.keys.attributions(key)));
    const most = this.known.settings.maxOpenGenerationsPerAccount;
    if (this.known.books.openCount(accountId) > most)
      throw violation`20: account ${accountId} holds credits for ${generationId}, and had ${most} open generations already`;
    if (this.known.generations.record(generationId)?.kind === 'generation')
      throw violation`4: credits are held for generation ${generationId} after it was inserted`;
  }

  /** A hold is ended when its generation has ended, or can never come to be. */
  closed(generationId: string, money: GenerationMoney): void {
    const record = this.known.generations.record(generationId);
    if (record === undefined)
      throw violation`4: the hold for ${generationId} on account ${money.accountId} was ended while it could still come to be`;
    const generation = record.kind === 'generation' ? record : undefined;
    if (generation && !hasEnded(generation))
      throw violation`4: the hold of generation ${generationId} was ended while it is ${generation.status}`;
    demandNone(checkLedgerCharge(generationId, money, generation));
  }

  private settled({ generationId, chargedCredits }: Generation): void {
    const money = this.known.books.moneyOf(generationId);
    const isSettled = money?.endedAt !== undefined && money.charged === BigInt(chargedCredits);
    if (!isSettled)
      throw violation`4: generation ${generationId} is marked as settled with ${chargedCredits} charged, and its hold is ${money?.endedAt === undefined ? 'open' : `ended with ${money.charged}`}`;
  }

  private ended(before: Generation, next: Generation, by: Step['by']): void {
    const { status, outputs, modelKey, parameters } = next;
    const delivered = this.known.prices.ofOutputs(modelKey, parameters, outputs);
    const afterCancel = status === 'cancelled' ? this.dueAfterCancel(before, next, delivered, by) : [];
    demandNone(checkCharge(next, delivered, afterCancel));
  }

  /**
   * A cancelled generation pays for the delivered outputs, and at least the floor, if its provider had accepted the
   * task and did not fail by itself. The checker does not always know which answer a worker received, since answers get
   * lost: then either may be right.
   */
  private dueAfterCancel(before: Generation, next: Generation, delivered: number, by: Step['by']): number[] {
    if (before.status !== 'queued' && before.cancelRequestedAt === undefined)
      throw violation`10: generation ${next.generationId} was cancelled, and nobody had asked for it`;
    const { reservedCredits, modelKey, outputs } = next;
    const reference = before.status === 'running' ? before.attempt?.reference : undefined;
    if (reference === undefined) return [0];
    const { provider, clocks, settings, prices } = this.known;
    const withFloor = Math.min(reservedCredits, Math.max(delivered, prices.model(modelKey).cancelFloorCredits));
    if (outputs.length > 0) return [withFloor];
    if (!provider.mayHaveFailed(reference)) return [withFloor];
    const graceIsOver =
      by.at > (this.cancelledAt.get(next.generationId) ?? Infinity) + settings.cancelGraceMs ||
      !clocks.isSteady(by.process, by.at);
    return provider.hasStopped(reference) || graceIsOver ? [0, withFloor] : [0];
  }
}
