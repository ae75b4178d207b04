import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import type { Waits } from '../memory-budget.js';
import { isTerminal, type Generation, type GenerationRecord } from './generation.js';
import { getGeneration } from './get-generation.js';
import { WakeableDelay } from './run/waiting.js';

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
  /** Of a place behind the last event from which the events can be resumed, where there is one. */
  readonly id?: string;
}

/** How far a follower has come: the last event, and for progress how much. */
export interface Place {
  readonly rank: number;
  readonly progress: number;
}

export const BEGINNING: Place = { rank: -1, progress: 0 };
const PROGRESS = EVENT_TYPES.indexOf('progress');
const STEPS = 1_000;

export interface Following {
  /** Id of the last event that was received; all events when absent, or when no event has this id. */
  readonly after?: string | undefined;
  /** After so long without an event a beat comes in its place, in milliseconds. */
  readonly beatMs: number;
  /** Ends the events early. */
  readonly until: Waits;
}

/** Whether the last event of a generation has this id: nothing follows it. */
export function isLastEvent(id: string | undefined): boolean {
  return placeOf(id).rank === EVENT_TYPES.length - 1;
}

/**
 * What happened and happens to the caller's own generation, in order, until it has ended or is removed. Events follow
 * from the record and not from who writes it, so that none is lost with a process; of several changes between two looks
 * each has its event, but of several reports of progress only the last. Throws as `getGeneration` does, and RATE_LIMITED
 * where too many follow, before the first event.
 */
export async function* generationEvents(
  context: Pick<Context, 'generations' | 'generationWatch' | 'lastingCalls' | 'clock' | 'call'>,
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
export function eventsOf(generation: Generation): GenerationEvent[] {
  const { createdAt, updatedAt, runDeadlineAt, terms, progress, cancelRequestedAt, completedAt } = generation;
  const times: Readonly<Record<EventType, number | undefined>> = {
    queued: createdAt,
    running: runDeadlineAt === undefined ? undefined : runDeadlineAt - terms.runTimeoutMs,
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

export function placeOf(id: string | undefined): Place {
  const [, rank, steps = '0'] = /^([0-4])(?:-(\d{1,4}))?$/.exec(id ?? '') ?? [];
  return rank === undefined ? BEGINNING : { rank: Number(rank), progress: Number(steps) / STEPS };
}

export function isAfter(a: Place, b: Place): boolean {
  return a.rank > b.rank || (a.rank === b.rank && a.progress > b.progress);
}
