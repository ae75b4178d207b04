import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { isUuid } from '../uuid.js';
import { isTerminal, type Generation, type GenerationRecord } from './generation.js';
import {
  BEGINNING,
  eventsOf,
  isAfter,
  placeOf,
  type Beat,
  type Following,
  type GenerationEvent,
  type Place,
} from './generation-events.js';
import { WakeableDelay } from './run/waiting.js';

/** How far back a stream can be resumed, in milliseconds. */
export const RESUMED_FOR_MS = 86_400_000;

/**
 * How much earlier a resumed stream begins than its last event says, in milliseconds: what another process wrote with a clock
 * that was behind, or was still writing, may have come later.
 */
const OVERLAP_MS = 2 * 60_000;

/** How long one that has ended is remembered at least, so that a later change of its record is not taken for its end. */
const REMEMBERED_MS = 10 * 60_000;

/** How many generations may have changed that a client was not told of before its stream ends. */
const MAX_WAITING = 10_000;

/** The longest that a generation takes beyond its queue and its run: to be cancelled, stored and settled. */
const BEYOND_RUN_MS = 3_600_000;

const PAGE = 500;

type Needs = Pick<Context, 'generations' | 'appWatch' | 'lastingCalls' | 'clock' | 'catalog' | 'call'>;

/** Where a client was: up to when it had everything, and what it was told of last. */
interface Resumed {
  readonly completeTo: number;
  /** Absent where it was told of none. */
  readonly last?: { readonly generationId: string; readonly place: Place };
}

/**
 * What happens to all generations of the caller's App, in order for each of them, until `until` is over, or until more has
 * changed than a client was told of that is too slow. With the id of an event of the last day it tells first what has
 * happened since that one, and two minutes before: events may come twice, and none is missed. Without one it begins now.
 * Once there is nothing of the past to be told a beat comes, whose id leads back to here.
 * Throws RATE_LIMITED where too many follow, and `StoreUnavailable` before and among the events of what has happened.
 */
export async function* appEvents(
  context: Needs,
  { appId, credentialId }: Pick<Caller, 'appId' | 'credentialId'>,
  { after, beatMs, until }: Following,
): AsyncGenerator<GenerationEvent | Beat> {
  const { clock, appWatch } = context;
  const leave = context.lastingCalls.followApp(credentialId, appId);
  const rest = new WakeableDelay(clock);
  const changes = new Changes(clock.now(), readId(after));
  const followNoMore = appWatch.follow(appId, (record) => {
    changes.note(record, clock.now());
    rest.wake();
  });
  const listenNoMore = until.onOver(() => rest.wake());
  try {
    for await (const generation of changesBefore(context, appId, changes)) {
      // Cut here, the client begins where it began: what is older may come behind what is newer.
      for (const event of changes.eventsOfPast(generation)) yield event;
      if (until.isOver) return;
    }
    yield { type: 'beat', id: markOf(appWatch.completeTo(appId)) };
    for (let beatAt = clock.now() + beatMs; !until.isOver; await rest.sleep(Math.max(0, beatAt - clock.now()))) {
      for (const event of changes.events(appWatch.completeTo(appId))) {
        beatAt = clock.now() + beatMs;
        yield event;
        if (until.isOver) return;
      }
      if (changes.isOverrun) return;
      if (clock.now() < beatAt) continue;
      beatAt = clock.now() + beatMs;
      yield { type: 'beat', id: markOf(appWatch.completeTo(appId)) };
    }
  } finally {
    leave();
    followNoMore();
    listenNoMore();
  }
}

/**
 * A new stream knows what is open and what was created just before, and tells nothing of it; a resumed one looks through all
 * that may have changed.
 */
async function* changesBefore(
  { generations, appWatch, catalog, clock, call }: Needs,
  appId: string,
  changes: Changes,
): AsyncGenerator<Generation> {
  const { from } = changes;
  const open = await appWatch.open(appId);
  if (from === undefined) for (const generation of open) changes.isKnown(generation);
  const lives = catalog.models().map(({ queueTimeoutMs, runTimeoutMs }) => queueTimeoutMs + runTimeoutMs);
  const createdFrom =
    from === undefined ? clock.now() - OVERLAP_MS : Math.max(0, from - Math.max(0, ...lives) - BEYOND_RUN_MS);
  let cursor: string | undefined;
  do {
    const asked = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const page = await generations.list({ of: 'app', appId, createdFrom }, asked, call);
    if (from === undefined) page.items.forEach((generation) => changes.isKnown(generation));
    else yield* page.items.filter(({ updatedAt, deletedAt }) => updatedAt >= from && deletedAt === undefined);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** What a client has been told of, and what it has not. */
class Changes {
  private readonly known = new Map<string, { version: number; place: Place; endedAt?: number }>();
  private readonly waiting = new Map<string, Generation>();
  /** Whether there were changes that could not be kept for a client that is too slow. */
  isOverrun = false;
  /** What happened earlier to a generation that is not known is not told. */
  private floor: number;
  /** Of a resumed stream: since when it tells. */
  readonly from: number | undefined;

  constructor(
    private readonly startedAt: number,
    private readonly resumed: Resumed | undefined,
  ) {
    this.floor = startedAt - OVERLAP_MS;
    if (resumed === undefined) return;
    this.from = Math.max(resumed.completeTo, startedAt - RESUMED_FOR_MS) - OVERLAP_MS;
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
    if (isNews) this.note(generation, this.startedAt);
  }

  note(record: GenerationRecord, now: number): void {
    if (record.kind !== 'generation' || record.deletedAt !== undefined) return;
    const { generationId, version } = record;
    const newest = this.waiting.get(generationId)?.version ?? this.known.get(generationId)?.version ?? -1;
    if (version <= newest) return;
    if (this.waiting.size >= MAX_WAITING && !this.waiting.has(generationId)) this.isOverrun = true;
    else this.waiting.set(generationId, record);
    this.forgetEnded(now);
  }

  /** Of one that a resumed stream has found; its ids lead back to where the stream began. */
  eventsOfPast(generation: Generation): readonly GenerationEvent[] {
    return this.untold(generation).map((event) => ({ ...event, id: idOf(this.resumed?.completeTo ?? 0, event) }));
  }

  /** Of all that wait. `completeTo`: no change before this time can be told of later. */
  *events(completeTo: number): Generator<GenerationEvent> {
    for (const [generationId, generation] of this.waiting) {
      this.waiting.delete(generationId);
      for (const event of this.untold(generation)) yield { ...event, id: idOf(Math.min(event.at, completeTo), event) };
    }
  }

  private untold(generation: Generation): GenerationEvent[] {
    const { generationId, version, status, completedAt, updatedAt } = generation;
    const known = this.known.get(generationId);
    if (version <= (known?.version ?? -1)) return [];
    const ended = isTerminal(status) ? { endedAt: completedAt ?? updatedAt } : {};
    const events = eventsOf(generation);
    this.known.set(generationId, { version, place: lastPlaceOf(events), ...ended });
    return events.filter(({ at, id }) => (known === undefined ? at >= this.floor : isAfter(placeOf(id), known.place)));
  }

  private forgetEnded(now: number): void {
    if (this.known.size < 2 * MAX_WAITING) return;
    const before = now - REMEMBERED_MS;
    for (const [id, { endedAt }] of this.known) if (endedAt !== undefined && endedAt < before) this.known.delete(id);
    this.floor = Math.max(this.floor, before);
  }
}

function lastPlaceOf(events: readonly GenerationEvent[]): Place {
  return placeOf(events.at(-1)?.id);
}

/** The id of a place behind no event. */
function markOf(completeTo: number): string {
  return `${Math.max(0, completeTo).toString(36)}_`;
}

function idOf(completeTo: number, { id, generation }: GenerationEvent): string {
  return `${markOf(completeTo)}${generation.generationId}_${id}`;
}

/** Whether a stream can be resumed behind an event with this id. */
export function isEventId(text: string): boolean {
  return readId(text) !== undefined;
}

function readId(text: string | undefined): Resumed | undefined {
  const [time = '', generationId, id, ...more] = (text ?? '').split('_');
  if (!/^[0-9a-z]{1,9}$/.test(time) || more.length > 0) return undefined;
  const completeTo = Number.parseInt(time, 36);
  if (generationId === '' && id === undefined) return { completeTo };
  const place = placeOf(id);
  if (generationId === undefined || !isUuid(generationId) || place === BEGINNING) return undefined;
  return { completeTo, last: { generationId: generationId.toLowerCase(), place } };
}
