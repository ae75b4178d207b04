import { Counter, Histogram, type Registry } from 'prom-client';
import type { AccountChange } from '../../core/credits/account.js';
import type { AccountStore } from '../../core/ports/account-store.js';
import type { AnswersOf } from './store-calls.js';

const COMMANDS = [1, 2, 5, 10, 25, 50, 100, 250];

/** What was written to the ledgers: how many commands per write, and which credits moved. */
export class LedgerWrites {
  private readonly commands: Histogram;
  private readonly credits: Counter<'kind' | 'to'>;
  private readonly opened: Counter;
  private readonly closed: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.commands = new Histogram({
      name: 'darkroom_account_write_commands',
      help: 'Commands on an account that were written as one change.',
      buckets: COMMANDS,
      registers,
    });
    this.credits = new Counter({
      name: 'darkroom_credits_moved_total',
      help: 'Credits moved by entries of the ledgers, by kind and the book they went to.',
      labelNames: ['kind', 'to'],
      registers,
    });
    this.opened = new Counter({
      name: 'darkroom_holds_opened_total',
      help: 'Holds opened: generations whose price was reserved.',
      registers,
    });
    this.closed = new Counter({
      name: 'darkroom_holds_closed_total',
      help: 'Holds closed: generations settled, and reservations given back.',
      registers,
    });
    for (const [kind, to] of [
      ['hold', 'reserved'],
      ['charge', 'spent'],
      ['release', 'available'],
    ] as const)
      this.credits.inc({ kind, to }, 0);
  }

  /** What the account store's answers tell. */
  readonly learn: AnswersOf<AccountStore> = {
    apply: (answer, [change]) => {
      if (answer === 'applied') this.count(change);
    },
  };

  /** Counts a change that was applied. */
  count({ entries, holdsOpened, holdsClosed, profile }: AccountChange): void {
    let ordered = profile === undefined ? 0 : 1;
    for (const { kind, to, credits, operationId } of entries) {
      this.credits.inc({ kind, to }, credits);
      if (operationId !== undefined) ordered += 1;
    }
    this.opened.inc(holdsOpened.length);
    this.closed.inc(holdsClosed.length);
    // A settlement may be two entries, so entries do not count commands.
    this.commands.observe(ordered + holdsOpened.length + holdsClosed.length);
  }
}
