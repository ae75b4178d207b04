import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from '../../history/values.js';
import { oneOf, type Draw } from '../draws.js';
import type { Answer } from '../history/history.js';
import type { SeenStream } from '../history/stream-history.js';
import { REST } from '../rounds/schedule.js';
import type { ApiClient } from './api-client.js';
import { StreamFollower, type StreamUrls } from './stream-follower.js';
import { drawWish } from './wishes.js';

/** While nothing answers. */
const BETWEEN_TRIES_MS = 300;

/** A client that creates one generation after another and follows each by its events to its end, without asking. */
export class FollowingClient {
  readonly streams: SeenStream[] = [];
  private made = 0;

  constructor(
    private readonly name: string,
    private readonly api: ApiClient,
    private readonly urls: StreamUrls,
    private readonly draw: Draw,
  ) {}

  /** The last one is followed to its end, unless `signal` says otherwise. */
  async run(shouldContinue: () => boolean, signal: AbortSignal): Promise<void> {
    while (shouldContinue()) {
      const created = await this.create(shouldContinue);
      if (created?.status !== 202) {
        await sleep(BETWEEN_TRIES_MS);
        continue;
      }
      this.made += 1;
      const generationId = textOf(created.data?.['generation_id']);
      const follower = new StreamFollower(`${this.name} ${this.made}`, this.api, this.urls, this.draw, generationId);
      await follower.run(() => true, signal);
      this.streams.push(...follower.streams);
    }
  }

  /** One create, sent again under its key until it is answered, which may be a refusal. */
  private async create(shouldContinue: () => boolean): Promise<Answer | undefined> {
    const key = randomUUID();
    const body = drawWish(this.draw, key);
    while (shouldContinue()) {
      const answer = await this.api.create(oneOf(this.draw, REST), key, body);
      if (answer !== undefined && answer.status < 500) return answer;
      await sleep(BETWEEN_TRIES_MS);
    }
    return undefined;
  }
}
