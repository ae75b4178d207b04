import { ServiceError } from '../../../core/errors.js';
import { readBody as checkBody, type BodySchema } from '../../../core/fields.js';
import { RateLimit } from '../../requests/rate-limit.js';
import type { StreamedAnswer } from '../host/answer.js';
import { readBody } from '../host/read-body.js';
import type { HttpHandler } from '../host/routing.js';
import { sendAnswer } from '../host/send.js';
import { requireSameOrigin } from '../pages/same-origin.js';
import { withoutChallenge } from '../pages/without-challenge.js';
import type { ConsoleOperation, ConsoleParts } from './console-operation.js';

const MAX_BODY_BYTES = 16 * 1024;
const EMPTY: BodySchema = { type: 'object', additionalProperties: false, properties: {} };
const PER_MINUTE = { GET: 300, POST: 60 } as const;

/** What one person may ask of this process in a minute: reads, and changes. */
export type ConsoleRates = Readonly<Record<ConsoleOperation['method'], RateLimit>>;

export function createConsoleRates(): ConsoleRates {
  return { GET: new RateLimit(PER_MINUTE.GET), POST: new RateLimit(PER_MINUTE.POST) };
}

/**
 * The checks of a request of the page, in order, and then its operation. The session is looked up last, so that it has
 * not ended while the body arrived. A credential of the API counts for nothing here.
 */
export function serveConsole(operation: ConsoleOperation, parts: ConsoleParts, rates: ConsoleRates): HttpHandler {
  const { method, body: taken = { schema: EMPTY } } = operation;
  return async (ctx) => {
    const { req, state } = ctx;
    state.renderError = withoutChallenge;
    if (method === 'POST') requireSameOrigin(ctx, parts.publicUrl());
    const sent =
      method === 'POST'
        ? await readBody(req, { required: true, maxBytes: MAX_BODY_BYTES, timeoutMs: parts.bodyTimeoutMs })
        : {};
    const signedIn = await parts.sessions.require(ctx);
    const { accountId, personId } = signedIn.person;
    state.caller = { accountId, credentialId: personId };
    await takeOf(rates[method], personId);
    operation.admit?.(parts, signedIn);
    const body = checkBody<object>(parts.context, taken.schema, sent, taken.wording);
    const answer = await operation.answer(parts, { ctx, signedIn, body });
    // Changes have a line in the log.
    state.hasCreated = method === 'POST';
    await sendAnswer(ctx, 200, isStreamed(answer) ? answer : { data: answer });
  };
}

function isStreamed(answer: object): answer is StreamedAnswer {
  return 'stream' in answer && typeof answer.stream === 'function';
}

async function takeOf(limit: RateLimit, personId: string): Promise<void> {
  const { isOver, resetMs } = await limit.take(personId);
  if (isOver)
    throw new ServiceError('RATE_LIMITED', 'These were too many requests; wait a moment and try again.', {
      retryAfterMs: resetMs,
    });
}
