import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { pause } from '../pause.js';
import { AppChanges, REACH_MS } from './app-changes.js';
import { readEventId, placeMark } from './event-id.js';
import type { Beat, Following, GenerationEvent } from './generation-events.js';
import type { Generation } from './generation.js';
import { WakeableDelay } from './run/waiting.js';

/** The longest that a generation takes beyond its queue and its run: to be cancelled, stored and settled. */
const BEYOND_RUN_MS = 3_600_000;

const PAGE = 500;
/** How long a stream rests between two pages at most, in milliseconds. */
const MAX_REST_MS = 1_000;

type Needs = Pick<Context, 'generations' | 'appWatch' | 'lastingCalls' | 'clock' | 'catalog' | 'call'>;

/**
 * What happens to all generations of the caller's App, in order for each of them, until `until` is over, or until more has
 * changed than a client was told of that is too slow. With the id of an event of the last day it tells first what has
 * happened since that one, and two minutes before: events may come twice, and none is missed. Without one it begins now.
 * Once there is nothing of the past to be told a beat comes, whose id leads back to here; one without an id says only
 * that the past is still looked through. Throws RATE_LIMITED where too many follow, and `StoreUnavailable` before and
 * among the events of what has happened.
 */
export async function* appEvents(
  context: Needs,
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
  // What changes from here on waits until the past was told: no id may lead past it before.
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
 * A new stream knows what is open and what was created just before, and tells nothing of it; a resumed one looks through all
 * that may have changed, and tells what each page has, in the order of creation. One page of an App is read at a time, with
 * as long a rest behind it, so that streams that are resumed together leave the store to others.
 */
async function* pagesBefore(
  { generations, appWatch, catalog, clock, call }: Needs,
  appId: string,
  changes: AppChanges,
): AsyncGenerator<readonly Generation[]> {
  const { from } = changes;
  const open = await appWatch.open(appId);
  if (from === undefined) for (const generation of open) changes.isKnown(generation);
  const lives = catalog.models().map(({ queueTimeoutMs, runTimeoutMs }) => queueTimeoutMs + runTimeoutMs);
  const createdFrom =
    from === undefined ? clock.now() - REACH_MS : Math.max(0, from - Math.max(0, ...lives) - BEYOND_RUN_MS);
  let cursor: string | undefined;
  do {
    const asked = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const page = await appWatch.inTurn(appId, async () => {
      const beganAt = clock.now();
      const found = await generations.list({ of: 'app', appId, createdFrom }, asked, call);
      if (found.nextCursor !== undefined) await pause(clock, Math.min(MAX_REST_MS, Math.max(0, clock.now() - beganAt)));
      return found;
    });
    if (from === undefined) page.items.forEach((generation) => changes.isKnown(generation));
    else
      yield page.items.filter(({ updatedAt, deletedAt }) => updatedAt >= from && deletedAt === undefined).toReversed();
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
