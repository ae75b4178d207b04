import type { Context } from '../context.js';
import { isTerminal, type Generation } from '../generation/generation.js';
import type { Page, PageRequest } from '../paging.js';
import type { DayRange } from '../ports/usage-store.js';
import type { Account, Entry, Hold } from './account.js';
import { Replay } from './replay.js';
import { resting, type Rest } from '../resting.js';
import { UsageCheck } from '../usage/check-usage.js';
import { wholeAccount, type TraceRow, type UsageList, type UsageRow } from '../usage/usage.js';

const PAGE = 500;
const MAX_LOOKS = 3;
const MAX_FINDINGS = 1_000;

export interface Verification {
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
  /** One sentence each; empty when the books are right. At most 1,000 are listed. */
  readonly findings: readonly string[];
}

/** What a check has examined so far. */
export type VerifyProgress = Omit<Verification, 'findings'>;

/** Told after each page of what is read, and after every 500 items of what is compared; the check goes on once it has resolved. */
export type OnVerified = (so: VerifyProgress) => Promise<void>;

/**
 * Recomputes every account from its entries and compares the result with the account, its generations and its usage, as
 * far as that has come. It may run beside live processes: an account and its entries are compared as of one version, and
 * a generation that looks wrong is read again before it is reported, since it and its account are written one after the
 * other. Keeps, of one account at a time, some 350 bytes for each generation, grant and adjustment, and the rows of usage
 * of two days.
 */
export async function verifyCredits(context: Context, onVerified?: OnVerified): Promise<Verification> {
  const total = { accounts: 0, entries: 0, generations: 0 };
  const findings: string[] = [];
  const rest: Rest = async () => onVerified?.({ ...total });
  const pages: Pages = async function* (read, from) {
    for await (const page of pagesOf(read, from)) {
      yield* page.items;
      await rest();
    }
  };
  for await (const account of pages((page) => context.accounts.list(page, context.call))) {
    const result = await verifyAccount({ context, accountId: account.accountId, pages, rest });
    total.accounts += 1;
    total.entries += result.entries;
    total.generations += result.generations;
    for (const found of [result.ledger, result.suspicions])
      for (const finding of found) {
        if (findings.length === MAX_FINDINGS) break;
        findings.push(finding);
      }
  }
  return { ...total, findings };
}

/** An account that is looked at, and how. */
interface Look {
  readonly context: Context;
  readonly accountId: string;
  readonly pages: Pages;
  readonly rest: Rest;
}

/** What is kept of each generation of an account while its books are checked. */
interface Seen extends Pick<
  Generation,
  'generationId' | 'status' | 'estimatedCredits' | 'reservedCredits' | 'chargedCredits'
> {
  readonly isSettled: boolean;
}

interface AccountResult {
  readonly entries: number;
  readonly generations: number;
  /** What is wrong with the account itself. */
  readonly ledger: Iterable<string>;
  /** What looks wrong between a generation and the account, and may be between two writes. */
  readonly suspicions: ReadonlySet<string>;
}

async function verifyAccount(look: Look): Promise<AccountResult> {
  let result = await lookOnce(look);
  for (let looks = 1; looks < MAX_LOOKS && result.suspicions.size > 0; looks += 1) {
    const again = await lookOnce(look);
    const suspicions = new Set<string>();
    for await (const suspicion of resting(again.suspicions, look.rest))
      if (result.suspicions.has(suspicion)) suspicions.add(suspicion);
    result = { ...again, suspicions };
  }
  return result;
}

async function lookOnce(look: Look): Promise<AccountResult> {
  const { context, accountId, pages, rest } = look;
  // Generations first: what has settled by then has its entries in the account that is read after.
  const generations: Seen[] = [];
  for await (const g of pages((page) => context.generations.list({ of: 'account', accountId }, page, context.call)))
    generations.push(seen(g));
  const usage = [await usageCheck(look, 'uses'), await usageCheck(look, 'traces')];
  const account = await context.accounts.read(accountId, context.call);
  if (!account)
    return {
      entries: 0,
      generations: 0,
      ledger: [`Account ${accountId} is listed but cannot be read.`],
      suspicions: new Set(),
    };

  const replay = new Replay(accountId);
  for await (const entry of entriesOf(look)) {
    if (entry.sequence > account.lastSequence) break;
    replay.add(entry);
    for (const check of usage) await check.add(entry);
  }
  const ledger = [...replay.findings];
  for await (const finding of resting(replay.compare(account), rest)) if (finding !== undefined) ledger.push(finding);
  for (const check of usage) ledger.push(...(await check.findings()).slice(0, MAX_FINDINGS));

  const suspicions = new Set<string>();
  const forgotten = oldHolds(context, account);
  for await (const g of resting(generations, rest)) {
    forgotten.delete(g.generationId);
    for (const suspicion of checkGeneration(g, account, replay)) suspicions.add(suspicion);
  }
  for await (const { generationId, credits } of resting(forgotten.values(), rest))
    suspicions.add(`Account ${accountId} holds ${credits} credits for ${generationId}, which is no generation.`);
  return { entries: account.lastSequence, generations: generations.length, ledger, suspicions };
}

function seen(generation: Generation): Seen {
  const { generationId, status, estimatedCredits, reservedCredits, chargedCredits, settledAt } = generation;
  return {
    generationId,
    status,
    estimatedCredits,
    reservedCredits,
    chargedCredits,
    isSettled: settledAt !== undefined,
  };
}

function entriesOf({ context, accountId, pages }: Look, behind = 0): AsyncGenerator<Entry> {
  const from = behind === 0 ? undefined : String(behind);
  return pages((page) => context.accounts.entries(accountId, page, context.call), from);
}

/** The row of the whole account first: the others have come at least as far. */
async function usageCheck(look: Look, list: UsageList): Promise<UsageCheck> {
  const { context, accountId, pages, rest } = look;
  const [whole] = await context.usage.read([wholeAccount(accountId, list)], context.call);
  const rows = (range: DayRange): AsyncGenerator<UsageRow> =>
    list === 'traces'
      ? pages(tracesOf(context, accountId, range))
      : pages((page) => context.usage.list(accountId, range, page, context.call));
  return new UsageCheck({ accountId, list, whole, rows, entries: (behind) => entriesOf(look, behind), rest });
}

/** Their list goes on behind a row, and has no cursors. */
function tracesOf({ usage, call }: Context, accountId: string, range: DayRange): Read<TraceRow> {
  let after: TraceRow | undefined;
  return async ({ limit }) => {
    const items = await usage.listTraces(accountId, range, { limit, ...(after === undefined ? {} : { after }) }, call);
    after = items.at(-1);
    return { items, ...(items.length < limit ? {} : { nextCursor: 'behind the last one' }) };
  };
}

/** A create may be between its hold and its generation; one that old is none, and recovery should have ended it. */
function oldHolds({ clock, settings }: Context, { holds }: Account): Map<string, Hold> {
  const oldest = clock.now() - 10 * (settings.claimLeaseMs + settings.recoveryGraceMs);
  return new Map([...holds].filter(([, { heldAt }]) => heldAt < oldest));
}

function checkGeneration(g: Seen, account: Account, replay: Replay): string[] {
  const findings: string[] = [];
  const say = (holds: boolean, what: string) => {
    if (!holds) findings.push(`Generation ${g.generationId} of account ${account.accountId} ${what}.`);
  };
  const money = replay.ofGeneration(g.generationId);
  say(g.estimatedCredits === g.reservedCredits, 'was not reserved at its estimate');
  say(g.chargedCredits >= 0 && g.chargedCredits <= g.reservedCredits, 'is charged outside what was reserved');
  say(
    money.held === g.reservedCredits,
    `holds ${money.held} credits in the ledger, ${g.reservedCredits} by its own record`,
  );
  if (!isTerminal(g.status)) {
    say(g.chargedCredits === 0, 'is charged before its end');
    say(account.holds.has(g.generationId) || !money.isClosed, 'is open without a hold');
  } else if (g.isSettled) {
    say(!account.holds.has(g.generationId), 'is settled and still held');
    say(
      money.charged === g.chargedCredits,
      `is charged ${money.charged} credits in the ledger, ${g.chargedCredits} by its own record`,
    );
    say(
      money.charged + money.released === g.reservedCredits,
      'is not charged and released for exactly what was reserved',
    );
  }
  return findings;
}

type Read<T> = (page: PageRequest) => Promise<Page<T>>;
/** The items of all pages of a list, behind a cursor. */
type Pages = <T>(read: Read<T>, from?: string) => AsyncGenerator<T>;

async function* pagesOf<T>(read: Read<T>, from: string | undefined): AsyncGenerator<Page<T>> {
  let cursor = from;
  do {
    const page: Page<T> = await read({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
