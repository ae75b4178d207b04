import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { EVENT_TYPES, type EventType, type Task, type TaskEvent } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { followEvents } from '../live.js';
import { read, sentenceOf } from '../server.js';
import { isOpen } from './task-text.js';

/** Without a word of the stream for so long the server is asked, in milliseconds. */
const QUIET_MS = 5_000;
/** And with a stream that speaks, in case it goes silent without an end. */
const SLOW_MS = 30_000;

export interface FollowedTask {
  readonly task: Task | undefined;
  /** When what happened, in order. */
  readonly times: readonly { readonly type: EventType; readonly at: string }[];
  /** 0 to 1, while its provider says. */
  readonly progress: number | undefined;
  /** While it is queued: how many are before it. */
  readonly position: number | undefined;
  readonly fault: string | undefined;
  readonly reload: () => Promise<void>;
  /** Takes what an answer says of it. */
  readonly take: (task: Task) => void;
}

/**
 * A generation and what happens to it. Its events tell both, from its creation on; where they do not come, because a
 * proxy holds them back, it is asked for again and again.
 */
export function useFollowedTask(appId: string, id: string, known?: Task): FollowedTask {
  const [task, setTask] = useState<Task | undefined>(known);
  const [times, setTimes] = useState<FollowedTask['times']>([]);
  const [progress, setProgress] = useState<number>();
  const [position, setPosition] = useState<number>();
  const [fault, setFault] = useState<string>();
  const heardAt = useRef(0);
  const path = inApp(appId, `/generations/${encodeURIComponent(id)}`);

  const take = useCallback((next: Task): void => {
    // An answer may be older than an event that came before it. Addresses are signed anew in each.
    setTask((before) => (before !== undefined && before.updated_at > next.updated_at ? before : next));
    setFault(undefined);
  }, []);
  const load = useCallback(async (): Promise<void> => {
    try {
      take(await read<Task>(path));
    } catch (error) {
      setFault(sentenceOf(error));
    }
  }, [path, take]);

  useEffect(() => {
    void load();
    return followEvents(`${path}/events`, {
      onEvent: (event) => {
        heardAt.current = Date.now();
        take(event.task);
        setProgress(event.type === 'progress' ? event.progress : undefined);
        setPosition(event.position);
        setTimes((before) => withEvent(before, event));
      },
    });
  }, [path, load, take]);

  const isWaiting = task !== undefined && isOpen(task);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => {
      const quietFor = Date.now() - heardAt.current;
      if (!document.hidden && (heardAt.current === 0 || quietFor > SLOW_MS)) void load();
    }, QUIET_MS);
    return () => clearInterval(timer);
  }, [isWaiting, load]);

  return { task, times, progress, position, fault, reload: load, take };
}

/** A stream that begins again tells everything again. */
function withEvent(known: FollowedTask['times'], { type, at }: TaskEvent): FollowedTask['times'] {
  if (type === 'progress' || known.some((one) => one.type === type)) return known;
  return [...known, { type, at }].sort((a, b) => EVENT_TYPES.indexOf(a.type) - EVENT_TYPES.indexOf(b.type));
}
