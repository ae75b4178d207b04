import type { Settings } from '../../../core/settings.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { GenerationMoney } from '../../history/account-ledger.js';
import type { Books, BooksListener } from './books.js';
import type { Claims } from './claims.js';
import { demand } from './demand.js';
import type { GenerationListener, Generations, Step } from './generations.js';
import type { Prices } from './prices.js';
import type { ProcessClocks } from './process-clocks.js';
import type { ProviderCalls } from './provider-calls.js';
import { hasEnded } from './record-events.js';

interface Knowledge {
  readonly settings: Settings;
  readonly books: Books;
  readonly claims: Claims;
  readonly prices: Prices;
  readonly provider: ProviderCalls;
  readonly generations: Generations;
  readonly clocks: ProcessClocks;
}

/** Invariants 3, 4 and 5: what each generation reserves, what it is charged, and that its hold says the same. */
export class Charges implements GenerationListener, BooksListener {
  /**
   * When a cancel of each was written, in true time: a worker counts its provider's grace from when it sees one, by its
   * own clock.
   */
  private readonly cancelledAt = new Map<string, number>();

  constructor(private readonly known: Knowledge) {}

  inserted(g: Generation): void {
    const { generationId, estimatedCredits, reservedCredits, chargedCredits, terms, accountId } = g;
    const { prices, books } = this.known;
    const price = prices.whole(g.modelKey, g.parameters);
    demand(
      estimatedCredits === price && reservedCredits === price,
      3,
      () =>
        `generation ${generationId} is estimated at ${estimatedCredits} and reserves ${reservedCredits}; its price is ${price}`,
    );
    demand(chargedCredits === 0, 3, () => `generation ${generationId} begins with ${chargedCredits} charged`);
    const model = prices.model(g.modelKey);
    const isFrozen =
      terms.maxAttempts === model.maxAttempts &&
      terms.queueDeadlineAt === g.createdAt + model.queueTimeoutMs &&
      terms.runTimeoutMs === model.runTimeoutMs;
    demand(isFrozen, 6, () => `generation ${generationId} does not have the terms of ${g.modelKey}`);
    const money = books.moneyOf(generationId);
    demand(
      money?.isOpen === true && money.accountId === accountId && money.held === BigInt(price),
      4,
      () =>
        `generation ${generationId} was inserted for ${price}, and ${money?.isOpen ? `${money.held} were held` : 'nothing was held'}`,
    );
  }

  stepped({ before, next, event, by }: Step): void {
    const { generationId, chargedCredits, reservedCredits } = next;
    const isFrozen = next.estimatedCredits === before.estimatedCredits && reservedCredits === before.reservedCredits;
    demand(
      isFrozen && chargedCredits >= before.chargedCredits && chargedCredits <= reservedCredits,
      3,
      () =>
        `generation ${generationId} reserves ${reservedCredits} and is charged ${chargedCredits}, after ${before.reservedCredits} and ${before.chargedCredits}`,
    );
    if (hasEnded(next) && !hasEnded(before)) this.ended(before, next, by);
    else
      demand(chargedCredits === before.chargedCredits, 3, () => `generation ${generationId} was charged by ${event}`);
    if (event === 'cancel') this.cancelledAt.set(generationId, by.at);
    if (event === 'settle') this.settled(next);
  }

  /** A hold is opened for what a claim names, and its price is that of a request. */
  held(generationId: string, { accountId }: GenerationMoney): void {
    const key = this.known.claims.keyOf('create', generationId);
    demand(
      key?.accountId === accountId,
      4,
      () => `account ${accountId} holds credits for ${generationId}, which no claim of it ever named`,
    );
    const most = this.known.settings.maxOpenGenerationsPerAccount;
    demand(
      this.known.books.openCount(accountId) <= most,
      20,
      () => `account ${accountId} holds credits for ${generationId}, and had ${most} open generations already`,
    );
    demand(
      this.known.generations.record(generationId)?.kind !== 'generation',
      4,
      () => `credits are held for generation ${generationId} after it was inserted`,
    );
  }

  /** A hold is ended when its generation has ended, or can never come to be. */
  closed(generationId: string, { charged, accountId }: GenerationMoney): void {
    const record = this.known.generations.record(generationId);
    if (record?.kind !== 'generation') {
      demand(
        record !== undefined,
        4,
        () => `the hold for ${generationId} on account ${accountId} was ended while it could still come to be`,
      );
      return demand(charged === 0n, 5, () => `${charged} were charged for ${generationId}, where no generation stands`);
    }
    demand(hasEnded(record), 4, () => `the hold of generation ${generationId} was ended while it is ${record.status}`);
    demand(
      charged === BigInt(record.chargedCredits),
      5,
      () => `${charged} were charged for generation ${generationId}, which says ${record.chargedCredits}`,
    );
  }

  private settled({ generationId, chargedCredits }: Generation): void {
    const money = this.known.books.moneyOf(generationId);
    const isSettled = money?.isOpen === false && money.charged === BigInt(chargedCredits);
    demand(
      isSettled,
      4,
      () =>
        `generation ${generationId} is marked as settled with ${chargedCredits} charged, and its hold is ${money?.isOpen ? 'open' : `ended with ${money?.charged}`}`,
    );
  }

  private ended(before: Generation, next: Generation, by: Step['by']): void {
    const { generationId, chargedCredits, outputs, modelKey, parameters } = next;
    const delivered = this.known.prices.of(modelKey, parameters, outputs.length);
    const due =
      next.status === 'cancelled'
        ? this.dueAfterCancel(before, next, delivered, by)
        : [next.status === 'succeeded' ? delivered : 0];
    demand(
      due.includes(chargedCredits),
      3,
      () =>
        `generation ${generationId} is ${next.status} with ${outputs.length} outputs and charged ${chargedCredits}, where ${due.join(' or ')} is due`,
    );
  }

  /**
   * A cancelled generation pays for what was delivered, and at least the floor, if its provider had accepted the task
   * and did not fail by itself. What a worker was told is not always known, since answers get lost: then either may be
   * right.
   */
  private dueAfterCancel(before: Generation, next: Generation, delivered: number, by: Step['by']): number[] {
    demand(
      before.status === 'queued' || before.cancelRequestedAt !== undefined,
      10,
      () => `generation ${next.generationId} was cancelled, and nobody had asked for it`,
    );
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
