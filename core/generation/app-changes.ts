import { eventIdOf, type ResumedAt } from './event-id.js';
import { eventsOf, isAfter, placeOf, type GenerationEvent, type Place } from './generation-events.js';
import { isTerminal, type Generation, type GenerationRecord } from './generation.js';

/** How far back a stream can be resumed, in milliseconds. */
export const RESUMED_FOR_MS = 86_400_000;

/**
 * How much earlier a resumed stream begins than its last id says, in milliseconds: what another process wrote with a clock
 * that was behind, or was still writing, may have come later.
 */
export const REACH_MS = 2 * 60_000;

/** How long one that has ended is remembered at least, so that a later change of its record is not taken for its end. */
const REMEMBERED_MS = 10 * 60_000;

/** How many generations may have changed that a client was not told of before its stream ends. */
const MAX_WAITING = 10_000;

interface Known {
  readonly version: number;
  readonly place: Place;
  readonly endedAt?: number;
}

/**
 * What a client has been told of an App's generations, and what it has not. First the past is told, which remembers only
 * what may still change; then what waits, over and over. What is remembered grows with what ends in ten minutes, and
 * what waits has a bound.
 */
export class AppChanges {
  private readonly known = new Map<string, Known>();
  private readonly waiting = new Map<string, Generation>();
  private forgetAbove = 2 * MAX_WAITING;
  /** What happened earlier to a generation that is not known is not told. */
  private floor: number;
  /** Of a resumed stream: since when it tells. */
  readonly from: number | undefined;
  /** Whether there were changes that could not be kept for a client that is too slow. */
  isOverrun = false;

  constructor(
    private readonly startedAt: number,
    private readonly resumed: ResumedAt | undefined,
  ) {
    this.floor = startedAt - REACH_MS;
    if (resumed === undefined) return;
    // A clock that was ahead may have sent an id of the future.
    const completeTo = Math.min(resumed.completeTo, startedAt);
    this.from = Math.max(completeTo, startedAt - RESUMED_FOR_MS) - REACH_MS;
    this.floor = this.from;
    if (resumed.last !== undefined)
      this.known.set(resumed.last.generationId, { version: 0, place: resumed.last.place });
  }

  /** What had happened to it when the stream began is not told; what came while that was looked for is. */
  isKnown(generation: Generation): void {
    const { generationId, version } = generation;
    if (this.known.has(generationId)) return;
    const events = eventsOf(generation);
    const before = events.filter(({ at }) => at <= this.startedAt);
    const isNews = before.length < events.length;
    this.known.set(generationId, { version: isNews ? version - 1 : version, place: lastPlaceOf(before) });
    if (isNews) this.note(generation);
  }

  /** A version that was written or read, the newest or not. */
  note(record: GenerationRecord): void {
    if (record.kind !== 'generation' || record.deletedAt !== undefined) return;
    const { generationId, version } = record;
    const newest = this.waiting.get(generationId)?.version ?? this.known.get(generationId)?.version ?? -1;
    if (version <= newest) return;
    if (this.waiting.size >= MAX_WAITING && !this.waiting.has(generationId)) this.isOverrun = true;
    else this.waiting.set(generationId, withoutContent(record));
  }

  /** Of one that a resumed stream has found; its ids lead back to where the stream began. */
  eventsOfPast(generation: Generation): readonly GenerationEvent[] {
    return this.untold(generation).map((event) => ({
      ...event,
      id: eventIdOf(this.resumed?.completeTo ?? 0, event),
    }));
  }

  /** How many generations are remembered. */
  get remembered(): number {
    return this.known.size;
  }

  /** From here on only what waits is told. What ended long before the stream began is not remembered. */
  pastIsTold(): void {
    this.floor = Math.max(this.floor, this.startedAt - REMEMBERED_MS);
  }

  /**
   * Of all that wait. `toldTo`: every change from before this time has been told, so that the ids lead back to there. It
   * must not move while some wait, which may be older than what is told.
   */
  *events(toldTo: number): Generator<GenerationEvent> {
    for (const [generationId, generation] of this.waiting) {
      this.waiting.delete(generationId);
      for (const event of this.untold(generation)) yield { ...event, id: eventIdOf(toldTo, event) };
    }
  }

  /**
   * Forgets what has ended long before `completeTo`, now and then. To be called when nothing waits: what is older than
   * what is forgotten is not told any more.
   */
  forgetEnded(completeTo: number): void {
    if (this.known.size < this.forgetAbove) return;
    const before = completeTo - REMEMBERED_MS;
    for (const [id, { endedAt }] of this.known) if (endedAt !== undefined && endedAt < before) this.known.delete(id);
    this.floor = Math.max(this.floor, before);
    this.forgetAbove = 2 * Math.max(this.known.size, MAX_WAITING);
  }

  private untold(generation: Generation): GenerationEvent[] {
    const { generationId, version, status, completedAt, updatedAt } = generation;
    const known = this.known.get(generationId);
    if (version <= (known?.version ?? -1)) return [];
    const endedAt = isTerminal(status) ? (completedAt ?? updatedAt) : undefined;
    const events = eventsOf(generation);
    if (endedAt !== undefined && endedAt < this.startedAt - REMEMBERED_MS) this.known.delete(generationId);
    else
      this.known.set(generationId, {
        version,
        place: lastPlaceOf(events),
        ...(endedAt === undefined ? {} : { endedAt }),
      });
    return events.filter(({ at, id }) => (known === undefined ? at >= this.floor : isAfter(placeOf(id), known.place)));
  }
}

/** No event shows what was asked for, and a hundred thousand characters of it are not kept for a client that is slow. */
function withoutContent({ negativePrompt: _negativePrompt, ...generation }: Generation): Generation {
  return { ...generation, prompt: '', parameters: {}, references: [] };
}

function lastPlaceOf(events: readonly GenerationEvent[]): Place {
  return placeOf(events.at(-1)?.id);
}
