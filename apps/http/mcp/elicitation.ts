import type { ElicitRequestFormParams, InputRequiredResult, JSONRPCRequest } from '@modelcontextprotocol/server';
import type { Caller } from '../../../core/access/credential.js';
import type { Cancellation } from '../../../core/cancellation.js';
import { creditsText } from '../../../core/credits/account.js';
import { ServiceError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { Clock, Digests, Ids } from '../../../core/ports/machine.js';

/** A question about credits for the person in front of the client. */
export interface SpendingQuestion {
  readonly message: string;
  readonly credits: number;
  /** All that the answer is for: the same answer counts for nothing else. */
  readonly subject: JsonObject;
}

/** `unable`: the client cannot ask anyone. `unanswered`: no one responded in time. */
export type SpendingAnswer = 'yes' | 'no' | 'unable' | 'unanswered' | InputRequiredResult;

/** Asks the client of a call. */
export type Confirm = (question: SpendingQuestion) => Promise<SpendingAnswer>;

const FIELD = 'confirm';

function formOf({ message, credits }: SpendingQuestion): ElicitRequestFormParams {
  const field = { type: 'boolean', title: `Spend up to ${creditsText(credits)}` } as const;
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [FIELD]: field }, required: [FIELD] },
  };
}

/** Whether a client's response to a form is a yes: anything but a clear yes is a no. */
function isYes(response: unknown): boolean {
  if (typeof response !== 'object' || response === null) return false;
  const { action, content } = response as { readonly action?: unknown; readonly content?: unknown };
  return (
    action === 'accept' &&
    typeof content === 'object' &&
    content !== null &&
    (content as Record<string, unknown>)[FIELD] === true
  );
}

/** Whether a client's capabilities say that it can show a form. Without a mode they mean a form. */
export function canShowForms(capabilities: unknown): boolean {
  if (typeof capabilities !== 'object' || capabilities === null) return false;
  const { elicitation } = capabilities as { readonly elicitation?: unknown };
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  return 'form' in elicitation || !('url' in elicitation);
}

const REPETITION_WITHIN_MS = 600_000;

/** The state that a client sends with a call that it repeats. */
interface Repeated {
  readonly responses: Readonly<Record<string, unknown>> | undefined;
  readonly state: unknown;
}

/**
 * Asks by an answer in place of the result: the client asks the person and repeats the call with what they said. The
 * state that goes with the question says for which request, which credential and how many credits it was, under a keyed
 * digest: no other yes is taken for this one.
 */
export function confirmByRepetition(
  { digests, clock }: { readonly digests: Digests; readonly clock: Pick<Clock, 'now'> },
  credentialId: string,
  { responses, state }: Repeated,
): Confirm {
  const sealed = ({ subject }: SpendingQuestion, credits: number, expiresAt: number): string => {
    const bound = digests.ofJson({ credentialId, subject, credits, expiresAt });
    return `${credits}.${expiresAt}.${digests.keyed(`spending confirmed over MCP ${bound}`)}`;
  };
  /** Whether the response is to this question. A yes to more credits is one to fewer. */
  const isFor = (question: SpendingQuestion): boolean => {
    if (typeof state !== 'string') return false;
    const [credits, expiresAt] = state.split('.').map(Number);
    if (credits === undefined || expiresAt === undefined) return false;
    return credits >= question.credits && expiresAt > clock.now() && state === sealed(question, credits, expiresAt);
  };
  return async (question) => {
    const response = responses?.[FIELD];
    if (response !== undefined && isFor(question)) return isYes(response) ? 'yes' : 'no';
    return {
      resultType: 'input_required',
      inputRequests: { [FIELD]: { method: 'elicitation/create', params: formOf(question) } },
      requestState: sealed(question, question.credits, clock.now() + REPETITION_WITHIN_MS),
    };
  };
}

/** Asks on the stream of the call, which waits for the answer. */
export function confirmOnStream(
  requests: ClientRequests,
  progress: Progress,
  call: Pick<ClientRequest, 'asked' | 'send' | 'call'>,
): Confirm {
  return async (question) => {
    const asked = requests.ask({ ...call, method: 'elicitation/create', params: { ...formOf(question) } });
    const result = await progress.during('waiting for a person to confirm', asked);
    if (result === undefined) return 'unanswered';
    return isYes(result) ? 'yes' : 'no';
  };
}

/** How long a client, and the person in front of it, has to answer, in milliseconds. */
export const ANSWER_WITHIN_MS = 300_000;
/** Requests that are open at the same time: in all, of one account and of one credential. */
const MAX_OPEN = 1_000;
const MAX_OPEN_PER_ACCOUNT = 100;
const MAX_OPEN_PER_CREDENTIAL = 8;
const BUSY_RETRY_MS = 10_000;

/** The credential that is asked. */
type Asked = Pick<Caller, 'accountId' | 'credentialId'>;

interface OpenRequest {
  readonly asked: Asked;
  readonly answer: (result: unknown) => void;
}

/** A JSON-RPC response, as a client posts it. */
export interface PostedResponse {
  readonly id: string | number;
  /** Absent from an error. */
  readonly result?: unknown;
}

/** A request to a client, and the call on whose stream it goes. */
export interface ClientRequest extends Pick<JSONRPCRequest, 'method' | 'params'> {
  readonly asked: Asked;
  readonly send: (request: JSONRPCRequest) => Promise<void>;
  readonly call: Cancellation;
}

/**
 * Requests sent to clients of the 2025 revisions, on the stream of a call. Their responses arrive in separate
 * requests, and are accepted by the process that asked.
 */
export class ClientRequests {
  private readonly open = new Map<string, OpenRequest>();

  constructor(private readonly parts: { readonly clock: Pick<Clock, 'after'>; readonly ids: Pick<Ids, 'uuid'> }) {}

  /**
   * The client's result; undefined if it returns an error or does not respond in time, and when the call is over.
   * Throws RATE_LIMITED if the maximum number of requests is open.
   */
  async ask({ method, params, asked, send, call }: ClientRequest): Promise<unknown> {
    this.requireRoom(asked);
    // A call that is already over no longer notifies its `onOver` listeners.
    if (call.isOver) return undefined;
    const id = this.parts.ids.uuid();
    return new Promise((resolve) => {
      const answer = (result: unknown): void => {
        this.open.delete(id);
        cancelTimer();
        listenNoMore();
        resolve(result);
      };
      const give = (): void => answer(undefined);
      const cancelTimer = this.parts.clock.after(ANSWER_WITHIN_MS, give);
      const listenNoMore = call.onOver(give);
      this.open.set(id, { asked, answer });
      send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }).catch(give);
    });
  }

  /** Accepts a response only from the client that was asked; others have no effect. */
  take(credentialId: string, { id, result }: PostedResponse): void {
    const request = this.open.get(String(id));
    if (request?.asked.credentialId === credentialId) request.answer(result);
  }

  private requireRoom({ accountId, credentialId }: Asked): void {
    const open = [...this.open.values()].filter(({ asked }) => asked.accountId === accountId);
    const ofCredential = open.filter(({ asked }) => asked.credentialId === credentialId);
    if (
      this.open.size >= MAX_OPEN ||
      open.length >= MAX_OPEN_PER_ACCOUNT ||
      ofCredential.length >= MAX_OPEN_PER_CREDENTIAL
    )
      throw new ServiceError('RATE_LIMITED', 'Too many questions are open; answer them, or try again later.', {
        retryAfterMs: BUSY_RETRY_MS,
      });
  }
}

/** How often progress is reported for a call, in milliseconds: many clients time out on silent calls. */
const PROGRESS_EVERY_MS = 5_000;

type Send = (progress: { readonly progress: number; readonly message: string }) => Promise<void>;

/** Reports the progress of a call to its client, if the client asked for that. */
export class Progress {
  private steps = 0;
  private toldAt = -Infinity;
  private told = '';

  constructor(
    private readonly clock: Pick<Clock, 'now' | 'after'>,
    private readonly send: Send | undefined,
  ) {}

  /** Reports a new message at once, and the same message at intervals. */
  report(message: string): void {
    const now = this.clock.now();
    if (this.send === undefined || (message === this.told && now - this.toldAt < PROGRESS_EVERY_MS)) return;
    this.steps += 1;
    this.told = message;
    this.toldAt = now;
    // The client may have disconnected.
    this.send({ progress: this.steps, message }).catch(() => undefined);
  }

  /** Reports the same for as long as the work takes. */
  async during<T>(message: string, work: Promise<T>): Promise<T> {
    let cancelTimer: () => void = () => undefined;
    const repeat = (): void => {
      this.report(message);
      cancelTimer = this.clock.after(PROGRESS_EVERY_MS, repeat);
    };
    repeat();
    return work.finally(() => cancelTimer());
  }
}
