import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '../../../../../core/context.js';
import { ServiceError } from '../../../../../core/errors.js';
import { requireOperator } from '../../../../../core/people/operators.js';
import { asServiceError } from '../../../../requests/service-error.js';
import { Disconnect, WaitEnd } from '../../../host/disconnect.js';
import type { ConsoleParts } from '../../console-operation.js';
import { BooksCheck } from '../books-check.js';
import type { OperatorCall, OperatorOperation } from '../operator-operation.js';

/** How often it says how far the check is, and looks whether the operator still is one, in milliseconds. */
const TELL_EVERY_MS = 1_000;

/**
 * Recomputes every ledger while the page listens: a line of JSON a second says how far it is, and the last one what was
 * found. The check ends with the connection, with the session, and with this process.
 */
export const verifyBooks: OperatorOperation = {
  method: 'POST',
  path: '/verify',
  act: 'verify the books',
  async answer(parts, call) {
    const check = new BooksCheck(parts.context);
    const until = new WaitEnd(new Disconnect(call.ctx.res), parts);
    const listenNoMore = until.onOver(() => check.stop());
    if (until.isOver) check.stop();
    check.result.then(listenNoMore, listenNoMore);
    return {
      stream: () => lines(parts, call, check),
      mediaType: 'application/x-ndjson; charset=utf-8',
      // Of nginx: what is buffered comes too late.
      headers: { 'X-Accel-Buffering': 'no' },
    };
  },
};

async function* lines(parts: ConsoleParts, call: OperatorCall, check: BooksCheck): AsyncGenerator<string> {
  let outcome = 'stopped';
  try {
    let isRunning = true;
    while (isRunning) {
      yield lineOf(check.progress);
      isRunning = await isRunningAfter(TELL_EVERY_MS, check);
      if (isRunning && !(await isAllowed(parts, call))) check.stop();
    }
    const end = await endOf(parts.context, check);
    ({ outcome } = end);
    call.act.note(end.about);
    yield lineOf(end.said);
  } finally {
    check.stop();
    call.act.end(outcome);
  }
}

function isRunningAfter(delayMs: number, { result }: BooksCheck): Promise<boolean> {
  const isOver = () => false;
  return Promise.race([result.then(isOver, isOver), pause(delayMs, true, { ref: false })]);
}

/** Of a check that has ended: its outcome, what the log says of it, and what the page is told. */
async function endOf({ log }: Context, { result, progress }: BooksCheck) {
  try {
    const found = await result;
    if (found === null) return { outcome: 'stopped', about: {}, said: { ...progress, is_stopped: true } };
    return { outcome: 'done', about: { accounts: found.accounts, findings: found.findings.length }, said: found };
  } catch (error) {
    log.warn('books not checked', { error });
    const { code, message } = asServiceError(error);
    return { outcome: code, about: {}, said: { ...progress, fault: message } };
  }
}

/** A store that does not answer says nothing of the session. */
async function isAllowed({ context, sessions }: ConsoleParts, { ctx }: OperatorCall): Promise<boolean> {
  try {
    requireOperator(context, await sessions.require(ctx), 'read');
    return true;
  } catch (error) {
    return !(error instanceof ServiceError);
  }
}

function lineOf(said: object): string {
  return `${JSON.stringify(said)}\n`;
}
