import type { AccountChange } from '../../core/credits/account.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import { StepwiseAcceptances } from '../../core/generation/stepwise-acceptances.js';
import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../../core/ports/stores.js';
import { DUPLICATE_KEY, type MongoConnection } from './connection.js';
import type { MongoAccountStore } from './mongo-account-store.js';
import type { MongoClaimStore } from './mongo-claim-store.js';
import type { MongoGenerationStore } from './mongo-generation-store.js';

interface Stores {
  readonly accounts: MongoAccountStore;
  readonly claims: MongoClaimStore;
  readonly generations: MongoGenerationStore;
}

/** The server's code for a change of an account whose condition does not hold. */
const CONVERSION_FAILURE = 241;

/**
 * Accepts generations in two commands: the claims, in no order, and then the change of the account and the generations, in
 * order. Both are written on a member of a replica set alone, whose log keeps that order; behind a router, and on a server of
 * before release 8.0, the second is one command a record.
 */
export class MongoAcceptances implements AcceptanceStore {
  private readonly steps: StepwiseAcceptances;

  constructor(
    private readonly connection: MongoConnection,
    private readonly stores: Stores,
  ) {
    this.steps = new StepwiseAcceptances(stores);
  }

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const taken = claims.length === 0 ? [] : await this.stores.claims.insertAll(claims);
    if (taken.length > 0) return { outcome: 'taken', taken, claimsStand: true };
    return (await this.writeInOrder(change, generations)) ?? this.steps.accept({ claims: [], change, generations });
  }

  /** Undefined when nothing was written, and one write after the other may succeed. */
  private async writeInOrder(
    change: AccountChange,
    generations: readonly Generation[],
  ): Promise<AcceptanceOutcome | undefined> {
    const { accounts, generations: records } = this.stores;
    const write = this.connection.deployment.ordersWrites ? accounts.guardedWrite(change) : undefined;
    if (write === undefined) return undefined;
    const written = await this.connection.writeInOrder([write, ...generations.map((one) => records.insertion(one))]);
    if (!('place' in written)) {
      // Accounts are never removed, and the change was decided on one that was read.
      if (written.matchedCount !== 1) throw new StoreUnavailable(`MongoDB has no account ${change.accountId}.`);
      accounts.written(change);
      return { outcome: 'accepted', existing: [] };
    }
    const { place, code } = written;
    if (place === 0 && code === CONVERSION_FAILURE) {
      const why = await accounts.refusalOf(change);
      if (why === 'current') return undefined;
      if (why === 'passed') return { outcome: 'conflict', claimsStand: true };
      accounts.written(change);
      // Each may be stored by now, or not yet.
      const others = await this.insertEach(generations);
      return { outcome: 'accepted', existing: others.filter(({ kind }) => kind !== 'generation') };
    }
    if (place === 0 || code !== DUPLICATE_KEY)
      throw new StoreUnavailable(`MongoDB refused a write of several (code ${code}).`);
    accounts.written(change);
    // The inserts after the refused one were not tried.
    return { outcome: 'accepted', existing: await this.insertEach(generations.slice(place - 1)) };
  }

  /** Returns the other records that have their ids. */
  private async insertEach(generations: readonly Generation[]): Promise<GenerationRecord[]> {
    const outcomes = await Promise.all(generations.map(async (one) => this.stores.generations.insert(one)));
    return outcomes.flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing]));
  }
}
