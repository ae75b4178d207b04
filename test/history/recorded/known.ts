import type { Entry } from '../../../core/credits/account.js';
import type { Generation, GenerationRecord } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { Finding } from '../finding.js';
import { AccountLedger, CapUses, type CreditsAnswer, type GenerationMoney } from '../ledger.js';
import { type PricedModel, priceOf, wantedOutputs, withDefaults } from '../prices.js';
import type { AskedOutputs } from '../task.js';
import { asObject } from '../values.js';
import type { Answer, AtRest, Exchange, Facts, History, Party, Request, Span } from './history.js';

/** Processes and the test share one clock, and round it. */
const CLOCKS_MS = 100;

/** An amount, and when an account may have had it available. */
export interface Available extends Span {
  readonly amount: number;
}

/**
 * The balances that an account may have had available, and when. An entry carries the time of its decision; it is
 * written after that, at the latest when the next entry with a later decision time is decided on it. A balance counts
 * from its entry's time until the next entry must have been written.
 */
export function availableOver(entries: readonly Entry[], { troubles, writingMs }: Facts): Available[] {
  const inOrder = troubles.toSorted((a, b) => a.from - b.from);
  const writtenBy = entries.map(({ at }, index) => {
    // Entries of one write have the same time.
    const laterAt = entries.find((other, place) => place > index && other.at > at)?.at ?? Infinity;
    return Math.min(laterAt, writtenAt(at, inOrder, writingMs));
  });
  return entries.map(({ at, availableAfter }, index) => ({
    amount: availableAfter,
    from: at - CLOCKS_MS,
    until: (writtenBy[index + 1] ?? Infinity) + CLOCKS_MS,
  }));
}

/**
 * The latest time at which a decision has been written: soon, unless a store was unavailable or a process was frozen
 * meanwhile.
 */
function writtenAt(at: number, troubles: readonly Span[], writingMs: number): number {
  let until = at + writingMs;
  for (const trouble of troubles) {
    if (trouble.from <= until && trouble.until >= at) until = Math.max(until, trouble.until + writingMs);
  }
  return until;
}

/**
 * A model from the public catalog alone: priced per image, or per second of video. Undefined where the catalog does not
 * say.
 */
export function pricedModel(models: readonly JsonObject[], body: JsonObject): PricedModel | undefined {
  const model = modelOf(models, body);
  const price = model?.['price'];
  const unit = model?.['price_unit'];
  if (!model || typeof price !== 'number' || (unit !== 'image' && unit !== 'second')) return undefined;
  return {
    terms: {
      unit,
      microcreditsPerUnit: Math.round(price * 1_000_000),
      baseMicrocredits: 0,
      countParameter: 'n',
      durationParameter: 'duration_seconds',
      multipliers: [],
      minimumCredits: 0,
      maximumCredits: Infinity,
    },
    maxOutputs: Infinity,
    inputSchema: asObject(model['input_schema']),
  };
}

/** The parameters of a request as they were sent, with the defaults that the public catalog shows. */
export function parametersOf(models: readonly JsonObject[], body: JsonObject): JsonObject {
  const model = modelOf(models, body);
  return model ? withDefaults(asObject(model['input_schema']), asObject(body['parameters'])) : {};
}

function modelOf(models: readonly JsonObject[], body: JsonObject): JsonObject | undefined {
  return models.find((candidate) => candidate['model_key'] === body['model_key']);
}

export type OperationOf<O extends Request['operation']> = Extract<Request, { readonly operation: O }>;

/** An answered exchange of one operation. */
export interface Answered<O extends Request['operation']> extends Exchange {
  readonly request: OperationOf<O>;
  readonly at: number;
  readonly answer: Answer;
}

type AccountAtRest = AtRest['accounts'][number];

interface AddedUp {
  readonly account: AccountAtRest;
  readonly ledger: AccountLedger;
  readonly findings: readonly Finding[];
}

/**
 * The possible ends of a generation when nothing fails and no client cancels it: with this many outputs, with this
 * error, or either.
 */
export interface Wish {
  readonly outputs?: number;
  readonly error?: string;
}

/** Knowledge of the recorder about its requests, beyond the public contract. */
export interface Expected {
  wishOf(models: readonly JsonObject[], body: JsonObject): Wish;
  /** The prompt for a vendor in a request under this key. */
  vendorPrompt(key: string): string;
}

/** A history with the lookups that the rules need. */
export class Known {
  private readonly parties: ReadonlyMap<string, Party>;
  private readonly records: ReadonlyMap<string, GenerationRecord>;
  /** All accounts at rest with the sums of their entries, and the errors found in these. */
  readonly ledgers: readonly AddedUp[];
  /** The credits of every id that a ledger names. */
  readonly money: ReadonlyMap<string, GenerationMoney>;
  private readonly looks = new Map<string, Answered<'get'>[]>();
  private readonly bodies = new Map<string, JsonObject>();
  private readonly available: ReadonlyMap<string, readonly Available[]>;

  constructor(
    readonly history: History,
    readonly expected: Expected,
  ) {
    this.parties = new Map(history.facts.parties.map((party) => [party.name, party]));
    this.records = new Map(history.atRest.generations.map((record) => [record.generationId, record]));
    const money = new Map<string, GenerationMoney>();
    this.ledgers = history.atRest.accounts.map((account) => addUp(account, money));
    this.money = money;
    this.available = new Map(
      history.atRest.accounts.map(({ accountId, entries }) => [accountId, availableOver(entries, history.facts)]),
    );
    for (const look of this.answered('get'))
      if (look.answer.status === 200)
        this.looks.set(look.request.generationId, [...(this.looks.get(look.request.generationId) ?? []), look]);
    for (const { request, answered } of history.exchanges) {
      if (request.operation !== 'create') continue;
      // A key may have been tried with another payload: the successful one counts.
      if (answered?.answer.status === 202 || !this.bodies.has(traceOf(request.body)))
        this.bodies.set(traceOf(request.body), request.body);
    }
  }

  party(name: string): Party {
    const party = this.parties.get(name);
    if (!party) throw new Error(`The history names ${name}, who is no party of it.`);
    return party;
  }

  record(generationId: string): GenerationRecord | undefined {
    return this.records.get(generationId);
  }

  /** Answers that owners received when they polled a generation. */
  looksAt(generationId: string): readonly Answered<'get'>[] {
    return this.looks.get(generationId) ?? [];
  }

  generations(): Generation[] {
    return this.history.atRest.generations.filter((record) => record.kind === 'generation');
  }

  /** The use of caps, to be summed from the entries of an account. */
  capUses(): CapUses {
    return new CapUses(
      new Map(
        this.history.facts.parties.flatMap(({ keyId, monthlyCap }) =>
          monthlyCap === undefined ? [] : [[keyId, { credits: monthlyCap, per: 'month' as const }]],
        ),
      ),
    );
  }

  /**
   * An answered request, and what its account, and its key under its cap, may have had available while it was in
   * flight.
   */
  creditsAnswer(exchange: Exchange & { readonly at: number }): CreditsAnswer {
    const { accountId, keyId } = this.party(exchange.by);
    const spans = [...(this.available.get(accountId) ?? []), ...this.leftOfCap(accountId, keyId)].filter(
      ({ from, until }) => from <= exchange.at && until >= exchange.sentAt,
    );
    return { told: told(exchange), accountId, available: spans.map(({ amount }) => amount) };
  }

  /** The amounts that may have been left of a key's cap, and when; empty for a key without a cap. */
  private leftOfCap(accountId: string, keyId: string): Available[] {
    const { facts, atRest } = this.history;
    const cap = facts.parties.find((party) => party.keyId === keyId)?.monthlyCap;
    if (cap === undefined) return [];
    const uses = this.capUses();
    const entries = atRest.accounts.find((account) => account.accountId === accountId)?.entries ?? [];
    const own = entries.flatMap((entry) => {
      if (entry.attribution?.credentialId !== keyId) return [];
      uses.add(entry);
      return [{ ...entry, availableAfter: uses.leftOf(keyId) }];
    });
    const [first] = own;
    const whole = { amount: cap, from: -Infinity, until: first?.at ?? Infinity };
    return [whole, ...availableOver(own, facts)];
  }

  /** The body of the client's request that created this generation. */
  bodyOf({ clientTraceId }: Generation): JsonObject | undefined {
    return clientTraceId === undefined ? undefined : this.bodies.get(clientTraceId);
  }

  /** From the public catalog; undefined for what it does not list. `delivered` defaults to the requested number. */
  priceOf(body: JsonObject, delivered?: number): number | undefined {
    const { models } = this.history.facts;
    const model = pricedModel(models, body);
    return model && priceOf(model, parametersOf(models, body), delivered);
  }

  /** The properties that a request set for its outputs: a size only if the request itself names one. */
  askedOutputs(body: JsonObject): AskedOutputs {
    const { models } = this.history.facts;
    const model = pricedModel(models, body);
    const parameters = parametersOf(models, body);
    return {
      count: model ? wantedOutputs(model, parameters) : Infinity,
      size: asObject(body['parameters'])['size'],
      durationSeconds: parameters['duration_seconds'],
      // The sandbox makes these smaller than requested, and they are delivered unchanged.
      isExact: parameters['behaviour'] !== 'wrong_output',
    };
  }

  answered<O extends Request['operation']>(...operations: readonly O[]): Answered<O>[] {
    return this.history.exchanges.flatMap((exchange) =>
      isAnswered(exchange, operations) ? [{ ...exchange, ...exchange.answered }] : [],
    );
  }
}

type WithAnswer<O extends Request['operation']> = Exchange & {
  readonly request: OperationOf<O>;
  readonly answered: NonNullable<Exchange['answered']>;
};

function isAnswered<O extends Request['operation']>(
  exchange: Exchange,
  operations: readonly O[],
): exchange is WithAnswer<O> {
  return exchange.answered !== undefined && operations.some((operation) => operation === exchange.request.operation);
}

function addUp(account: AccountAtRest, money: Map<string, GenerationMoney>): AddedUp {
  const ledger = new AccountLedger(account.accountId, money);
  return { account, ledger, findings: account.entries.flatMap((entry) => ledger.add(entry)) };
}

/** Each create carries a trace of its own key, so that a generation shows which key it came from. */
export function traceOf(body: JsonObject): string {
  const trace = body['client_trace_id'];
  return typeof trace === 'string' ? trace : '';
}

export function isSuccess({ answer }: { readonly answer: Answer }): boolean {
  return answer.status >= 200 && answer.status < 300;
}

const PASSING = new Set(['SERVICE_UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS', 'RATE_LIMITED', 'REQUEST_TIMEOUT']);

/** Whether an answer states the request's outcome, rather than asking for a retry. */
export function isDefinite({ answer }: { readonly answer: Answer }): boolean {
  return answer.status < 500 && !PASSING.has(answer.code ?? '');
}

export function taskHasEnded(status: string): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

/** Describes a request in a sentence. */
export function told({ by, through, request, sentAt }: Exchange): string {
  const subject =
    'key' in request
      ? `under key ${request.key}`
      : 'generationId' in request
        ? `of ${request.generationId}`
        : 'uploadId' in request
          ? `to ${request.uploadId}`
          : '';
  return `${request.operation} ${subject} by ${by} through ${through} at ${Math.round(sentAt)}`;
}
