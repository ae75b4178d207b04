import { setTimeout as sleep } from 'node:timers/promises';
import { type Generation, isTerminal } from '../../core/generation/generation.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Owner } from '../fixtures/memory-stores.js';
import { PlainAnswers } from '../fixtures/plain-answers.js';
import { referenceFile } from '../fixtures/reference-files.js';
import { sha256Of } from '../fixtures/sha256.js';
import type { FrontName } from '../fronts/vectors/fronts.js';
import { type InMemory, openInMemory } from '../fronts/vectors/in-memory.js';
import type { FrontAnswer, FrontRequest } from '../fronts/vectors/play.js';
import { PICTURE, PNG_UPLOAD } from '../fronts/vectors/vector.js';
import { createRequestFixture, type RequestFixture } from '../harness/request-fixture.js';
import type { Action, Who } from './actions.js';

const DAY_MS = 86_400_000;
/** Few enough that the provider can hold all of them at once. */
const MAX_OPEN = 3;

/** The visible results of a history, without what differs between two runs of it. */
export interface Told {
  readonly answers: readonly Json[];
  /** Every ledger line, and the final state of every generation and upload. */
  readonly remains: Json;
}

interface Keyed {
  readonly who: Who;
  readonly over: FrontName;
  readonly request: Omit<FrontRequest, 'credential'>;
}

/** Executes actions in sequence on a separate service; with a worker, each comes to rest before the next. */
export class FrontHistory {
  private readonly plainly = new PlainAnswers();
  private readonly answers: Json[] = [];
  private readonly made: string[] = [];
  private readonly cancelled = new Set<string>();
  private readonly uploads: { readonly id: string; readonly target: JsonObject }[] = [];
  /** The last request under every key. */
  private readonly keyed = new Map<string, Keyed>();
  private isWorking = false;

  private constructor(
    private readonly service: InMemory,
    private readonly fixture: RequestFixture,
    private readonly frontOf: (named: FrontName) => FrontName,
  ) {}

  /** `frontOf` returns the front to use for a request that names one. */
  static async play(actions: readonly Action[], frontOf: (named: FrontName) => FrontName): Promise<Told> {
    const service = await openInMemory({ worker: false, settings: { maxOpenGenerationsPerAccount: MAX_OPEN } });
    try {
      const history = new FrontHistory(service, await createRequestFixture(service.context), frontOf);
      for (const action of actions) await history.take(action);
      await history.repeatAll();
      return { answers: history.answers, remains: await history.remains() };
    } finally {
      await service.close();
    }
  }

  private async take(action: Action): Promise<void> {
    switch (action.do) {
      case 'create':
      case 'estimate':
        await this.create(action.do, action, action.body);
        break;
      case 'twins':
        await this.twins(action);
        break;
      case 'create-with-upload':
        await this.create('create', action, { ...PICTURE, reference_upload_ids: [this.upload(action.pick).id] });
        break;
      case 'look':
        await this.ask(action, { operation: 'getGeneration', id: this.generation(action.pick) });
        break;
      case 'cancel':
        await this.cancel(action);
        break;
      case 'balance':
        await this.ask(action, { operation: 'getCredits' });
        break;
      case 'prepare':
        await this.prepare(action);
        break;
      case 'put':
        await this.put(action.pick, await referenceFile(action.file));
        break;
      case 'complete': {
        const body =
          action.digest === undefined ? {} : { body: { sha256: sha256Of(await referenceFile(action.digest)) } };
        await this.ask(action, {
          operation: 'completeUpload',
          key: keyOf(action),
          id: this.upload(action.pick).id,
          ...body,
        });
        break;
      }
      // A worker's leases and polls use the same clock.
      case 'wait':
        if (!this.isWorking) await this.service.advance(DAY_MS + 1_000);
        break;
      case 'work':
        await this.work();
        break;
    }
    if (this.isWorking) await this.rest();
  }

  private async create(
    kind: 'create' | 'estimate',
    action: { readonly over: FrontName; readonly who: Who; readonly key: number },
    body: JsonObject,
  ): Promise<void> {
    if (kind === 'estimate') await this.ask(action, { operation: 'estimateGeneration', body });
    else this.remember(await this.ask(action, { operation: 'createGeneration', key: keyOf(action), body }));
  }

  /**
   * Sends the same request concurrently over both fronts: their order is not guaranteed, but the combined result is.
   */
  private async twins(action: Extract<Action, { readonly do: 'create' | 'estimate' | 'twins' }>): Promise<void> {
    const request = { operation: 'createGeneration', key: keyOf(action), body: action.body } as const;
    const answers = await Promise.all(
      (['REST', 'gRPC'] as const).map((over) => this.send({ who: action.who, over }, request)),
    );
    const told = answers.filter(({ code }) => code !== 'IDEMPOTENCY_IN_PROGRESS');
    const ids = new Set(told.flatMap(({ data }) => (data?.['generation_id'] as string | undefined) ?? []));
    this.tell({
      twins: [...new Set(told.map(({ code }) => code))],
      first: told.filter(({ code, replayed }) => code === 'OK' && !replayed).length,
      ids: [...ids],
    });
    told.forEach((answer) => this.remember(answer));
  }

  private async cancel(action: { readonly over: FrontName; readonly who: Who; readonly pick: number }): Promise<void> {
    const id = this.generation(action.pick);
    const { code } = await this.ask(action, { operation: 'cancelGeneration', id });
    if (code === 'OK') this.cancelled.add(id);
  }

  private async prepare(action: Extract<Action, { readonly do: 'prepare' }>): Promise<void> {
    const { byteLength } = await referenceFile(action.file);
    const { data, replayed } = await this.ask(action, {
      operation: 'prepareUpload',
      key: keyOf(action),
      body: { ...PNG_UPLOAD, byte_size: byteLength },
    });
    if (data !== undefined && !replayed) this.uploads.push({ id: data['upload_id'] as string, target: data });
  }

  private async put(pick: number, bytes: Uint8Array): Promise<void> {
    const { target } = this.upload(pick);
    if (target !== undefined) this.tell({ put: await this.service.put(target, bytes) });
  }

  private async work(): Promise<void> {
    if (this.isWorking) return;
    this.isWorking = true;
    await this.service.startWorker();
  }

  /** Repeats the last request of every key over the other front: the remembered answer is the same. */
  private async repeatAll(): Promise<void> {
    for (const { who, over, request } of this.keyed.values()) {
      const answer = await this.ask({ who, over: over === 'REST' ? 'gRPC' : 'REST' }, request);
      if (request.operation === 'createGeneration') this.remember(answer);
      if (this.isWorking) await this.rest();
    }
  }

  private async ask(
    by: { readonly over: FrontName; readonly who: Who },
    request: Omit<FrontRequest, 'credential'>,
  ): Promise<FrontAnswer> {
    const answer = await this.send(by, request);
    this.tell({ ...request, who: by.who, answer: { ...answer } });
    return answer;
  }

  private async send(
    { over, who }: { readonly over: FrontName; readonly who: Who },
    request: Omit<FrontRequest, 'credential'>,
  ): Promise<FrontAnswer> {
    if (request.key !== undefined)
      this.keyed.set([who, request.operation, request.key].join(' '), { who, over, request });
    const { code, message, data, replayed } = await this.service.clients[this.frontOf(over)].send({
      ...request,
      credential: this.fixture.secrets.get(who) as string,
    });
    // Only REST has a status for success.
    return {
      code,
      message: code === 'OK' ? '' : inCommonTerms(message),
      replayed,
      ...(data === undefined ? {} : { data }),
    };
  }

  private remember({ data, replayed }: FrontAnswer): void {
    if (data !== undefined && !replayed) this.made.push(data['generation_id'] as string);
  }

  private generation(pick: number): string {
    return this.made[pick % Math.max(1, this.made.length)] ?? (this.fixture.ids.get('own-generation') as string);
  }

  private upload(pick: number): { readonly id: string; readonly target?: JsonObject } {
    return (
      this.uploads[pick % Math.max(1, this.uploads.length)] ?? { id: this.fixture.ids.get('prepared-upload') as string }
    );
  }

  private tell(what: JsonObject): void {
    this.answers.push(this.plainly.plain(what));
  }

  /** Waits until each has ended and is settled, or is held by its provider without a cancel request. */
  private async rest(): Promise<void> {
    const ofTheScene = ['own-generation', 'other-app-generation', 'foreign-generation'].map(
      (name) => this.fixture.ids.get(name) as string,
    );
    for (const id of [...ofTheScene, ...this.made]) while (!(await this.isAtRest(id))) await sleep(2);
  }

  private async isAtRest(id: string): Promise<boolean> {
    const g = await this.service.context.generations.read(id);
    if (g?.kind !== 'generation') return true;
    return isTerminal(g.status)
      ? g.settledAt !== undefined
      : g.modelKey === 'picture-held' && g.status === 'running' && !this.cancelled.has(id);
  }

  private async remains(): Promise<Json> {
    const { context } = this.service;
    const owners = (['owner', 'poor', 'stranger'] as const).map((who) => this.fixture.owners.get(who) as Owner);
    const accountIds = owners.map(({ accountId }) => accountId);
    const books = await this.plainly.booksOf(context, accountIds);
    const balances = await Promise.all(
      accountIds.map(async (id) => (await context.accounts.read(id))?.available ?? null),
    );
    const generations = await Promise.all(
      this.made.map(async (id) => standing((await context.generations.read(id)) as Generation)),
    );
    const uploads = await Promise.all(
      this.uploads.map(async ({ id }) => {
        const upload = await context.uploads.read(id);
        return upload?.kind === 'upload' ? { status: upload.status, sha256: upload.ready?.sha256 ?? null } : null;
      }),
    );
    return this.plainly.plain({ books: books.map(byGeneration), balances, generations, uploads });
  }
}

const OWN_TO_THE_ORDER = ['sequence', 'availableAfter'];

/** Groups lines by generation, each in order; the order in which concurrent generations end is not guaranteed. */
function byGeneration(lines: readonly JsonObject[]): JsonObject[] {
  return lines
    .map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => !OWN_TO_THE_ORDER.includes(name))))
    .sort((a, b) => JSON.stringify(a['generation']).localeCompare(JSON.stringify(b['generation'])));
}

const keyOf = ({ key }: { readonly key: number }): string => `key-${key}`;

function standing({
  status,
  appId,
  estimatedCredits,
  reservedCredits,
  chargedCredits,
  outputs,
  error,
  settledAt,
}: Generation): JsonObject {
  return {
    status,
    appId,
    estimatedCredits,
    reservedCredits,
    chargedCredits,
    outputs: outputs.length,
    error: error?.code ?? null,
    settled: settledAt !== undefined,
  };
}

/** Each front uses its own name for the key; the rest of a refusal is the same over both. */
function inCommonTerms(message: string): string {
  return message.replaceAll(/Idempotency-Key|idempotency_key/g, 'idempotency key');
}
