import type { Call, Identity, Machine, Money, Work } from '../context.js';
import { nameOfCredential } from '../credits/creators.js';
import { type BooksReader, type OwnApp, ownAppOf, UseOfApp } from '../credits/own-app.js';
import { busy, ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { type PriceUnit, unitsCharged } from '../catalog/price.js';
import type { Generation, ProviderCost } from '../generation/generation.js';
import { itemsOf, type PageRequest, pagesOf } from '../paging.js';
import type { DayRange } from '../ports/stores.js';
import { type ModalityPorts, ModelModalities } from './model-modalities.js';
import { projectUsage } from './project-usage.js';
import { added, NO_USAGE, type TraceRow, type UsageList, type UsageSums, type UseRow, utcDay } from './usage.js';

/** The ways to group usage. */
export const USAGE_BY = ['day', 'model', 'key', 'client_trace_id', 'modality', 'day_modality'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

/** The default and the maximum number of days in a range. */
export const USUAL_DAYS = 31;
export const MAX_DAYS = 366;
/** The limit for grouping by trace id, because each of these days is read by itself. */
export const MAX_TRACE_DAYS = 31;

/** The requested usage, as sent; fields that were not sent are undefined. */
export interface SentUsage {
  readonly by?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface UsageRequest extends DayRange {
  readonly by: UsageBy;
}

const DAY_MS = 86_400_000;

/** The use of one day, model, credential or trace id. */
export interface UsageGroup extends UsageSums {
  /**
   * The day, the model's key, the credential's id, the trace id or the modality; empty for entries without one, and
   * `unknown` for those without a modality. Grouped by day and modality: the day, a space and the modality.
   */
  readonly group: string;
  /** Set when grouped by credential; absent for a credential that is gone. */
  readonly credentialName?: string;
}

export interface Usage {
  readonly request: UsageRequest;
  /** In the order of their text. Days without use are left out. */
  readonly groups: readonly UsageGroup[];
  /** Sums of the whole range, which are the same on every page. */
  readonly total: UsageSums;
  readonly nextCursor?: string;
}

const ROWS = 1_000;
/** Rows read of each day by trace id: for a page, which may take few of each of 31 days, and for all. */
const ROWS_A_DAY = { page: 32, all: 500 };

type UsagePorts = Money & Identity & Machine & ModalityPorts;

/**
 * A page of the usage that the reader may see, grouped as requested, from all entries that were in the ledger at the
 * time of the request: the sums are those of the entries whose time is in the range. A connected program sees the use of
 * its own App, and in it counts what people and services did there without their ids and trace ids. Throws
 * `SERVICE_UNAVAILABLE` while more entries have to be taken in than one request may; each request takes in some.
 */
export async function readUsage(
  ports: UsagePorts,
  reader: BooksReader,
  request: UsageRequest,
  { limit, cursor }: PageRequest,
): Promise<Usage> {
  const { total, groupsAfter, nameOf } = await currentUsage(ports, reader, request);
  const found: UsageGroup[] = [];
  for await (const group of groupsAfter(cursor, ROWS_A_DAY.page)) if (found.push(group) > limit) break;
  const groups = await Promise.all(found.slice(0, limit).map((group) => withName(group, request, nameOf)));
  const last = groups.at(-1);
  return { request, groups, total, ...(found.length > limit && last ? { nextCursor: last.group } : {}) };
}

/** All groups, in the order of their text; read as they are taken. Throws as `readUsage` does. */
export async function readAllUsage(
  ports: UsagePorts,
  reader: BooksReader,
  request: UsageRequest,
): Promise<AsyncIterable<UsageGroup>> {
  const { groupsAfter, nameOf } = await currentUsage(ports, reader, request);
  return namedGroups(request, groupsAfter(undefined, ROWS_A_DAY.all), nameOf);
}

type NameOf = (credentialId: string) => Promise<string | undefined>;

async function* namedGroups(
  request: UsageRequest,
  groups: AsyncIterable<UsageGroup>,
  nameOf: NameOf,
): AsyncGenerator<UsageGroup> {
  for await (const group of groups) yield withName(group, request, nameOf);
}

/** The sums of a request, and its groups in order. */
interface CurrentUsage {
  readonly total: UsageSums;
  readonly groupsAfter: (after: string | undefined, rowsADay: number) => AsyncIterable<UsageGroup>;
  readonly nameOf: NameOf;
}

/** Takes in what the ledger has, and sums up what does not grow with the number of generations. */
async function currentUsage(ports: UsagePorts, reader: BooksReader, request: UsageRequest): Promise<CurrentUsage> {
  const { accountId } = reader;
  const account = await ports.accounts.read(accountId, ports.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  const app = ownAppOf(reader);
  const byTrace = request.by === 'client_trace_id';
  const lists: readonly UsageList[] = byTrace ? ['uses', 'traces'] : ['uses'];
  for (const list of lists) {
    const outcome = await projectUsage(ports, { accountId, list, through: account.lastSequence });
    if (outcome === 'behind')
      throw busy('The usage of this account is still being computed from its ledger; try again.');
  }
  const groupOf = grouping(ports, request);
  if (app !== undefined) return ownUsage(ports, app, request, groupOf);
  const { groups, total } = await sumUp(ports, accountId, request, groupOf);
  return {
    total,
    groupsAfter: (after, rowsADay) =>
      byTrace
        ? traceGroups(ports, { accountId, days: [...groups.keys()], after, rowsADay })
        : sortedAfter(groups, after),
    nameOf: (id) => nameOfCredential(ports, accountId, id),
  };
}

/**
 * The use of an App that its program may see. The group without a name has what is counted without one: the ids of people
 * and services, their trace ids, and the trace ids of entries that do not name their App.
 */
async function ownUsage(
  ports: UsagePorts,
  app: OwnApp,
  request: UsageRequest,
  groupOf: GroupOf,
): Promise<CurrentUsage> {
  const { accountId, appId } = app;
  const use = new UseOfApp(ports, app);
  const byTrace = request.by === 'client_trace_id';
  const { groups, total } = await sumUp(ports, accountId, request, async (row) => {
    const view = await use.viewOf(row.appUse, row.credentialId);
    if (view === 'none') return undefined;
    // By trace id these are the days on which the App has rows of its own.
    if (byTrace) return row.appUse === appId ? row.day : '';
    return view === 'amounts' && request.by === 'key' ? '' : groupOf(row);
  });
  const days = [...groups.keys()].filter((day) => day !== '');
  return {
    total,
    groupsAfter: (after, rowsADay) =>
      byTrace
        ? withUntraced(
            after === undefined ? groups.get('') : undefined,
            traceGroups(ports, { accountId, appUse: appId, days, after, rowsADay }),
          )
        : sortedAfter(groups, after),
    nameOf: async (id) => (await use.of(id)).name,
  };
}

/** The groups by trace id with these sums in the one without a trace id, which is the first. */
async function* withUntraced(
  untraced: UsageSums | undefined,
  groups: AsyncIterable<UsageGroup>,
): AsyncGenerator<UsageGroup> {
  let rest = untraced;
  for await (const group of groups) {
    if (rest !== undefined && group.group !== '') yield { group: '', ...rest };
    yield rest !== undefined && group.group === '' ? { ...group, ...added(group, rest) } : group;
    rest = undefined;
  }
  if (rest !== undefined) yield { group: '', ...rest };
}

async function* sortedAfter(
  groups: ReadonlyMap<string, UsageSums>,
  after: string | undefined,
): AsyncGenerator<UsageGroup> {
  for (const group of [...groups.keys()].toSorted())
    if (after === undefined || group > after) yield { group, ...(groups.get(group) ?? NO_USAGE) };
}

/** Sums up the rows by the group of each; one without a group is not counted. */
async function sumUp(
  ports: Money & Call,
  accountId: string,
  request: UsageRequest,
  groupOfRow: (row: UseRow) => string | undefined | Promise<string | undefined>,
) {
  const groups = new Map<string, UsageSums>();
  let total = NO_USAGE;
  for await (const rows of pagesOf((page) => ports.usage.list(accountId, request, page, ports.call), ROWS))
    for (const row of rows) {
      const group = await groupOfRow(row);
      if (group === undefined) continue;
      groups.set(group, added(groups.get(group) ?? NO_USAGE, row));
      total = added(total, row);
    }
  return { groups, total };
}

type GroupOf = (row: UseRow) => string | Promise<string>;

/** Traces are read only from the days with usage, so that by trace id these are the groups. */
function grouping(ports: ModalityPorts, { by }: UsageRequest): GroupOf {
  const modalities = new ModelModalities(ports);
  const groups: Readonly<Record<UsageBy, GroupOf>> = {
    day: ({ day }) => day,
    model: ({ modelKey }) => modelKey,
    key: ({ credentialId }) => credentialId,
    client_trace_id: ({ day }) => day,
    modality: (row) => modalities.of(row),
    day_modality: async (row) => `${row.day} ${await modalities.of(row)}`,
  };
  return groups[by];
}

/** The day and the modality of a group by both. */
export function dayAndModality(group: string): { readonly day: string; readonly modality: string } {
  const [day = '', modality = ''] = group.split(' ');
  return { day, modality };
}

async function withName(group: UsageGroup, { by }: UsageRequest, nameOf: NameOf): Promise<UsageGroup> {
  if (by !== 'key' || group.group === '') return group;
  const credentialName = await nameOf(group.group);
  return credentialName === undefined ? group : { ...group, credentialName };
}

/**
 * Both days are in the range. Without them it ends today and has 31 days; with one of them, it has 31 days from or to
 * that. Throws FIELD_INVALID for a word that use is not added up by, and for days that do not exist, are in the wrong
 * order, or are more than 366, or than 31 by trace id.
 */
export function readUsageRequest({ by = 'day', from, to }: SentUsage, now: number): UsageRequest {
  const known = USAGE_BY.find((one) => one === by);
  if (known === undefined) throw fieldInvalid('/by', `by must be one of ${USAGE_BY.join(', ')}.`);
  const [first, last] = [readDay('from', from), readDay('to', to)];
  const usual = (USUAL_DAYS - 1) * DAY_MS;
  const start = first ?? (last ?? Date.parse(utcDay(now))) - usual;
  const end = last ?? (first === undefined ? Date.parse(utcDay(now)) : first + usual);
  if (end < start) throw fieldInvalid('/to', 'to must not be before from.');
  const [maxDays, of] = known === 'client_trace_id' ? [MAX_TRACE_DAYS, ` by ${known}`] : [MAX_DAYS, ''];
  if (end - start >= maxDays * DAY_MS) throw fieldInvalid('/to', `The range must have at most ${maxDays} days${of}.`);
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

export interface Traces {
  readonly accountId: string;
  /** Only rows with this `appUse`; absent for those of the whole account. */
  readonly appUse?: string;
  readonly days: readonly string[];
  /** Only trace ids after this one. */
  readonly after: string | undefined;
  /** Rows of each day that are read at a time, 1 to 1,000. */
  readonly rowsADay: number;
}

/** Days that are read at the same time, so that one request does not take every connection to the store. */
const AT_ONCE = 8;

/**
 * The sums of each trace id, in text order. Merges the days, each of which has its rows in that order: its reads and
 * its memory do not grow with the number of trace ids before or after those that its caller takes. A day has a row of a trace
 * id for each App that used it.
 */
export async function* traceGroups(ports: Pick<Money, 'usage'> & Call, traces: Traces): AsyncGenerator<UsageGroup> {
  const days = traces.days.map((day) => new DayOfTraces(ports, day, traces));
  for (let at = 0; at < days.length; at += AT_ONCE)
    await Promise.all(days.slice(at, at + AT_ONCE).map((day) => day.fill()));
  for (;;) {
    let group: string | undefined;
    for (const { next } of days)
      if (next !== undefined && (group === undefined || next.clientTraceId < group)) group = next.clientTraceId;
    if (group === undefined) return;
    let sums = NO_USAGE;
    for (const day of days) {
      while (day.next?.clientTraceId === group) {
        sums = added(sums, day.next);
        await day.take();
      }
    }
    yield { group, ...sums };
  }
}

/** The rows of one day in the order of their trace ids, of which a bounded number is kept. */
class DayOfTraces {
  private rows: readonly TraceRow[] = [];
  private taken = 0;
  private isAtEnd = false;

  constructor(
    private readonly ports: Pick<Money, 'usage'> & Call,
    private readonly day: string,
    private readonly traces: Traces,
  ) {}

  get next(): TraceRow | undefined {
    return this.rows[this.taken];
  }

  async take(): Promise<void> {
    this.taken += 1;
    if (this.next === undefined) await this.fill();
  }

  async fill(): Promise<void> {
    if (this.isAtEnd) return;
    const { accountId, after, rowsADay: limit, appUse } = this.traces;
    const { day } = this;
    const place = this.rows.at(-1) ?? (after === undefined ? undefined : { day, clientTraceId: after });
    const page = { limit, ...(place && { after: place }), ...(appUse === undefined ? {} : { appUse }) };
    this.rows = await this.ports.usage.listTraces(accountId, { from: day, to: day }, page, this.ports.call);
    this.taken = 0;
    this.isAtEnd = this.rows.length < limit;
  }
}

/** The credits earned by the generations of a model, and their cost to the operator. */
export interface ModelCosts {
  readonly modelKey: string;
  readonly generations: number;
  readonly chargedCredits: number;
  /** Generations that were handed to a provider and for which none named money. */
  readonly withoutMoney: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly computeMs: number;
  /** In millionths of each currency that a provider named, in the order of their names. */
  readonly money: readonly { readonly currency: string; readonly micros: number }[];
  /** Absent where no provider said how many units it billed, and in a sum over models, whose units differ. */
  readonly units?: UnitSums;
}

/**
 * The units that providers billed, beside those that clients were charged for the same generations. If a provider bills
 * more than was charged in the same unit, the price counts too few.
 */
export interface UnitSums {
  /** In millionths of the unit that the provider bills in. */
  readonly billedMicros: number;
  /** In millionths of each unit of the price, in the order of their names. */
  readonly charged: readonly { readonly unit: PriceUnit; readonly micros: number }[];
}

type Sums = { -readonly [N in keyof Omit<ModelCosts, 'modelKey' | 'money' | 'units'>]: number } & {
  readonly money: Map<string, number>;
  readonly units?: { billedMicros: number; readonly charged: Map<PriceUnit, number> };
};

const PAGE = 500;

/**
 * Adds up credits and costs of the generations that were created on these days, of one account or of all, by model in the
 * order of the keys. Reads their records, one page at a time, from an index of each App: so it knows those that are kept,
 * and neither deleted ones nor those past their retention. Ends with the call.
 */
export async function addUpCosts(
  ports: Money & Work & Identity & Call,
  { from, to, accountId }: DayRange & { readonly accountId?: string },
): Promise<readonly ModelCosts[]> {
  const days = { createdFrom: Date.parse(from), createdBefore: Date.parse(to) + DAY_MS };
  const models = new Map<string, Sums>();
  for await (const appId of appsOf(ports, accountId))
    for await (const generation of itemsOf(
      (page) => ports.generations.list({ of: 'app', appId, ...days }, page, ports.call),
      PAGE,
    ))
      add(models, generation);
  return [...models].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([modelKey, sums]) => shown(modelKey, sums));
}

/** The sums of all models, under no key. */
export function totalCosts(models: readonly ModelCosts[]): ModelCosts {
  const total = noCosts();
  for (const model of models) {
    total.generations += model.generations;
    total.chargedCredits += model.chargedCredits;
    total.withoutMoney += model.withoutMoney;
    addCost(total, model, model.money);
  }
  return shown('', total);
}

function shown(modelKey: string, { money, units, ...sums }: Sums): ModelCosts {
  const currencies = sorted(money).map(([currency, micros]) => ({ currency, micros }));
  if (units === undefined) return { modelKey, ...sums, money: currencies };
  const charged = sorted(units.charged).map(([unit, micros]) => ({ unit, micros }));
  return { modelKey, ...sums, money: currencies, units: { billedMicros: units.billedMicros, charged } };
}

function sorted<Name extends string>(sums: ReadonlyMap<Name, number>): readonly (readonly [Name, number])[] {
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

async function* appsOf(
  { accounts, credentials, call }: Pick<Money & Identity & Call, 'accounts' | 'credentials' | 'call'>,
  accountId: string | undefined,
): AsyncGenerator<string> {
  if (accountId === undefined) {
    for await (const account of itemsOf((page) => accounts.list(page, call), PAGE))
      yield* appsOf({ accounts, credentials, call }, account.accountId);
    return;
  }
  for await (const { appId } of itemsOf((page) => credentials.listApps(accountId, page, call), PAGE)) yield appId;
}

function add(models: Map<string, Sums>, generation: Generation): void {
  const { modelKey, chargedCredits, attemptsMade, costs = [] } = generation;
  const sums = withUnits(models.get(modelKey) ?? noCosts(), generation);
  models.set(modelKey, sums);
  sums.generations += 1;
  sums.chargedCredits += chargedCredits;
  if (attemptsMade > 0 && costs.every(({ money }) => money === undefined)) sums.withoutMoney += 1;
  for (const cost of costs) addCost(sums, cost, cost.money === undefined ? [] : [cost.money]);
}

/** The sums with the units of a generation for which a provider said how many it billed. */
function withUnits(sums: Sums, { modality, terms, outputs, costs = [] }: Generation): Sums {
  const billed = costs.flatMap(({ billedUnitMicros }) => billedUnitMicros ?? []);
  if (billed.length === 0) return sums;
  const { billedMicros, charged } = sums.units ?? { billedMicros: 0, charged: new Map<PriceUnit, number>() };
  // Generations of earlier releases have no unit: without a measured rate, their outputs count.
  const counted = terms.units ?? {
    unit: terms.measuredRate?.unit ?? modality,
    reservedMicros: Number.MAX_SAFE_INTEGER,
  };
  const micros = unitsCharged(counted, terms.measuredRate, outputs);
  charged.set(counted.unit, sum(charged.get(counted.unit) ?? 0, micros));
  return { ...sums, units: { billedMicros: billed.reduce(sum, billedMicros), charged } };
}

function addCost(
  sums: Sums,
  { inputTokens = 0, outputTokens = 0, computeMs = 0 }: Omit<ProviderCost, 'money' | 'billedUnitMicros'>,
  money: ModelCosts['money'],
): void {
  sums.inputTokens = sum(sums.inputTokens, inputTokens);
  sums.outputTokens = sum(sums.outputTokens, outputTokens);
  sums.computeMs = sum(sums.computeMs, computeMs);
  for (const { currency, micros } of money) sums.money.set(currency, sum(sums.money.get(currency) ?? 0, micros));
}

function noCosts(): Sums {
  return {
    generations: 0,
    chargedCredits: 0,
    withoutMoney: 0,
    inputTokens: 0,
    outputTokens: 0,
    computeMs: 0,
    money: new Map(),
  };
}

/** Providers name any numbers: one that is wrong must not end the report. */
function sum(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

/** The operator's price of one credit, which only the operator knows. */
export interface CreditValue {
  /** In millionths of one unit of the currency. */
  readonly micros: number;
  readonly currency: string;
}

/** In millionths of one unit of the currency of the credit's value. */
export interface Margin {
  /** The value of the charged credits. */
  readonly incomeMicros: number;
  /** Below 0 where more was paid than taken. */
  readonly marginMicros: number;
  /** Whether costs are missing from it, so that the margin may be lower. */
  readonly isUpperBound: boolean;
}

/** Undefined where it would need a rate between currencies, or more digits than a number has. */
export function marginOf(
  { chargedCredits, money, withoutMoney }: ModelCosts,
  { micros, currency }: CreditValue,
): Margin | undefined {
  const incomeMicros = chargedCredits * micros;
  if (money.some((cost) => cost.currency !== currency) || !Number.isSafeInteger(incomeMicros)) return undefined;
  const [cost] = money;
  return { incomeMicros, marginMicros: incomeMicros - (cost?.micros ?? 0), isUpperBound: withoutMoney > 0 };
}
