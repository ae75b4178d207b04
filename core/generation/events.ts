import type { Caller } from '../access/credential.js';
import type { Waits } from '../cancellation.js';
import type { Call, Machine, Models, Work } from '../context.js';
import { isUuid } from '../ids.js';
import { type PageRequest, pagesOf } from '../paging.js';
import { pause, WakeableDelay } from '../waiting.js';
import { withoutContent } from './decide.js';
import { BEYOND_RUN_MS, type Generation, type GenerationRecord, isTerminal, startedAtOf } from './generation.js';
import { getGeneration } from './read-generations.js';

/** In the order in which they come; a generation may skip any of them but the last. */
export const EVENT_TYPES = ['queued', 'running', 'progress', 'cancel_requested', 'ended'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Something that happened to a generation. */
export interface GenerationEvent {
  readonly type: EventType;
  /** When, in milliseconds. */
  readonly at: number;
  /** Names it among the events of its generation; later events have other ids. */
  readonly id: string;
  /** The newest version that is known, which may be newer than the event. */
  readonly generation: Generation;
}

/** Nothing has happened for a while. */
export interface Beat {
  readonly type: 'beat';
  /** Id of a position after the last event, from which the events can be resumed; absent if there is none. */
  readonly id?: string;
}

/** How far a follower has come: the last event, and for progress how much. */
export interface Place {
  readonly rank: number;
  readonly progress: number;
}

const BEGINNING: Place = { rank: -1, progress: 0 };
const PROGRESS = EVENT_TYPES.indexOf('progress');
const STEPS = 1_000;

export interface Following {
  /** Id of the last event that was received; all events when absent, or when no event has this id. */
  readonly after?: string | undefined;
  /** A beat is sent after this time without an event, in milliseconds. */
  readonly beatMs: number;
  /** Ends the events early. */
  readonly until: Waits;
}

/** Whether the last event of a generation has this id: nothing follows it. */
export function isLastEvent(id: string | undefined): boolean {
  return placeOf(id).rank === EVENT_TYPES.length - 1;
}

/**
 * Yields past and new events of the caller's own generation in order, until it has ended or is removed. Events follow
 * from the record and not from the process that writes it, so that none is lost with a process. Each of several changes
 * between two reads has its event; of several progress reports only the last one does. Throws the same errors as
 * `getGeneration`, and RATE_LIMITED if too many streams are open, before the first event.
 */
export async function* generationEvents(
  context: Work & Machine & Call,
  caller: Caller,
  generationId: string,
  { after, beatMs, until }: Following,
): AsyncGenerator<GenerationEvent | Beat> {
  const { clock, generationWatch } = context;
  const leave = context.lastingCalls.follow(caller);
  const rest = new WakeableDelay(clock);
  let newest: GenerationRecord | null | undefined;
  const note = (record: GenerationRecord | null): void => {
    if (record !== null && newest && record.version <= newest.version) return;
    newest = record;
    rest.wake();
  };
  const followNoMore = generationWatch.follow(generationId.toLowerCase(), note);
  const listenNoMore = until.onOver(() => rest.wake());
  try {
    note(await getGeneration(context, caller, generationId));
    let place = placeOf(after);
    for (let beatAt = clock.now() + beatMs; !until.isOver; await rest.sleep(Math.max(0, beatAt - clock.now()))) {
      if (newest?.kind !== 'generation') return;
      const generation = newest;
      for (const event of eventsOf(generation).filter(({ id }) => isAfter(placeOf(id), place))) {
        place = placeOf(event.id);
        beatAt = clock.now() + beatMs;
        yield event;
      }
      if (isTerminal(generation.status)) return;
      if (clock.now() < beatAt) continue;
      beatAt = clock.now() + beatMs;
      yield { type: 'beat' };
    }
  } finally {
    leave();
    followNoMore();
    listenNoMore();
  }
}

/** Everything that happened up to this version. */
function eventsOf(generation: Generation): GenerationEvent[] {
  const { createdAt, updatedAt, progress, cancelRequestedAt, completedAt } = generation;
  const times: Readonly<Record<EventType, number | undefined>> = {
    queued: createdAt,
    running: startedAtOf(generation),
    progress: progress === undefined || progress === 0 || completedAt !== undefined ? undefined : updatedAt,
    cancel_requested: cancelRequestedAt,
    ended: completedAt,
  };
  return EVENT_TYPES.flatMap((type, rank) => {
    const at = times[type];
    return at === undefined ? [] : [{ type, at, id: idOf({ rank, progress: progress ?? 0 }), generation }];
  });
}

function idOf({ rank, progress }: Place): string {
  return rank === PROGRESS ? `${rank}-${Math.floor(progress * STEPS)}` : String(rank);
}

function placeOf(id: string | undefined): Place {
  const [, rank, steps = '0'] = /^([0-4])(?:-(\d{1,4}))?$/.exec(id ?? '') ?? [];
  return rank === undefined ? BEGINNING : { rank: Number(rank), progress: Number(steps) / STEPS };
}

function isAfter(a: Place, b: Place): boolean {
  return a.rank > b.rank || (a.rank === b.rank && a.progress > b.progress);
}

/**
 * The resume position of a client of an App's events: the time up to which it received everything, and the last event.
 */
export interface ResumedAt {
  readonly completeTo: number;
  /** Absent if it received no event. */
  readonly last?: { readonly generationId: string; readonly place: Place };
}

/** Id of a position that follows no event. Everything from before `completeTo` has been sent. */
function placeMark(completeTo: number): string {
  return `${Math.max(0, completeTo).toString(36)}_`;
}

/** The id of an event of an App's stream. */
function eventIdOf(completeTo: number, { id, generation }: GenerationEvent): string {
  return `${placeMark(completeTo)}${generation.generationId}_${id}`;
}

/** Whether a stream can be resumed after an event with this id. */
export function isEventId(text: string): boolean {
  return readEventId(text) !== undefined;
}

/** Undefined for text that no stream of an App has sent as an id. */
export function readEventId(text: string | undefined): ResumedAt | undefined {
  const [time = '', generationId, id, ...more] = (text ?? '').split('_');
  if (!/^[0-9a-z]{1,9}$/.test(time) || more.length > 0) return undefined;
  const completeTo = Number.parseInt(time, 36);
  if (generationId === '' && id === undefined) return { completeTo };
  const place = placeOf(id);
  if (generationId === undefined || !isUuid(generationId) || place === BEGINNING) return undefined;
  return { completeTo, last: { generationId: generationId.toLowerCase(), place } };
}

/** How far back a stream can be resumed, in milliseconds. */
const RESUMED_FOR_MS = 86_400_000;

/**
 * How much earlier a resumed stream starts than its last id indicates, in milliseconds: writes of another process whose
 * clock was behind, or that was still writing, may have arrived later.
 */
const REACH_MS = 2 * 60_000;

/**
 * How long an ended generation is remembered at least, in milliseconds, so that a later change of its record is not
 * mistaken for its end.
 */
const REMEMBERED_MS = 10 * 60_000;

/** The most generations with changes that a client has not received. Its stream ends beyond that. */
const MAX_WAITING = 10_000;

interface Known {
  readonly version: number;
  readonly place: Place;
  readonly endedAt?: number;
}

/**
 * Tracks which events of an App's generations a client has received, and which are waiting. Past events come first, and
 * only generations that may still change are remembered for them; then the waiting ones are sent, repeatedly. Memory
 * grows with the generations that end within ten minutes, and the number of waiting ones is bounded.
 */
export class AppChanges {
  private readonly known = new Map<string, Known>();
  private readonly waiting = new Map<string, Generation>();
  private forgetAbove = 2 * MAX_WAITING;
  /** Events from before this time are not sent for a generation that is not remembered. */
  private floor: number;
  /** Start of the events of a resumed stream; undefined for a new one. */
  readonly from: number | undefined;
  /** Whether changes were dropped because the client is too slow. */
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

  /**
   * Notes a generation found at the start of a new stream. Its earlier events are not sent; events since the start are.
   */
  isKnown(generation: Generation): void {
    const { generationId, version } = generation;
    if (this.known.has(generationId)) return;
    const events = eventsOf(generation);
    const before = events.filter(({ at }) => at <= this.startedAt);
    const isNews = before.length < events.length;
    this.known.set(generationId, { version: isNews ? version - 1 : version, place: lastPlaceOf(before) });
    if (isNews) this.note(generation);
  }

  /** Notes a version that was written or read, which need not be the newest. */
  note(record: GenerationRecord): void {
    if (record.kind !== 'generation' || record.deletedAt !== undefined) return;
    const { generationId, version } = record;
    const newest = this.waiting.get(generationId)?.version ?? this.known.get(generationId)?.version ?? -1;
    if (version <= newest) return;
    if (this.waiting.size >= MAX_WAITING && !this.waiting.has(generationId)) this.isOverrun = true;
    else this.waiting.set(generationId, withoutContent(record));
  }

  /** Events of a generation that a resumed stream has found. Their ids resume from where the stream started. */
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

  /**
   * Marks past events as sent: only waiting changes are sent from now on. Generations that ended long before the stream
   * started are not remembered.
   */
  pastIsTold(): void {
    this.floor = Math.max(this.floor, this.startedAt - REMEMBERED_MS);
  }

  /**
   * Events of all waiting generations. Every change from before `toldTo` has been sent, so that the ids resume from
   * there. It must not advance while some are waiting, because they may be older than events already sent.
   */
  *events(toldTo: number): Generator<GenerationEvent> {
    for (const [generationId, generation] of this.waiting) {
      this.waiting.delete(generationId);
      for (const event of this.untold(generation)) yield { ...event, id: eventIdOf(toldTo, event) };
    }
  }

  /**
   * Forgets, now and then, generations that ended long before `completeTo`. Call it when nothing is waiting, because
   * events older than the forgotten ones are no longer sent.
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

/** Events do not show the request, and its hundred thousand characters are not kept in memory for a slow client. */
function lastPlaceOf(events: readonly GenerationEvent[]): Place {
  return placeOf(events.at(-1)?.id);
}

const PAGE = 500;
/** The longest pause of a stream between two pages, in milliseconds. */
const MAX_REST_MS = 1_000;

/**
 * Yields the events of all generations of the caller's App, in order for each generation, until `until` is over, or
 * until more changes are waiting than are kept for a slow client. With the id of an event from the last day, it first
 * sends the events since then, and those of the two minutes before: events may be repeated, and none is missed. Without
 * an id it starts now. Once all past events are sent, a beat follows whose id resumes from there; a beat without an id
 * only means that the past is still being searched. Throws RATE_LIMITED if too many streams are open, and
 * `StoreUnavailable` before and among past events.
 */
export async function* appEvents(
  context: Work & Models & Machine & Call,
  owner: Pick<Caller, 'accountId' | 'appId' | 'credentialId'>,
  { after, beatMs, until }: Following,
): AsyncGenerator<GenerationEvent | Beat> {
  const { clock, appWatch } = context;
  const { appId } = owner;
  const leave = context.lastingCalls.followApp(owner);
  const rest = new WakeableDelay(clock);
  const changes = new AppChanges(clock.now(), readEventId(after));
  const followNoMore = appWatch.follow(appId, (record) => {
    changes.note(record);
    rest.wake();
  });
  const listenNoMore = until.onOver(() => rest.wake());
  const isOver = (): boolean => until.isOver || changes.isOverrun;
  // Changes from now on wait until past events are sent. Until then, an id must not resume after this position.
  let toldTo = appWatch.completeTo(appId);
  let beatAt = clock.now() + beatMs;
  try {
    for await (const page of pagesBefore(context, appId, changes)) {
      for (const generation of page)
        for (const event of changes.eventsOfPast(generation)) {
          beatAt = clock.now() + beatMs;
          yield event;
          if (isOver()) return;
        }
      if (isOver()) return;
      if (clock.now() < beatAt) continue;
      beatAt = clock.now() + beatMs;
      yield { type: 'beat' };
    }
    changes.pastIsTold();
    yield { type: 'beat', id: placeMark(toldTo) };
    for (beatAt = clock.now() + beatMs; !isOver(); await rest.sleep(Math.max(0, beatAt - clock.now()))) {
      const completeTo = appWatch.completeTo(appId);
      for (const event of changes.events(toldTo)) {
        beatAt = clock.now() + beatMs;
        yield event;
        if (isOver()) return;
      }
      toldTo = completeTo;
      changes.forgetEnded(Math.min(clock.now(), completeTo));
      if (clock.now() < beatAt) continue;
      beatAt = clock.now() + beatMs;
      yield { type: 'beat', id: placeMark(toldTo) };
    }
  } finally {
    leave();
    followNoMore();
    listenNoMore();
  }
}

/**
 * A new stream notes open and recently created generations, and sends nothing for them. A resumed stream searches all
 * generations that may have changed, and sends the events of each page in the order of creation. One page of an App is
 * read at a time, followed by an equally long pause, so that streams that resume together leave the store to others.
 */
async function* pagesBefore(
  { generations, appWatch, catalog, clock, call }: Work & Models & Machine & Call,
  appId: string,
  changes: AppChanges,
): AsyncGenerator<readonly Generation[]> {
  const { from } = changes;
  const open = await appWatch.open(appId);
  if (from === undefined) for (const generation of open) changes.isKnown(generation);
  const lives = catalog.models().map(({ queueTimeoutMs, runTimeoutMs }) => queueTimeoutMs + runTimeoutMs);
  const createdFrom =
    from === undefined ? clock.now() - REACH_MS : Math.max(0, from - Math.max(0, ...lives) - BEYOND_RUN_MS);
  const read = (page: PageRequest) =>
    appWatch.inTurn(appId, async () => {
      const beganAt = clock.now();
      const found = await generations.list({ of: 'app', appId, createdFrom }, page, call);
      if (found.nextCursor !== undefined) await pause(clock, Math.min(MAX_REST_MS, Math.max(0, clock.now() - beganAt)));
      return found;
    });
  for await (const items of pagesOf(read, PAGE)) {
    if (from === undefined) items.forEach((generation) => changes.isKnown(generation));
    else yield items.filter(({ updatedAt, deletedAt }) => updatedAt >= from && deletedAt === undefined).toReversed();
  }
}
