import { loggedIds } from '../../logging/logged-fields.js';
import { prefersCsv } from '../host/accept.js';
import type { Answer, NoContent, StreamedAnswer } from '../host/answer.js';
import type { HttpContext } from '../host/http-context.js';
import type { RoutedContext } from '../host/routing.js';
import type { Access } from './access.js';
import { preferredWait } from '../host/prefer.js';
import { headerText } from '../host/request-headers.js';
import { RequestWait } from '../host/request-wait.js';
import { BEAT_MS } from './event-frames.js';
import { sendAnswer } from '../host/send.js';
import type { HttpShared } from '../host/server.js';
import type { Call, ProtectedOperation } from './operation.js';

interface AnsweringParts extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly access: Access;
}

/**
 * Answers a request that passed its checks. An operation that can wait does so where the client prefers it, and one that
 * streams events goes on for as long as the client listens and its credential is valid.
 */
export async function answerOperation(
  ctx: RoutedContext,
  operation: ProtectedOperation,
  call: Call,
  parts: AnsweringParts,
): Promise<void> {
  const { req, res } = ctx;
  const seconds = operation.canWait === true ? preferredWait(req) : undefined;
  if (seconds === undefined && operation.canFollow !== true) {
    if (operation.hasCsv === true) res.setHeader('Vary', 'Accept');
    const answer = await operation.answer(operation.hasCsv === true ? { ...call, wantsCsv: prefersCsv(req) } : call);
    noteCreated(ctx, answer);
    return sendAnswer(ctx, operation.status, answer);
  }
  const lasting = answerLasting(ctx, operation, call, seconds, parts);
  if (seconds === undefined) return lasting;
  ctx.state.later = lasting;
}

/** The answer to a request that waits so many seconds, or that streams events for as long as its client listens. */
async function answerLasting(
  ctx: RoutedContext,
  operation: ProtectedOperation,
  call: Call,
  seconds: number | undefined,
  parts: AnsweringParts,
): Promise<void> {
  const { access } = parts;
  const { req, res } = ctx;
  const until = new RequestWait(ctx, parts, (tell) => access.follow(ctx, tell));
  try {
    const answer = await operation.answer({
      ...call,
      ...(seconds === undefined
        ? { following: { lastEventId: headerText(req, 'last-event-id'), until } }
        : { wait: { waitMs: seconds * 1_000, until } }),
    });
    noteCreated(ctx, answer);
    // It may have waited long, and the credential have been revoked meanwhile.
    await access.authenticate(ctx);
    if (seconds !== undefined) res.setHeader('Preference-Applied', `wait=${seconds}`);
    else if ('stream' in answer) until.streams(BEAT_MS);
    await sendAnswer(ctx, operation.status, answer);
  } finally {
    until.end();
  }
}

function noteCreated({ state }: HttpContext, answer: Answer | StreamedAnswer | NoContent): void {
  if (!('createdId' in answer)) return;
  state.hasCreated = true;
  state.ids = loggedIds({ generationId: answer.createdId });
}
