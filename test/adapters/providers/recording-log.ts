import type { Log } from '../../../core/log.js';

/** A log, and all that was written to it as JSON. */
export function recordingLog(): { readonly log: Log; readonly logged: () => string } {
  const lines: string[] = [];
  const note = (event: string, about: object) => void lines.push(JSON.stringify({ event, ...about }));
  return { log: { info: note, warn: note }, logged: () => lines.join('\n') };
}
