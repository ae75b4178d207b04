import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../core/json.js';
import { textOf } from '../../history/values.js';
import { between, type Draw, oneOf } from '../draws.js';
import type { Answer } from '../../history/recorded/history.js';
import { taskHasEnded } from '../../history/recorded/known.js';
import { REST, type RestName } from '../rounds/schedule.js';
import type { ApiClient } from './api-client.js';
import { drawWish, wishWith } from './wishes.js';

/**
 * Generations that the client has open at most. A larger backlog would still be processed when everything open must
 * have ended.
 */
const MAX_OPEN = 8;
const THINKS_AT_MOST_MS = 120;

interface Mine {
  readonly key: string;
  readonly body: JsonObject;
  generationId?: string;
  hasEnded: boolean;
}

/**
 * A client that creates, repeats requests at the other process, races itself, polls, cancels, and fetches its outputs.
 */
export class OrdinaryClient {
  private readonly mine: Mine[] = [];

  constructor(
    private readonly api: ApiClient,
    private readonly draw: Draw,
    private readonly wish = drawWish,
  ) {}

  async run(shouldContinue: () => boolean): Promise<void> {
    while (shouldContinue()) {
      await this.act();
      await sleep(this.draw(THINKS_AT_MOST_MS));
    }
  }

  private async act(): Promise<void> {
    const open = this.mine.filter(({ hasEnded }) => !hasEnded);
    const known = this.mine.filter(({ generationId }) => generationId !== undefined);
    const chosen = open[this.draw(Math.max(1, open.length))];
    const action = this.draw(20);
    const mayOpenMore = open.length < MAX_OPEN;
    if (!chosen || (action < 6 && mayOpenMore)) await this.create();
    else if (action < 8) await this.send(chosen, this.anyRest());
    else if (action < 9 && mayOpenMore) await this.race();
    else if (action < 10) await this.changeMind(chosen);
    else if (action < 16) await this.look(chosen);
    else if (action < 18) await this.cancel(chosen);
    else if (action < 19) await this.api.credits(this.anyRest());
    else await this.look(known[this.draw(Math.max(1, known.length))] ?? chosen);
  }

  private anyRest(): RestName {
    return oneOf(this.draw, REST);
  }

  private begin(): Mine {
    const key = randomUUID();
    const mine: Mine = { key, body: this.wish(this.draw, key), hasEnded: false };
    this.mine.push(mine);
    return mine;
  }

  /** Requests without an answer are sent again, to the other process. */
  private async create(): Promise<void> {
    const first = this.anyRest();
    const mine = this.begin();
    if (!(await this.send(mine, first))) await this.send(mine, first === 'rest-1' ? 'rest-2' : 'rest-1');
  }

  /** Sends the same request several times at once, through both processes. */
  private async race(): Promise<void> {
    const mine = this.begin();
    await Promise.all(
      Array.from({ length: between(this.draw, 2, 4) }, (_, index) =>
        this.send(mine, index % 2 === 0 ? 'rest-1' : 'rest-2'),
      ),
    );
  }

  /** Another payload under a key whose effect is known must have no effect. */
  private async changeMind({ key, body, generationId }: Mine): Promise<void> {
    if (generationId !== undefined)
      await this.api.create(this.anyRest(), key, { ...body, prompt: 'Something else altogether' });
  }

  private async send(mine: Mine, through: RestName): Promise<Answer | undefined> {
    const answer = await this.api.create(through, mine.key, mine.body);
    if (answer?.status === 202) await this.learn(mine, answer);
    return answer;
  }

  private async look(mine: Mine): Promise<void> {
    if (mine.generationId !== undefined) await this.learn(mine, await this.api.get(this.anyRest(), mine.generationId));
  }

  private async cancel(mine: Mine): Promise<void> {
    if (mine.generationId !== undefined)
      await this.learn(mine, await this.api.cancel(this.anyRest(), mine.generationId));
  }

  private async learn(mine: Mine, answer: Answer | undefined): Promise<void> {
    const { data } = answer ?? {};
    if (!data) return;
    mine.generationId = textOf(data['generation_id']);
    const isNews = !mine.hasEnded && taskHasEnded(textOf(data['status']));
    if (!isNews) return;
    mine.hasEnded = true;
    if (this.draw(2) === 0) await fetchOutputs(this.api, data);
  }
}

/** Fetches everything that a task shows. */
export async function fetchOutputs(api: ApiClient, task: JsonObject): Promise<void> {
  const outputs = (task['outputs'] ?? []) as JsonObject[];
  for (const output of outputs)
    await api.fetchOutput(textOf(task['generation_id']), textOf(output['media_id']), textOf(output['url']));
}

const THINKS_MS = 400;

/** Keeps using a key after it was revoked, through both processes, until `shouldContinue` returns false. */
export async function useUntil(api: ApiClient, draw: Draw, shouldContinue: () => boolean): Promise<void> {
  while (shouldContinue()) {
    for (const through of REST) {
      const key = randomUUID();
      if (draw(3) === 0) await api.create(through, key, drawWish(draw, key));
      else await api.credits(through);
    }
    await sleep(THINKS_MS);
  }
}

const PROBE_THINKS_MS = 250;

/** A client with its own account that asks for ids of another account, and for ids that were never issued. */
export class ForeignIdProber {
  constructor(
    private readonly api: ApiClient,
    private readonly draw: Draw,
  ) {}

  async run(shouldContinue: () => boolean): Promise<void> {
    while (shouldContinue()) {
      await this.probe();
      await sleep(this.draw(PROBE_THINKS_MS));
    }
  }

  private async probe(): Promise<void> {
    const through = oneOf(this.draw, REST);
    const generationId = this.anyId('generation_id');
    const uploadId = this.anyId('upload_id');
    switch (this.draw(4)) {
      case 0:
        return void (await this.api.get(through, generationId));
      case 1:
        return void (await this.api.cancel(through, generationId));
      case 2:
        return void (await this.api.complete(through, randomUUID(), uploadId, {}));
      default: {
        const key = randomUUID();
        return void (await this.api.create(through, key, wishWith([uploadId], key)));
      }
    }
  }

  /** An id that some client received, or a random one that was never issued. */
  private anyId(field: 'generation_id' | 'upload_id'): string {
    const { exchanges } = this.api.recorder;
    for (let tries = 0; tries < 50 && this.draw(3) > 0; tries += 1) {
      const id = exchanges[this.draw(Math.max(1, exchanges.length))]?.answered?.answer.data?.[field];
      if (typeof id === 'string') return id;
    }
    return randomUUID();
  }
}
