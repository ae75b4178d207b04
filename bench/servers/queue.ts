import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { answerCommands } from '../child.js';
import { openAgenda } from '../queues/agenda.js';
import { openBullMq } from '../queues/bullmq.js';
import { openGraphileWorker } from '../queues/graphile-worker.js';
import type { JobQueue } from '../queues/job-queue.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';

/** Which queue, as JSON on the command line. */
export type QueueChoice =
  | { readonly kind: 'bullmq'; readonly port: number; readonly concurrency: number }
  | { readonly kind: 'graphile-worker'; readonly url: string; readonly concurrency: number }
  | { readonly kind: 'agenda'; readonly url: string; readonly database: string; readonly concurrency: number };

/** One process of a job queue's user, which adds jobs or runs them. */
const choice = JSON.parse(process.argv[2] ?? '') as QueueChoice;
const queue = await openQueue(choice);

function openQueue(chosen: QueueChoice): Promise<JobQueue> {
  switch (chosen.kind) {
    case 'bullmq':
      return openBullMq(chosen);
    case 'graphile-worker':
      return openGraphileWorker(chosen);
    case 'agenda':
      return openAgenda(chosen);
  }
}

const startedAtMicros = new Map<string, number>();
let ended = 0;
let lastEndedAtMicros = 0;

export interface Adding {
  readonly count: number;
  /** So many are under way at once, each begun no sooner than this after the one before it. */
  readonly atOnce: number;
  readonly intervalMs: number;
}

export interface Added {
  readonly id: string;
  readonly sentAtMicros: number;
  readonly answeredAtMicros: number;
}

const commands = {
  async add({ count, atOnce, intervalMs }: Adding): Promise<Added[]> {
    const added: Added[] = [];
    let begun = 0;
    const addSome = async (): Promise<void> => {
      while (begun < count) {
        begun += 1;
        const [id, sentAtMicros] = [randomUUID(), machineMicros()];
        await queue.add(id);
        added.push({ id, sentAtMicros, answeredAtMicros: machineMicros() });
        if (intervalMs > 0) await sleep(intervalMs);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, addSome));
    return added;
  },

  work: () =>
    queue.work({
      started: (id) => {
        startedAtMicros.set(id, machineMicros());
      },
      ended: () => {
        ended += 1;
        lastEndedAtMicros = machineMicros();
      },
    }),

  /**
   * Waits until so many jobs have ended since this was last asked; answers when the last one did, and when each was
   * begun.
   */
  async ended({
    count,
  }: {
    readonly count: number;
  }): Promise<{ readonly atMicros: number; readonly started: readonly (readonly [id: string, atMicros: number])[] }> {
    for (const isThere = () => ended >= count; !isThere();) await sleep(2);
    ended -= count;
    if (queue.stored) {
      await queue.stored();
      lastEndedAtMicros = machineMicros();
    }
    const started = [...startedAtMicros];
    startedAtMicros.clear();
    return { atMicros: lastEndedAtMicros, started };
  },

  usage: usageOfThisProcess,
};

export type QueueCommands = typeof commands;

answerCommands(commands, () => queue.close());
