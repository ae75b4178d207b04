import { setTimeout as pause } from 'node:timers/promises';
import { CallOver, type Cancellation } from '../../../../core/cancellation.js';
import type { Machine, Money, Work } from '../../../../core/context.js';
import { listEntries } from '../../../../core/credits/operate.js';
import { type Verification, verifyCredits, type VerifyProgress } from '../../../../core/credits/verify.js';
import { ServiceError } from '../../../../core/errors.js';
import { requireOperator } from '../../../../core/people/operators.js';
import { cursorOf, tokenOf } from '../../../page-token.js';
import { asServiceError } from '../../../service-errors.js';
import { bodySchema } from '../../host/request.js';
import type { StreamedAnswer } from '../../host/send.js';
import { Disconnect, ServedWait } from '../../host/wait.js';
import { change, changeWith, type OperatorCall, type OperatorOperation, read } from './operator-operation.js';

const PREFIX = 'operator';
const OURS = /^operator:([0-9a-f-]{36}):[0-9a-f-]{36}$/;

/**
 * The id of a grant or an adjustment in the ledger: it names the operator for good, and one operator's page takes no id of
 * another's, or of the command line's. Clients are not shown it.
 */
function operationIdOf(personId: string, sentId: string): string {
  return `${PREFIX}:${personId}:${sentId.toLowerCase()}`;
}

/** The person who made the entry in the operator's area; undefined for all other entries. */
function operatorOf(operationId: string | undefined): string | undefined {
  return OURS.exec(operationId ?? '')?.[1];
}

/** Core has the rules; this keeps out what no page sends. */
const OPERATION = bodySchema({
  operation_id: { type: 'string', format: 'uuid' },
  credits: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  reason: { type: 'string', minLength: 1, maxLength: 1_000, pattern: '\\S' },
});

const WORDING = {
  '/credits': 'Credits are a whole number.',
  '/reason': 'A reason must have 1 to 1,000 characters.',
} as const;

/** Happens once under the id that the page sends, however often it is sent. */
function creditOperation(path: string, act: string, make: 'grantCredits' | 'adjustCredits'): OperatorOperation {
  return changeWith(
    `/accounts/:account_id/${path}`,
    act,
    OPERATION,
    async ({ id, signedIn, operator, body: { operation_id: sentId, credits, reason }, act: record }) => {
      const operationId = operationIdOf(signedIn.person.personId, sentId);
      record.note({ credits, operationId });
      const operated = await operator.credits[make]({ accountId: id, operationId, credits: BigInt(credits), reason });
      record.note({ isRepeated: operated.earlierTime !== undefined });
      return operated;
    },
    WORDING,
  );
}

/** The ledger of an account, the newest entry first, with the operators who made entries here. */
async function listLedger({ id, context, operator, page, json }: OperatorCall): Promise<object> {
  const { account } = await operator.access.getAccount({ accountId: id });
  const accountId = account?.accountId ?? '';
  const list = `newest entries of ${accountId}`;
  const { entries, nextCursor } = await listEntries(context, { accountId }, cursorOf(page, list, 'cursor'));
  const ids = new Set(entries.flatMap(({ entry }) => operatorOf(entry.operationId) ?? []));
  const people = await Promise.all([...ids].map((personId) => context.people.read(personId, context.call)));
  const emails = new Map(people.flatMap((person) => (person === null ? [] : [[person.personId, person.email]])));
  return {
    entries: entries.map(({ entry, availableChange, credentialName }) => ({
      ...json.entryJson(entry),
      available_change: availableChange,
      credential_name: credentialName,
      operator_email: emails.get(operatorOf(entry.operationId) ?? ''),
    })),
    next_cursor: tokenOf(list, nextCursor),
  };
}

/** The maximum duration of one check, in milliseconds. */
const LONGEST_MS = 3_600_000;
/** The longest single pause, in milliseconds. */
const LONGEST_REST_MS = 1_000;

/**
 * The stores of this process whose books are being checked. They allow one check at a time, because each check reads
 * everything.
 */
const checked = new WeakSet<Money['accounts']>();

/**
 * One check of the books of all accounts, from its creation on. After each page that it has read, and every 500 items
 * that it has compared, it pauses for as long as that took, so that it uses at most half of a processor and other
 * requests are served in between.
 */
class BooksCheck implements Cancellation {
  readonly deadline = Infinity;
  /** The items examined so far. */
  progress: VerifyProgress = { accounts: 0, entries: 0, generations: 0 };
  /** The result; null for a check that was stopped. Rejects with the errors of stores. */
  readonly result: Promise<Verification | null>;
  private readonly told = new Set<() => void>();
  private isStopped = false;

  /** Throws CONFLICT while another check runs over the same stores in this process. */
  constructor(private readonly context: Money & Work & Machine) {
    if (checked.has(context.accounts))
      throw new ServiceError('CONFLICT', 'This process checks the books already; wait until that check has ended.');
    checked.add(context.accounts);
    this.result = this.run();
    // The caller may have disconnected, so nobody may handle the rejection.
    this.result.catch(() => undefined);
  }

  get isOver(): boolean {
    return this.isStopped;
  }

  onOver(tell: () => void): () => void {
    this.told.add(tell);
    return () => this.told.delete(tell);
  }

  /** It ends with the page that it reads or compares. */
  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    for (const tell of this.told) tell();
  }

  private async run(): Promise<Verification | null> {
    const startedAt = performance.now();
    let resumedAt = startedAt;
    const rest = async (progress: VerifyProgress): Promise<void> => {
      this.progress = progress;
      await pause(Math.min(LONGEST_REST_MS, Math.ceil(performance.now() - resumedAt)));
      resumedAt = performance.now();
      if (resumedAt - startedAt > LONGEST_MS) this.stop();
      if (this.isStopped) throw new CallOver();
    };
    try {
      return await verifyCredits({ ...this.context, call: this }, rest);
    } catch (error) {
      if (error instanceof CallOver) return null;
      throw error;
    } finally {
      checked.delete(this.context.accounts);
    }
  }
}

/** How often it says how far the check is, and looks whether the operator still is one, in milliseconds. */
const TELL_EVERY_MS = 1_000;

/**
 * Recomputes every ledger while the page listens: a line of JSON a second says how far it is, and the last one what was
 * found. The check ends with the connection, with the session, and with this process.
 */
async function verifyBooks(call: OperatorCall): Promise<StreamedAnswer> {
  const check = new BooksCheck(call.context);
  const until = new ServedWait(new Disconnect(call.ctx.res), call.parts);
  const listenNoMore = until.onOver(() => check.stop());
  if (until.isOver) check.stop();
  check.result.then(listenNoMore, listenNoMore);
  return {
    stream: () => lines(call, check),
    mediaType: 'application/x-ndjson; charset=utf-8',
    // Tells nginx not to buffer the stream, because buffered lines arrive too late.
    headers: { 'X-Accel-Buffering': 'no' },
  };
}

async function* lines(call: OperatorCall, check: BooksCheck): AsyncGenerator<string> {
  let outcome = 'stopped';
  try {
    let isRunning = true;
    while (isRunning) {
      yield lineOf(check.progress);
      isRunning = await isRunningAfter(TELL_EVERY_MS, check);
      if (isRunning && !(await isAllowed(call))) check.stop();
    }
    const end = await endOf(call.context, check);
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

/** The end of a check: its outcome, its details for the log, and the last line for the page. */
async function endOf({ log }: Machine, { result, progress }: BooksCheck) {
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
async function isAllowed({ context, parts, ctx }: OperatorCall): Promise<boolean> {
  try {
    requireOperator(context, await parts.sessions.require(ctx), 'read');
    return true;
  } catch (error) {
    return !(error instanceof ServiceError);
  }
}

function lineOf(said: object): string {
  return `${JSON.stringify(said)}\n`;
}

/** The ledger of an account, and the check of all books. */
export const CREDIT_OPERATIONS: readonly OperatorOperation[] = [
  read('/accounts/:account_id/entries', 'read the ledger of an account', listLedger),
  creditOperation('grants', 'grant credits', 'grantCredits'),
  creditOperation('adjustments', 'adjust credits', 'adjustCredits'),
  change('/verify', 'verify the books', verifyBooks),
];
