import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { Caller } from '../../../core/access/credential.js';
import type { Cancellation } from '../../../core/cancellation.js';
import { ServiceError } from '../../../core/errors.js';
import type { Clock, Ids } from '../../../core/ports/machine.js';

/** How long a client, and the person in front of it, has to answer, in milliseconds. */
export const ANSWER_WITHIN_MS = 300_000;
/** Requests that are open at the same time: in all, of one account and of one credential. */
const MAX_OPEN = 1_000;
const MAX_OPEN_PER_ACCOUNT = 100;
const MAX_OPEN_PER_CREDENTIAL = 8;
const BUSY_RETRY_MS = 10_000;

/** Who is asked. */
export type Asked = Pick<Caller, 'accountId' | 'credentialId'>;

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
 * Requests that went to clients of the revisions of 2025, on the stream of a call. Their answers come with requests of
 * their own, and are taken by the process that asked.
 */
export class ClientRequests {
  private readonly open = new Map<string, OpenRequest>();

  constructor(private readonly parts: { readonly clock: Pick<Clock, 'after'>; readonly ids: Pick<Ids, 'uuid'> }) {}

  /**
   * The result that the client answers; undefined where it answers an error or nothing in time, and when the call is
   * over. Throws RATE_LIMITED if as many requests are open as there may be.
   */
  async ask({ method, params, asked, send, call }: ClientRequest): Promise<unknown> {
    this.requireRoom(asked);
    // A call that is over tells nobody so any more.
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

  /** Takes an answer from the one who was asked; any other answers nothing. */
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
