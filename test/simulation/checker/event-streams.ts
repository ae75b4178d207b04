import type { EventType } from '../../../core/generation/events.js';
import type { Heard } from '../observed.js';
import { demand } from './demand.js';
import type { Generations, Life } from './generations.js';
import { MAX_SKEW_MS, type ProcessClocks } from './process-clocks.js';
import { hasEnded } from './record-events.js';

/** In the order in which they may be told. */
const ORDER: readonly EventType[] = ['queued', 'running', 'progress', 'cancel_requested', 'ended'];

interface Follower {
  readonly appId: string;
  /** When it got its first id: from then on it can go on wherever it is cut. */
  readonly since: number;
  readonly ended: Set<string>;
  stream: number;
  /** By generation: the last event of the present stream. */
  told: Map<string, { readonly rank: number; readonly version: number }>;
}

/** Invariant 23: what followers of an App's events hear. */
export class EventStreams {
  private readonly followers = new Map<string, Follower>();

  constructor(
    private readonly generations: Pick<Generations, 'lives' | 'record'>,
    private readonly clocks: ProcessClocks,
  ) {}

  heard({ at, follower: name, appId, stream, event }: Heard): void {
    const follower = this.followers.get(name) ?? { appId, since: at, ended: new Set(), stream, told: new Map() };
    this.followers.set(name, follower);
    if (follower.stream !== stream) Object.assign(follower, { stream, told: new Map() });
    if (event.type === 'beat') return;
    const { type, generation } = event;
    const { generationId, version } = generation;
    const life = this.generations.lives.get(generationId);
    const says = (): string => `${name} hears ${type} of generation ${generationId}`;
    demand(life?.appId === appId, 23, () => `${says()}, which is of App ${life?.appId}`);
    demand(hasHappened(life, type), 23, () => `${says()}, which is ${life.newest.status}`);
    const rank = ORDER.indexOf(type);
    const last = follower.told.get(generationId) ?? { rank: -1, version: 0 };
    demand(
      rank > last.rank || (rank === last.rank && type === 'progress'),
      23,
      () => `${says()} after ${ORDER[last.rank]}`,
    );
    demand(version >= last.version, 23, () => `${says()} in version ${version}, after version ${last.version}`);
    follower.told.set(generationId, { rank, version });
    if (type === 'ended') follower.ended.add(generationId);
  }

  left(follower: string): void {
    this.followers.delete(follower);
  }

  /** Everybody has heard of every end, but of what was deleted or is kept no longer. */
  checkAtRest(): void {
    // A clock that leaps may say that a stream is complete to a time that has not come.
    if (this.clocks.spreadMs > MAX_SKEW_MS) return;
    for (const [name, { appId, since, ended }] of this.followers)
      for (const { generationId, endedAt = 0, appId: owner } of this.generations.lives.values()) {
        if (owner !== appId || endedAt <= since || ended.has(generationId)) continue;
        const record = this.generations.record(generationId);
        const isKept = record?.kind === 'generation' && record.deletedAt === undefined;
        demand(!isKept, 23, () => `${name} follows since ${since}, and never heard that ${generationId} ended`);
      }
  }
}

function hasHappened({ newest, endedAt }: Life, type: EventType): boolean {
  if (type === 'ended') return endedAt !== undefined && hasEnded(newest);
  if (type === 'cancel_requested') return newest.cancelRequestedAt !== undefined;
  return type === 'queued' || newest.runDeadlineAt !== undefined;
}
