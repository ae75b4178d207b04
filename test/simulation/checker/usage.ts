import type { Entry } from '../../../core/credits/account.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { type Answer, type Asked, violation } from '../observed.js';
import type { BooksListener } from './books.js';
import type { EventOrder } from './event-order.js';

const SUMS = ['generations', 'failed', 'reserved_credits', 'charged_credits', 'released_credits'] as const;
type Sums = Record<(typeof SUMS)[number], number>;

/** The name of a row, and the entries it sums. */
const GROUPS = {
  day: { name: 'day', of: dayOf },
  model: { name: 'model_key', of: ({ attribution }: Entry) => attribution?.modelKey ?? '' },
  key: { name: 'credential_id', of: ({ attribution }: Entry) => attribution?.credentialId ?? '' },
  client_trace_id: { name: 'client_trace_id', of: ({ attribution }: Entry) => attribution?.clientTraceId ?? '' },
} as const;

interface Written {
  readonly order: number;
  readonly entry: Entry;
}

/**
 * Invariant 28: reported use is the sum of the ledger's entries: at least of those that were written before the
 * request, and of none that was not yet written.
 */
export class Usage implements BooksListener {
  private readonly entries = new Map<string, Written[]>();

  constructor(private readonly order: EventOrder) {}

  entered(entry: Entry): void {
    if (entry.generationId === undefined) return;
    const written = this.entries.get(entry.accountId) ?? [];
    this.entries.set(entry.accountId, written);
    written.push({ order: this.order.position, entry });
  }

  served(asked: Asked, answer: Answer): void {
    const { request, party } = asked;
    if (request.operation !== 'usage' || answer.outcome !== 'success' || party === undefined) return;
    const { name, of } = GROUPS[request.by];
    const { usage, total, from, to } = answer.data as JsonObject & { usage: JsonObject[]; total: JsonObject };
    const known = (this.entries.get(party.accountId) ?? []).filter(
      ({ entry }) => dayOf(entry) >= (from as string) && dayOf(entry) <= (to as string),
    );
    const arrived = this.order.arrivedOrder(asked);
    const compare = (what: string, shown: JsonObject, wanted: readonly Written[]): void => {
      const least = sumsOf(wanted.filter(({ order }) => order <= arrived));
      const most = sumsOf(wanted);
      for (const sum of SUMS) {
        const value = amount(shown[sum]);
        if (value < least[sum] || value > most[sum])
          throw violation`28: ${party.accountId} has ${value} ${sum} ${what}; its entries add up to ${least[sum]} to ${most[sum]}`;
      }
    };
    compare('in all', total, known);
    const groups = new Set(known.map(({ entry }) => of(entry)));
    for (const group of groups) {
      const row = usage.find((one) => (one[name] ?? '') === group) ?? {};
      compare(
        `of ${name} "${group}"`,
        row,
        known.filter(({ entry }) => of(entry) === group),
      );
    }
    const foreign = usage.find((row) => !groups.has((row[name] ?? '') as string));
    if (foreign !== undefined)
      throw violation`28: ${party.accountId} has a row that no entry belongs to: ${JSON.stringify(foreign)}`;
  }
}

function dayOf({ at }: Entry): string {
  return new Date(at).toISOString().slice(0, 10);
}

function sumsOf(written: readonly Written[]): Sums {
  const sums: Sums = { generations: 0, failed: 0, reserved_credits: 0, charged_credits: 0, released_credits: 0 };
  for (const { entry } of written) {
    const { kind, credits, reason } = entry;
    if (kind === 'hold') {
      sums.generations += 1;
      sums.reserved_credits += credits;
    }
    if (kind === 'charge') sums.charged_credits += credits;
    if (kind === 'release') sums.released_credits += credits;
    if (kind !== 'hold' && reason === 'failed') sums.failed += 1;
  }
  return sums;
}

function amount(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0;
}
