import type { Entry } from '../credits/account.js';
import type { DayRange } from '../ports/stores.js';
import { withYields, type Yield } from '../waiting.js';
import { type Difference, UsageOfDay } from './project-usage.js';
import type { UsageList, UsageRow } from './usage.js';

/** How many days are looked at together: the clocks of processes differ, so that entries of two days mix at midnight. */
const OPEN_DAYS = 2;
/** The most findings of a day, because no more are reported in total. */
const MAX_FINDINGS = 1_000;
const LAST_DAY = '9999-99-99';

/** The usage to be checked in one list of an account. */
export interface CheckedUsage {
  readonly accountId: string;
  readonly list: UsageList;
  /** The row of the whole account, read before all others. */
  readonly whole: UsageRow | undefined;
  /** Rows in the order of days. */
  rows(range: DayRange): AsyncGenerator<UsageRow>;
  /** The ledger's entries after this number. */
  entries(behind: number): AsyncGenerator<Entry>;
  readonly yieldNow: Yield;
}

/**
 * Adds up the use in a ledger's entries, without any of the code that wrote the stored rows of a list, and notes which of
 * them differ. It reads the rows of a day when the first entry of that day has come, and keeps those of two days at a time.
 * Days that this may have got wrong are read a second time: those with an entry that came when they were closed, as of a
 * clock that was days behind, and those with a row that is ahead of the entries given.
 */
export class UsageCheck {
  private readonly whole: UsageOfDay;
  /** In order. */
  private readonly open: UsageOfDay[] = [];
  private readonly found = new Map<string, readonly string[]>();
  private readonly firstOfDays = new Map<string, number>();
  private readonly again = new Set<string>();
  private readonly rows: AsyncGenerator<UsageRow>;
  private row: UsageRow | undefined;
  private lastGiven = 0;

  constructor(private readonly checked: CheckedUsage) {
    this.whole = this.empty('');
    if (checked.whole !== undefined) this.whole.store(checked.whole);
    this.rows = checked.rows({ from: '0000-00-00', to: LAST_DAY });
  }

  /** Entries are given in order, from the first. */
  async add(entry: Entry): Promise<void> {
    this.lastGiven = Math.max(this.lastGiven, entry.sequence);
    const day = dayOf(entry);
    if (day === undefined) return;
    this.whole.add('', entry);
    if (!this.firstOfDays.has(day)) this.firstOfDays.set(day, entry.sequence);
    if (day > (this.open.at(-1)?.day ?? '')) await this.comeTo(day);
    const open = this.open.find((one) => one.day === day);
    if (open === undefined) this.again.add(day);
    else open.add(this.nameOf(day, entry), entry);
  }

  /** Once all entries were given. */
  async findings(): Promise<readonly string[]> {
    await this.readRowsTo(LAST_DAY);
    for (const day of this.open.splice(0)) await this.close(day);
    for (const day of await this.secondLook()) this.found.set(day.day, await this.findingsOf(day));
    return [...(await this.findingsOf(this.whole)), ...[...this.found.values()].flat()];
  }

  private async comeTo(day: string): Promise<void> {
    await this.readRowsTo(day);
    await this.opened(day);
  }

  private async readRowsTo(day: string): Promise<void> {
    for (;;) {
      this.row ??= (await this.rows.next()).value as UsageRow | undefined;
      if (this.row === undefined || this.row.day > day) return;
      (await this.opened(this.row.day)).store(this.row);
      this.row = undefined;
    }
  }

  /** No day in front of the one that was opened last. */
  private async opened(day: string): Promise<UsageOfDay> {
    const last = this.open.at(-1);
    if (last?.day === day) return last;
    if (this.open.length === OPEN_DAYS) {
      const [first] = this.open.splice(0, 1);
      if (first !== undefined) await this.close(first);
    }
    const opened = this.empty(day);
    this.open.push(opened);
    return opened;
  }

  private async close(day: UsageOfDay): Promise<void> {
    if (day.lastTakenIn > this.lastGiven) this.again.add(day.day);
    else this.found.set(day.day, await this.findingsOf(day));
  }

  private async secondLook(): Promise<Iterable<UsageOfDay>> {
    const days = new Map<string, UsageOfDay>();
    let [behind, through] = [this.lastGiven, this.lastGiven];
    for (const name of this.again) {
      const day = this.empty(name);
      days.set(name, day);
      for await (const row of this.checked.rows({ from: name, to: name })) day.store(row);
      behind = Math.min(behind, (this.firstOfDays.get(name) ?? Infinity) - 1);
      through = Math.max(through, day.lastTakenIn);
    }
    if (behind < through)
      for await (const entry of this.checked.entries(behind)) {
        if (entry.sequence > through) break;
        const day = days.get(dayOf(entry) ?? '');
        day?.add(this.nameOf(day.day, entry), entry);
      }
    return days.values();
  }

  private async findingsOf(day: UsageOfDay): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const difference of withYields(day.differences(), this.checked.yieldNow))
      if (difference !== undefined && found.length < MAX_FINDINGS) found.push(this.sentence(difference));
    return found;
  }

  private sentence({ name, stored, expected }: Difference): string {
    const { accountId, list } = this.checked;
    const of = name === '' ? 'in all' : `of "${name}"`;
    return `Account ${accountId} counts ${list === 'traces' ? 'usage by trace id' : 'usage'} ${of} as ${stored.join(', ')}, and its entries ${expected.join(', ')}.`;
  }

  /** The name of the row that an entry belongs to. */
  private nameOf(day: string, { attribution }: Entry): string {
    const { credentialId = '', appId = '', actor, modelKey = '', clientTraceId = '' } = attribution ?? {};
    const name = `${day} ${this.checked.list === 'traces' ? clientTraceId : `${credentialId} ${modelKey}`}`;
    return appId === '' ? name : `${name} in ${appId}${actor === undefined ? '' : '/others'}`;
  }

  private empty(day: string): UsageOfDay {
    return new UsageOfDay(day, this.checked.whole?.lastSequence ?? 0);
  }
}

/** Undefined for grants and adjustments, which are not usage. */
function dayOf({ kind, at }: Entry): string | undefined {
  return kind === 'grant' || kind === 'adjustment' ? undefined : new Date(at).toISOString().slice(0, 10);
}
