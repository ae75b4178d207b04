import type { Entry } from '../../../core/credits/account.js';
import { checkShortage } from '../../history/ledger.js';
import { type Answer, type Asked, type Request, violation } from '../observed.js';
import type { Books, BooksListener } from './books.js';
import { demandNone, type EventOrder } from './event-order.js';

type Operation = Extract<Request, { operation: 'grant' | 'adjust' }>;

/** Invariant 1: credits are added and removed only at operators' request, once per operation id. */
export class Operations implements BooksListener {
  private readonly requested = new Map<string, Operation[]>();
  private readonly done = new Map<string, Entry>();
  /** Before any request, accounts are set up with their initial credits. */
  private isSettingUp = true;

  constructor(
    private readonly books: Books,
    private readonly order: EventOrder,
  ) {}

  asked({ request }: Asked): void {
    this.isSettingUp = false;
    if (request.operation !== 'grant' && request.operation !== 'adjust') return;
    const name = nameOf(request.accountId, request.operationId);
    this.requested.set(name, [...(this.requested.get(name) ?? []), request]);
  }

  /** An operation that was reported as done is in the ledger, and one that was reported as impossible was so. */
  served(asked: Asked, answer: Answer): void {
    const { request } = asked;
    if (request.operation !== 'grant' && request.operation !== 'adjust') return;
    const { accountId, operationId, credits } = request;
    if (answer.outcome === 'success') {
      const entry = this.done.get(nameOf(accountId, operationId));
      if (entry === undefined || !isOf(entry, request))
        throw violation`1: ${request.operation} ${operationId} of ${credits} to account ${accountId} was acknowledged, and the ledger has ${entry ? `a ${entry.kind} of ${entry.credits}` : 'nothing'} under it`;
    }
    if (answer.outcome === 'refused' && answer.code === 'CREDITS_INSUFFICIENT') {
      const available = this.books.availableOf(accountId)?.valuesSince(this.order.arrivedOrder(asked));
      const told = `adjustment ${operationId}`;
      if (available) demandNone(checkShortage({ told, accountId, available }, -credits));
    }
  }

  operated(entry: Entry): void {
    const { accountId, operationId = '' } = entry;
    const name = nameOf(accountId, operationId);
    if (this.done.has(name))
      throw violation`1: operation ${operationId} of account ${accountId} has a second entry, ${entry.sequence}`;
    const isAsked = this.isSettingUp || (this.requested.get(name) ?? []).some((request) => isOf(entry, request));
    if (!isAsked)
      throw violation`1: entry ${entry.sequence} of account ${accountId}, a ${entry.kind} of ${entry.credits} under ${operationId}, was asked for by nobody`;
    this.done.set(name, entry);
  }
}

function isOf(entry: Entry, { operation, credits }: Operation): boolean {
  const signed = entry.from === 'issued' ? entry.credits : -entry.credits;
  return signed === credits && entry.kind === (operation === 'grant' ? 'grant' : 'adjustment');
}

function nameOf(accountId: string, operationId: string): string {
  return `${accountId} ${operationId}`;
}
