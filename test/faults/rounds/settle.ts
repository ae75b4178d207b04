import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from '../../history/values.js';
import type { Recorder } from '../clients/api-client.js';
import type { ClientPool } from '../clients/client-pool.js';
import { fetchOutputs } from '../clients/ordinary-client.js';
import type { Answer, Exchange } from '../../history/recorded/history.js';
import { isDefinite, isSuccess, type OperationOf, taskHasEnded } from '../../history/recorded/known.js';
import { REST } from './schedule.js';

const BETWEEN_TRIES_MS = 300;
const AT_ONCE = 12;
const MOST_FETCHED = 150;

/** A request that was sent with a key. */
type Keyed = Exchange & { readonly request: OperationOf<'create' | 'prepare' | 'complete'> };

/**
 * The clients' behaviour once all is quiet: they retry every request of unknown outcome, and follow everything to its
 * end.
 */
export class Settling {
  private turn = 0;

  /** After the signal aborts, no more requests are sent. */
  constructor(
    private readonly recorder: Recorder,
    private readonly pool: ClientPool,
    private readonly quietAt: number,
    private readonly signal: AbortSignal,
  ) {}

  /** Repeats every request of unknown outcome, with its key, until an answer states the outcome. */
  async learnOutcomes(until: number): Promise<void> {
    const unknown = this.unknown();
    await inTurns(unknown, async (exchange) => {
      while (this.recorder.now() < until && !isOutcome(await this.sendAgain(exchange))) await this.pause();
    });
  }

  /** Polls everything that was accepted until it has ended. */
  async follow(until: number): Promise<void> {
    const ids = new Map<string, string>();
    for (const { answered, by } of this.recorder.sent('create')) {
      if (answered?.answer.status === 202) ids.set(textOf(answered.answer.data?.['generation_id']), by);
    }
    let left = MOST_FETCHED;
    await inTurns([...ids], async ([generationId, by]) => {
      const api = this.pool.clientOf(by);
      while (this.recorder.now() < until) {
        const task = (await api.get(this.nextRest(), generationId))?.data;
        if (task && taskHasEnded(textOf(task['status']))) {
          if ((left -= 1) >= 0) await fetchOutputs(api, task);
          return;
        }
        await this.pause();
      }
    });
  }

  /** One request of every key that never succeeded, unless every request was answered and refused. */
  private unknown(): Keyed[] {
    const byKey = new Map<string, Keyed[]>();
    for (const exchange of [
      ...this.recorder.sent('create'),
      ...this.recorder.sent('prepare'),
      ...this.recorder.sent('complete'),
    ]) {
      const { operation, key } = exchange.request;
      const name = `${this.pool.clientOf(exchange.by).party.appId} ${operation} ${key}`;
      byKey.set(name, [...(byKey.get(name) ?? []), exchange]);
    }
    return [...byKey.values()]
      .filter((exchanges) => !this.isKnown(exchanges))
      .flatMap((exchanges) => exchanges.slice(0, 1));
  }

  /** A refusal is final only if nothing sent before it can still arrive. */
  private isKnown(exchanges: readonly Exchange[]): boolean {
    const isAllAnswered = exchanges.every(({ answered }) => answered !== undefined);
    return exchanges.some(
      ({ answered, sentAt }) =>
        answered && (isSuccess(answered) || (isOutcome(answered.answer) && (isAllAnswered || sentAt >= this.quietAt))),
    );
  }

  private sendAgain({ by, request }: Keyed): Promise<Answer | undefined> {
    const api = this.pool.clientOf(by);
    switch (request.operation) {
      case 'create':
        return api.create(this.nextRest(), request.key, request.body);
      case 'prepare':
        return api.prepare(this.nextRest(), request.key, request.body);
      case 'complete':
        return api.complete(this.nextRest(), request.key, request.uploadId, request.body);
    }
  }

  private pause(): Promise<void> {
    return sleep(BETWEEN_TRIES_MS, undefined, { signal: this.signal });
  }

  private nextRest() {
    this.turn += 1;
    return REST[this.turn % 2 === 0 ? 0 : 1];
  }
}

/** A refused credential says nothing about the key. */
function isOutcome(answer: Answer | undefined): boolean {
  return answer !== undefined && isDefinite({ answer }) && answer.status !== 401;
}

/** A few at a time, in order. */
async function inTurns<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...list];
  const one = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
