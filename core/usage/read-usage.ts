import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { nameOfCredential } from '../credits/list-entries.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import type { PageRequest } from '../paging.js';
import type { DayRange } from '../ports/usage-store.js';
import { projectUsage } from './project-usage.js';
import { added, NO_USAGE, utcDay, type UsageRow, type UsageSums } from './usage.js';

/** What use is added up by. */
export const USAGE_BY = ['day', 'model', 'key'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

/** The days of a range that was not asked for, and the most that can be. */
export const USUAL_DAYS = 31;
export const MAX_DAYS = 366;

/** What of the use is asked for; what was not sent is undefined. */
export interface SentUsage {
  readonly by?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface UsageRequest extends DayRange {
  readonly by: UsageBy;
}

/** The use of one day, model or credential. */
export interface UsageGroup extends UsageSums {
  /** The day, the model's key or the credential's id; empty for entries that do not say. */
  readonly group: string;
  /** By credential: absent for one that is gone. */
  readonly credentialName?: string;
}

export interface Usage {
  readonly request: UsageRequest;
  /** In the order of their text. Days without use are left out. */
  readonly groups: readonly UsageGroup[];
  /** Of the whole range, and of every page alike. */
  readonly total: UsageSums;
  readonly nextCursor?: string;
}

type Ports = Pick<Context, 'accounts' | 'usage' | 'credentials' | 'artefacts' | 'call'>;

const DAY_MS = 86_400_000;
const ROWS = 1_000;

/**
 * Both days are in the range. Without them it ends today and has 31 days; with one of them, it has 31 days from or to
 * that. Throws FIELD_INVALID for a word that use is not added up by, and for days that do not exist, are in the wrong
 * order, or are more than 366.
 */
export function readUsageRequest({ by = 'day', from, to }: SentUsage, now: number): UsageRequest {
  const known = USAGE_BY.find((one) => one === by);
  if (known === undefined) throw fieldInvalid('/by', `by must be one of ${USAGE_BY.join(', ')}.`);
  const [first, last] = [readDay('from', from), readDay('to', to)];
  const usual = (USUAL_DAYS - 1) * DAY_MS;
  const start = first ?? (last ?? Date.parse(utcDay(now))) - usual;
  const end = last ?? (first === undefined ? Date.parse(utcDay(now)) : first + usual);
  if (end < start) throw fieldInvalid('/to', 'to must not be before from.');
  if (end - start >= MAX_DAYS * DAY_MS) throw fieldInvalid('/to', `The range must have at most ${MAX_DAYS} days.`);
  return { by: known, from: utcDay(start), to: utcDay(end) };
}

function readDay(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = /^[12]\d{3}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  // Some days that do not exist are read as one of the next month.
  if (Number.isNaN(at) || utcDay(at) !== text)
    throw fieldInvalid(`/${name}`, `${name} must be a day such as 2026-01-31.`);
  return at;
}

/**
 * The use of the caller's account, by what the request says, from all entries that were in the ledger when it was asked:
 * the sums are those of the entries whose time is in the range. Without a page all groups. Throws
 * `SERVICE_UNAVAILABLE` while more entries have to be taken in than one request may; each request takes in some.
 */
export async function readUsage(
  ports: Ports,
  { accountId }: Pick<Caller, 'accountId'>,
  request: UsageRequest,
  page?: PageRequest,
): Promise<Usage> {
  const account = await ports.accounts.read(accountId, ports.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  if ((await projectUsage(ports, accountId, account.lastSequence)) === 'behind') throw behind();
  const { groups, total } = await sumUp(ports, accountId, request);
  const after = [...groups.keys()].toSorted().filter((group) => page?.cursor === undefined || group > page.cursor);
  const shown = after.slice(0, page?.limit);
  const last = shown.at(-1);
  return {
    request,
    groups: await Promise.all(
      shown.map(async (group) => ({
        group,
        ...(groups.get(group) ?? NO_USAGE),
        ...(request.by === 'key' && group !== '' ? await nameOf(ports, accountId, group) : {}),
      })),
    ),
    total,
    ...(after.length === shown.length || last === undefined ? {} : { nextCursor: last }),
  };
}

async function sumUp(ports: Ports, accountId: string, request: UsageRequest) {
  const groups = new Map<string, UsageSums>();
  let total = NO_USAGE;
  let cursor: string | undefined;
  do {
    const page = { limit: ROWS, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor } = await ports.usage.list(accountId, request, page, ports.call);
    for (const row of items) {
      const group = groupOf(row, request.by);
      groups.set(group, added(groups.get(group) ?? NO_USAGE, row));
      total = added(total, row);
    }
    cursor = nextCursor;
  } while (cursor !== undefined);
  return { groups, total };
}

function groupOf({ day, modelKey, credentialId }: UsageRow, by: UsageBy): string {
  if (by === 'day') return day;
  return by === 'model' ? modelKey : credentialId;
}

async function nameOf(ports: Ports, accountId: string, id: string): Promise<Pick<UsageGroup, 'credentialName'>> {
  const credentialName = await nameOfCredential(ports, accountId, id);
  return credentialName === undefined ? {} : { credentialName };
}

function behind(): ServiceError {
  const message = 'The usage of this account is still being computed from its ledger; try again.';
  return new ServiceError('SERVICE_UNAVAILABLE', message, { retryAfterMs: 1_000 });
}
