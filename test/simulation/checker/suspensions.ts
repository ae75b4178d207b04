import type { Answer, Asked } from '../observed.js';
import type { Handlers } from './calls.js';
import { demand } from './demand.js';
import type { EventOrder } from './event-order.js';
import { ValueHistory } from './value-history.js';

const REACHES_ALL_WITHIN_MS = 5_000;
const SUSPENDED = 'The account is suspended.';

/** One account's suspensions as they were stored, in true time. */
interface Suspended {
  readonly history: ValueHistory;
  /** From when to when; the last one may still go on. */
  readonly spans: { readonly from: number; to: number }[];
}

/**
 * Invariant 18: nothing is held on a suspended account, its keys open nothing, and no other account is taken for
 * suspended.
 */
export class Suspensions {
  private readonly accounts = new Map<string, Suspended>();
  /** Operators' requests by operation and account. */
  private readonly requested = new Set<string>();

  constructor(private readonly order: EventOrder) {}

  readonly handlers: Handlers = {
    'accounts.apply': ({ args: [{ accountId, profile, holdsOpened, version }], result, at }) => {
      if (result !== 'applied') return;
      const { history, spans } = this.of(accountId);
      const span = spans.at(-1);
      const wasSuspended = span?.to === Infinity;
      // Commands are written in batches: one that resumes may open holds after that.
      demand(
        !wasSuspended || profile !== undefined || holdsOpened.length === 0,
        18,
        () =>
          `account ${accountId} opened a hold for ${holdsOpened[0]?.generationId} at version ${version}, and is suspended`,
      );
      if (profile === undefined) return;
      const isSuspended = profile.suspendedAt !== undefined;
      // A batch is decided command by command: the account may have been suspended, or not, between two of them.
      const between = isSuspended ? 'resume' : 'suspend';
      if (wasSuspended === isSuspended && this.requested.has(`${between} ${accountId}`)) {
        history.set(this.order.position, isSuspended ? 0 : 1);
        if (!isSuspended) spans.push({ from: at, to: at });
      }
      if (span && wasSuspended && !isSuspended) span.to = at;
      if (!wasSuspended && isSuspended) spans.push({ from: at, to: Infinity });
      history.set(this.order.position, isSuspended ? 1 : 0);
    },
  };

  noteAsked({ request }: Asked): void {
    if (request.operation === 'suspend' || request.operation === 'resume')
      this.requested.add(`${request.operation} ${request.accountId}`);
  }

  served(asked: Asked, answer: Answer, at: number): void {
    if (asked.party) this.ofClient(asked, asked.party.accountId, answer, at);
    else if (answer.outcome === 'success') this.ofOperator(asked);
  }

  private ofClient(asked: Asked, accountId: string, answer: Answer, at: number): void {
    const { spans } = this.of(accountId);
    const arrivedAt = this.order.arrivedAt(asked);
    if (answer.outcome === 'refused' && answer.message === SUSPENDED) {
      const mayBe = spans.some(({ from, to }) => from <= at && to >= arrivedAt - REACHES_ALL_WITHIN_MS);
      demand(mayBe, 18, () => `request ${asked.number} was refused for a suspended account, and ${accountId} was none`);
    }
    if (answer.outcome !== 'success') return;
    const lasting = spans.find(({ from, to }) => from < arrivedAt - REACHES_ALL_WITHIN_MS && to > at);
    demand(
      lasting === undefined,
      18,
      () =>
        `request ${asked.number} (${asked.request.operation}) arrived ${arrivedAt - (lasting?.from ?? 0)} ms after account ${accountId} was suspended, and was answered`,
    );
  }

  private ofOperator(asked: Asked): void {
    const { request } = asked;
    if (request.operation !== 'suspend' && request.operation !== 'resume') return;
    const said = request.operation === 'suspend' ? 1 : 0;
    const was = this.of(request.accountId).history.wasEver(this.order.arrivedOrder(asked), (value) => value === said);
    demand(
      was,
      18,
      () => `an operator was told that ${request.operation} of account ${request.accountId} is done, and it was not`,
    );
  }

  private of(accountId: string): Suspended {
    let known = this.accounts.get(accountId);
    if (!known) this.accounts.set(accountId, (known = { history: new ValueHistory(0), spans: [] }));
    return known;
  }
}
