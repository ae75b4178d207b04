import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../core/json.js';
import { asObject, textOf } from '../../history/values.js';
import { between, type Draw, oneOf } from '../draws.js';
import type { Answer, SeenStream, StreamedEvent } from '../../history/recorded/history.js';
import { REST, type RestName } from '../rounds/schedule.js';
import { type ApiClient, insist } from './api-client.js';
import { drawWish } from './wishes.js';

/** Parses server-sent events from chunks that may end anywhere. Incomplete events are not yielded. */
export async function* readEvents(
  pieces: AsyncIterable<Uint8Array>,
  now: () => number,
): AsyncGenerator<StreamedEvent & { readonly data: JsonObject }> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const frames = rest.split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const fields = new Map(frame.split('\n').map((line) => fieldOf(line)));
      const text = fields.get('data');
      if (text === undefined) continue;
      const data = JSON.parse(text) as JsonObject;
      const [id, type] = [textOf(fields.get('id')), textOf(fields.get('event'))];
      yield { at: now(), id, type, task: asObject(data['task']), data };
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}

/** How long a client keeps one connection: it has seen enough, or its machine sleeps. */
const [SHORTEST_MS, LONGEST_MS] = [500, 25_000];
const BETWEEN_TRIES_MS = 150;

type Opened = Omit<SeenStream, 'events'> & { readonly events: StreamedEvent[] };

/** Event stream URLs of each REST process; each has its own link. */
export type StreamUrls = Readonly<Record<RestName, string>>;

/**
 * A client that follows the events of its App, or of one generation. Whenever a connection ends, it reconnects and
 * resumes after the last event it received.
 */
export class StreamFollower {
  readonly streams: Opened[] = [];
  private last: string | undefined;
  private readonly ended = new Set<string>();

  constructor(
    readonly name: string,
    private readonly api: ApiClient,
    private readonly urls: StreamUrls,
    private readonly draw: Draw,
    private readonly generationId?: string,
  ) {}

  get appId(): string {
    return this.api.party.appId;
  }

  /**
   * When its uninterrupted sequence of events began: a stream that ends before its first event is opened anew rather
   * than resumed.
   */
  get since(): number {
    return this.streams.findLast(({ after }) => after === undefined)?.openedAt ?? Infinity;
  }

  /** Whether it received the end of this generation. */
  hasEnded(generationId: string): boolean {
    return this.ended.has(generationId);
  }

  /** Follows until `shouldContinue` returns false; `signal` aborts any wait. */
  async run(shouldContinue: () => boolean, signal: AbortSignal): Promise<void> {
    while (shouldContinue() && !signal.aborted) {
      await this.connect(oneOf(this.draw, REST), shouldContinue, signal).catch(() => undefined);
      if (this.generationId !== undefined && this.ended.has(this.generationId)) return;
      await sleep(BETWEEN_TRIES_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Any reason for which a connection ends is part of the test. */
  private async connect(through: RestName, shouldContinue: () => boolean, signal: AbortSignal): Promise<void> {
    const cut = new AbortController();
    const abort = () => cut.abort();
    const timer = setTimeout(abort, between(this.draw, SHORTEST_MS, LONGEST_MS));
    signal.addEventListener('abort', abort, { once: true });
    try {
      await this.read(through, shouldContinue, cut.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  private async read(through: RestName, shouldContinue: () => boolean, cut: AbortSignal): Promise<void> {
    const path = this.generationId === undefined ? '/events' : `/generations/${this.generationId}/events`;
    const response = await this.api.stream(this.urls[through] + path, this.last, cut);
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel();
      return;
    }
    const now = () => this.api.recorder.now();
    const opened: Opened = {
      follower: this.name,
      by: this.api.party.name,
      through,
      ...(this.generationId === undefined ? {} : { generationId: this.generationId }),
      openedAt: now(),
      ...(this.last === undefined ? {} : { after: this.last }),
      events: [],
    };
    this.streams.push(opened);
    for await (const { data: _, ...event } of readEvents(response.body, now)) {
      opened.events.push(event);
      this.last = event.id;
      if (event.type === 'ended') this.ended.add(textOf(event.task['generation_id']));
      if (!shouldContinue()) return;
    }
  }
}

const [MAX_TRIES, BETWEEN_CREATES_MS] = [20, 300];

/** A client that creates one generation after another and follows each by its events to its end, without polling. */
export class FollowingClient {
  readonly streams: SeenStream[] = [];
  private made = 0;

  constructor(
    private readonly name: string,
    private readonly api: ApiClient,
    private readonly urls: StreamUrls,
    private readonly draw: Draw,
  ) {}

  /** The last generation is followed to its end, unless `signal` aborts. */
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

  /** One create, repeated under its key until it is accepted. */
  private create(shouldContinue: () => boolean): Promise<Answer | undefined> {
    const key = randomUUID();
    const body = drawWish(this.draw, key);
    return insist(() => this.api.create(oneOf(this.draw, REST), key, body), {
      mostTries: MAX_TRIES,
      betweenMs: BETWEEN_CREATES_MS,
      shouldContinue,
    });
  }
}
