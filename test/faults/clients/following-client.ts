import { randomUUID } from 'node:crypto';
import { textOf } from '../../history/values.js';
import { oneOf, type Draw } from '../draws.js';
import type { Answer } from '../history/history.js';
import type { SeenStream } from '../history/stream-history.js';
import { REST } from '../rounds/schedule.js';
import type { ApiClient } from './api-client.js';
import { insist } from './insist.js';
import { StreamFollower, type StreamUrls } from './stream-follower.js';
import { drawWish } from './wishes.js';

const [MAX_TRIES, BETWEEN_TRIES_MS] = [20, 300];

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
      if (created === undefined) continue;
      this.made += 1;
      const generationId = textOf(created.data?.['generation_id']);
      const follower = new StreamFollower(`${this.name} ${this.made}`, this.api, this.urls, this.draw, generationId);
      await follower.run(() => true, signal);
      this.streams.push(...follower.streams);
    }
  }

  /** One create, sent again under its key while it is not accepted. */
  private create(shouldContinue: () => boolean): Promise<Answer | undefined> {
    const key = randomUUID();
    const body = drawWish(this.draw, key);
    return insist(() => this.api.create(oneOf(this.draw, REST), key, body), {
      mostTries: MAX_TRIES,
      betweenMs: BETWEEN_TRIES_MS,
      shouldContinue,
    });
  }
}
