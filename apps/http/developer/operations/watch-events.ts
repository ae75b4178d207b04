import { appEvents } from '../../../../core/generation/app-events.js';
import { BEAT_MS, EVENT_SCHEMA, eventStream } from '../event-frames.js';
import type { ProtectedOperation } from '../operation.js';

export const watchEventsOperation: ProtectedOperation = {
  operationId: 'watchEvents',
  summary: 'Follow all generations of the App',
  description:
    "Server-sent events: what happens to the generations of the credential's App from now on, in order for each of them. After 15 seconds without an event, and at the beginning, the id of the place that was reached is sent alone. After an interruption send the id of the last event as `Last-Event-ID`: what has happened since then, and a little before, comes first. Events of the last day are kept so, may come twice, and none is missed.",
  status: 200,
  mediaType: 'text/event-stream',
  data: EVENT_SCHEMA,
  errors: [],
  canFollow: true,
  async answer({ context, caller, following }) {
    if (following === undefined) return { noContent: true };
    context.lastingCalls.requireRoomForApp(caller);
    const { lastEventId: after, until } = following;
    return eventStream(context, () => appEvents(context, caller, { after, until, beatMs: BEAT_MS }));
  },
};
