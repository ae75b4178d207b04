import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { nameOfCredential } from '../credits/list-entries.js';
import { ServiceError } from '../errors.js';
import type { PageRequest } from '../paging.js';
import { projectUsage } from './project-usage.js';
import { traceGroups } from './trace-groups.js';
import { added, NO_USAGE, type UsageList, type UsageSums, type UseRow } from './usage.js';
import type { UsageRequest } from './usage-request.js';

/** The use of one day, model, credential or trace id. */
export interface UsageGroup extends UsageSums {
  /** The day, the model's key, the credential's id or the trace id; empty for entries that do not say. */
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

type Ports = Pick<Context, 'accounts' | 'usage' | 'credentials' | 'artefacts' | 'people' | 'call'>;

const ROWS = 1_000;
/** Of each day by trace id: for a page, which may take few of each of 31 days, and for all. */
const ROWS_A_DAY = { page: 32, all: 500 };

/**
 * A page of the use of the caller's account, by what the request says, from all entries that were in the ledger when it
 * was asked: the sums are those of the entries whose time is in the range. Throws `SERVICE_UNAVAILABLE` while more entries
 * have to be taken in than one request may; each request takes in some.
 */
export async function readUsage(
  ports: Ports,
  caller: Pick<Caller, 'accountId'>,
  request: UsageRequest,
  { limit, cursor }: PageRequest,
): Promise<Usage> {
  const { total, groupsAfter } = await currentUsage(ports, caller, request);
  const found: UsageGroup[] = [];
  for await (const group of groupsAfter(cursor, ROWS_A_DAY.page)) if (found.push(group) > limit) break;
  const groups = await Promise.all(found.slice(0, limit).map((group) => withName(ports, caller, request, group)));
  const last = groups.at(-1);
  return { request, groups, total, ...(found.length > limit && last ? { nextCursor: last.group } : {}) };
}

/** All groups, in the order of their text; read as they are taken. Throws as `readUsage` does. */
export async function readAllUsage(
  ports: Ports,
  caller: Pick<Caller, 'accountId'>,
  request: UsageRequest,
): Promise<AsyncIterable<UsageGroup>> {
  const { groupsAfter } = await currentUsage(ports, caller, request);
  return namedGroups(ports, caller, request, groupsAfter(undefined, ROWS_A_DAY.all));
}

async function* namedGroups(
  ports: Ports,
  caller: Pick<Caller, 'accountId'>,
  request: UsageRequest,
  groups: AsyncIterable<UsageGroup>,
): AsyncGenerator<UsageGroup> {
  for await (const group of groups) yield withName(ports, caller, request, group);
}

/** Takes in what the ledger has, and sums up what does not grow with the number of generations. */
async function currentUsage(ports: Ports, { accountId }: Pick<Caller, 'accountId'>, request: UsageRequest) {
  const account = await ports.accounts.read(accountId, ports.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  const lists: readonly UsageList[] = request.by === 'client_trace_id' ? ['uses', 'traces'] : ['uses'];
  for (const list of lists) {
    const outcome = await projectUsage(ports, { accountId, list, through: account.lastSequence });
    if (outcome === 'behind') throw behind();
  }
  const { groups, total } = await sumUp(ports, accountId, request);
  return {
    total,
    groupsAfter: (after: string | undefined, rowsADay: number): AsyncIterable<UsageGroup> =>
      request.by === 'client_trace_id'
        ? traceGroups(ports, { accountId, days: [...groups.keys()], after, rowsADay })
        : sortedAfter(groups, after),
  };
}

async function* sortedAfter(
  groups: ReadonlyMap<string, UsageSums>,
  after: string | undefined,
): AsyncGenerator<UsageGroup> {
  for (const group of [...groups.keys()].toSorted())
    if (after === undefined || group > after) yield { group, ...(groups.get(group) ?? NO_USAGE) };
}

/** By day for trace ids, too: traces are read from the days with use. */
async function sumUp(ports: Ports, accountId: string, request: UsageRequest) {
  const groups = new Map<string, UsageSums>();
  let total = NO_USAGE;
  let cursor: string | undefined;
  do {
    const page = { limit: ROWS, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor } = await ports.usage.list(accountId, request, page, ports.call);
    for (const row of items) {
      const group = groupOf(row, request);
      groups.set(group, added(groups.get(group) ?? NO_USAGE, row));
      total = added(total, row);
    }
    cursor = nextCursor;
  } while (cursor !== undefined);
  return { groups, total };
}

function groupOf({ day, modelKey, credentialId }: UseRow, { by }: UsageRequest): string {
  if (by === 'model') return modelKey;
  return by === 'key' ? credentialId : day;
}

async function withName(
  ports: Ports,
  { accountId }: Pick<Caller, 'accountId'>,
  { by }: UsageRequest,
  group: UsageGroup,
): Promise<UsageGroup> {
  if (by !== 'key' || group.group === '') return group;
  const credentialName = await nameOfCredential(ports, accountId, group.group);
  return credentialName === undefined ? group : { ...group, credentialName };
}

function behind(): ServiceError {
  const message = 'The usage of this account is still being computed from its ledger; try again.';
  return new ServiceError('SERVICE_UNAVAILABLE', message, { retryAfterMs: 1_000 });
}
