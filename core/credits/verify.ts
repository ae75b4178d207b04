import type { Context } from '../context.js';
import { isTerminal, type Generation } from '../generation/generation.js';
import type { Page, PageRequest } from '../paging.js';
import type { Account } from './account.js';
import { Replay } from './replay.js';
import { UsageCheck } from '../usage/check-usage.js';
import { wholeAccount, type TraceRow, type UsageList, type UsageRow } from '../usage/usage.js';

const PAGE = 500;
const MAX_LOOKS = 3;
const ALWAYS = { from: '0000-00-00', to: '9999-99-99' };

export interface Verification {
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
  /** One sentence each; empty when the books are right. At most 1,000 are listed. */
  readonly findings: readonly string[];
}

/** What a check has examined so far. */
export type VerifyProgress = Omit<Verification, 'findings'>;

/** Told after each page of what is read; the check goes on once it has resolved. */
export type OnVerified = (so: VerifyProgress) => Promise<void>;

/**
 * Recomputes every account from its entries and compares the result with the account, its generations and its usage,
 * as far as that has come. It may run
 * beside live processes: an account and its entries are compared as of one version, and a generation that looks wrong
 * is read again before it is reported, since it and its account are written one after the other. Keeps a few hundred
 * bytes for each generation of one account at a time.
 */
export async function verifyCredits(context: Context, onVerified?: OnVerified): Promise<Verification> {
  const total = { accounts: 0, entries: 0, generations: 0 };
  const findings: string[] = [];
  const pages: Pages = async function* (read) {
    for await (const page of pagesOf(read)) {
      yield* page.items;
      await onVerified?.({ ...total });
    }
  };
  for await (const account of pages((page) => context.accounts.list(page, context.call))) {
    const result = await verifyAccount(context, account.accountId, pages);
    total.accounts += 1;
    total.entries += result.entries;
    total.generations += result.generations;
    findings.push(...[...result.ledger, ...result.suspicions].slice(0, 1_000 - findings.length));
  }
  return { ...total, findings };
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
  readonly ledger: readonly string[];
  /** What looks wrong between a generation and the account, and may be between two writes. */
  readonly suspicions: readonly string[];
}

async function verifyAccount(context: Context, accountId: string, pages: Pages): Promise<AccountResult> {
  let result = await lookOnce(context, accountId, pages);
  for (let looks = 1; looks < MAX_LOOKS && result.suspicions.length > 0; looks += 1) {
    const again = await lookOnce(context, accountId, pages);
    const before = new Set(result.suspicions);
    result = { ...again, suspicions: again.suspicions.filter((suspicion) => before.has(suspicion)) };
  }
  return result;
}

async function lookOnce(context: Context, accountId: string, pages: Pages): Promise<AccountResult> {
  // Generations first: what has settled by then has its entries in the account that is read after.
  const generations: Seen[] = [];
  for await (const g of pages((page) => context.generations.list({ of: 'account', accountId }, page, context.call))) {
    const { generationId, status, estimatedCredits, reservedCredits, chargedCredits } = g;
    generations.push({
      generationId,
      status,
      estimatedCredits,
      reservedCredits,
      chargedCredits,
      isSettled: g.settledAt !== undefined,
    });
  }
  const usage = [
    await storedUsage(context, accountId, 'uses', pages),
    await storedUsage(context, accountId, 'traces', pages),
  ];
  const account = await context.accounts.read(accountId, context.call);
  if (!account)
    return {
      entries: 0,
      generations: 0,
      ledger: [`Account ${accountId} is listed but cannot be read.`],
      suspicions: [],
    };

  const replay = new Replay(accountId);
  for await (const entry of pages((page) => context.accounts.entries(accountId, page, context.call))) {
    if (entry.sequence > account.lastSequence) break;
    replay.add(entry);
    for (const list of usage) list.add(entry);
  }
  const ledger = [...replay.findings, ...replay.compare(account), ...usage.flatMap((list) => list.findings())];
  const suspicions = [
    ...generations.flatMap((g) => checkGeneration(g, account, replay)),
    ...forgottenHolds(context, account, generations),
  ];
  return { entries: account.lastSequence, generations: generations.length, ledger, suspicions };
}

/** The row of the whole account first: the others have come at least as far. */
async function storedUsage(context: Context, accountId: string, list: UsageList, pages: Pages): Promise<UsageCheck> {
  const [whole] = await context.usage.read([wholeAccount(accountId, list)], context.call);
  const rows: UsageRow[] = [];
  if (list === 'uses')
    for await (const row of pages((page) => context.usage.list(accountId, ALWAYS, page, context.call))) rows.push(row);
  else for await (const row of pages(tracesOf(context, accountId))) rows.push(row);
  return new UsageCheck(accountId, list, whole, rows);
}

/** Their list goes on behind a row, and has no cursors. */
function tracesOf({ usage, call }: Context, accountId: string): Read<TraceRow> {
  let after: TraceRow | undefined;
  return async ({ limit }) => {
    const items = await usage.listTraces(accountId, ALWAYS, { limit, ...(after === undefined ? {} : { after }) }, call);
    after = items.at(-1);
    return { items, ...(items.length < limit ? {} : { nextCursor: 'behind the last one' }) };
  };
}

/** A create may be between its hold and its generation; one that old is none, and recovery should have ended it. */
function forgottenHolds({ clock, settings }: Context, account: Account, generations: readonly Seen[]): string[] {
  const oldest = clock.now() - 10 * (settings.claimLeaseMs + settings.recoveryGraceMs);
  const known = new Set(generations.map(({ generationId }) => generationId));
  const forgotten = [...account.holds.values()].filter((hold) => hold.heldAt < oldest && !known.has(hold.generationId));
  return forgotten.map(
    (hold) =>
      `Account ${account.accountId} holds ${hold.credits} credits for ${hold.generationId}, which is no generation.`,
  );
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
/** The items of all pages of a list. */
type Pages = <T>(read: Read<T>) => AsyncGenerator<T>;

async function* pagesOf<T>(read: Read<T>): AsyncGenerator<Page<T>> {
  let cursor: string | undefined;
  do {
    const page: Page<T> = await read({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
