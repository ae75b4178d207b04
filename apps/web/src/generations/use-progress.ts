import { useEffect, useState } from 'preact/hooks';
import { followEvents } from '../live.js';
import { inApp } from '../server.js';
import type { GenerationDetail } from '../server-types.js';
import type { Data } from '../use-data.js';
import { isOpen } from './generation-texts.js';

/** How far a generation is. */
export interface Progress {
  /** 0 to 1, while its provider reports it. */
  readonly part?: number | undefined;
  /** While it is queued: how many are before it. */
  readonly position?: number | undefined;
}

const POLL_MS = 5_000;

/** Follows the events of one that has not ended, and loads it again when its state changes. */
export function useProgress({ value, reload }: Data<GenerationDetail | undefined>): Progress {
  const [progress, setProgress] = useState<Progress>({});
  const isLive = value !== undefined && isOpen(value);
  const appId = value?.app.id;
  const id = value?.generation_id;
  useEffect(() => {
    if (!isLive || appId === undefined || id === undefined) return;
    const timer = setInterval(() => void reload(), POLL_MS);
    const stop = followEvents(inApp(appId, `/generations/${id}/events`), {
      onEvent: (event) => {
        if (event.type === 'progress') setProgress({ part: event.progress });
        else {
          setProgress({ position: event.position });
          void reload();
        }
      },
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [isLive, appId, id, reload]);
  return progress;
}
