import { EVENT_TYPES, type TaskEvent } from './api-types.js';
import { addressOf } from './server.js';

interface Follower {
  readonly onEvent: (event: TaskEvent) => void;
  /** Called when the stream opens or reopens; events in between may have been missed. */
  readonly onOpen?: () => void;
  /** Called when the server refused the stream, or reports that nothing follows. */
  readonly onOver?: () => void;
}

/**
 * Follows a stream of events until the returned function is called. A hidden page follows nothing, because browsers
 * allow few connections to a server, whatever the number of its pages. The browser reopens a lost connection and
 * continues where it was.
 */
export function followEvents(path: string, { onEvent, onOpen, onOver }: Follower): () => void {
  let source: EventSource | undefined;
  let isOver = false;
  const close = (): void => {
    source?.close();
    source = undefined;
  };
  const open = (): void => {
    if (source !== undefined || isOver || document.hidden) return;
    const opened = new EventSource(addressOf(path));
    source = opened;
    opened.addEventListener('open', () => onOpen?.());
    opened.addEventListener('error', () => {
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
      isOver = true;
      onOver?.();
    });
    for (const type of EVENT_TYPES)
      opened.addEventListener(type, ({ data }) => {
        const event = JSON.parse(data as string) as TaskEvent;
        onEvent(event);
      });
  };
  const look = (): void => (document.hidden ? close() : open());
  document.addEventListener('visibilitychange', look);
  open();
  return () => {
    isOver = true;
    close();
    document.removeEventListener('visibilitychange', look);
  };
}
