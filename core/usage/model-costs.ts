import type { Context } from '../context.js';
import type { Generation } from '../generation/generation.js';
import type { Page, PageRequest } from '../paging.js';
import type { DayRange } from '../ports/usage-store.js';
import type { ProviderCost } from '../providers/provider-cost.js';

/** What the generations of a model earned in credits, and what they cost the operator. */
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
}

interface Sums {
  generations: number;
  chargedCredits: number;
  withoutMoney: number;
  inputTokens: number;
  outputTokens: number;
  computeMs: number;
  readonly money: Map<string, number>;
}

type Ports = Pick<Context, 'accounts' | 'credentials' | 'generations' | 'call'>;

const PAGE = 500;
const DAY_MS = 86_400_000;

/**
 * Adds up credits and costs of the generations that were created on these days, of one account or of all, by model in the
 * order of the keys. Reads their records, one page at a time, from an index of each App: so it knows those that are kept,
 * and neither deleted ones nor those past their retention. Ends with the call.
 */
export async function addUpCosts(
  ports: Ports,
  { from, to, accountId }: DayRange & { readonly accountId?: string },
): Promise<readonly ModelCosts[]> {
  const days = { createdFrom: Date.parse(from), createdBefore: Date.parse(to) + DAY_MS };
  const models = new Map<string, Sums>();
  for await (const appId of appsOf(ports, accountId))
    for await (const generation of all((page) =>
      ports.generations.list({ of: 'app', appId, ...days }, page, ports.call),
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

function shown(modelKey: string, { money, ...sums }: Sums): ModelCosts {
  const currencies = [...money].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { modelKey, ...sums, money: currencies.map(([currency, micros]) => ({ currency, micros })) };
}

async function* appsOf({ accounts, credentials, call }: Ports, accountId: string | undefined): AsyncGenerator<string> {
  if (accountId !== undefined) {
    for await (const { appId } of all((page) => credentials.listApps(accountId, page, call))) yield appId;
    return;
  }
  for await (const account of all((page) => accounts.list(page, call)))
    for await (const { appId } of all((page) => credentials.listApps(account.accountId, page, call))) yield appId;
}

async function* all<T>(read: (page: PageRequest) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page: Page<T> = await read({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

function add(models: Map<string, Sums>, { modelKey, chargedCredits, attemptsMade, costs = [] }: Generation): void {
  const sums = models.get(modelKey) ?? noCosts();
  models.set(modelKey, sums);
  sums.generations += 1;
  sums.chargedCredits += chargedCredits;
  if (attemptsMade > 0 && costs.every(({ money }) => money === undefined)) sums.withoutMoney += 1;
  for (const cost of costs) addCost(sums, cost, cost.money === undefined ? [] : [cost.money]);
}

function addCost(
  sums: Sums,
  { inputTokens = 0, outputTokens = 0, computeMs = 0 }: Omit<ProviderCost, 'money'>,
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
