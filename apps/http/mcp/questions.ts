import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { Cancellation } from '../../../core/cancellation.js';
import type { Clock } from '../../../core/ports/clock.js';
import type { Ids } from '../../../core/ports/ids.js';
import { formOf, isYes, type Asking, type SpendingAnswer, type SpendingQuestion } from './asking.js';
import type { Progress } from './progress.js';

/** How long a person has to answer, in milliseconds. */
export const ANSWER_WITHIN_MS = 300_000;
/** Questions that are open at the same time, in all and of one credential. */
const MAX_OPEN = 1_000;
const MAX_OPEN_PER_CREDENTIAL = 8;

interface OpenQuestion {
  readonly credentialId: string;
  readonly answer: (given: SpendingAnswer) => void;
}

/** A JSON-RPC response, as a client posts it. */
export interface PostedResponse {
  readonly id: string | number;
  readonly result?: unknown;
}

/**
 * Questions that went to clients of the revisions of 2025 on the stream of a call. Their answers come with requests of
 * their own, and are taken by the process that asked.
 */
export class Questions {
  private readonly open = new Map<string, OpenQuestion>();

  constructor(private readonly parts: { readonly clock: Pick<Clock, 'after'>; readonly ids: Pick<Ids, 'uuid'> }) {}

  /**
   * Sends the question, and waits for its answer until the call is over. `unable` while as many questions are open as
   * there may be.
   */
  ask(
    question: SpendingQuestion,
    { credentialId, send, call }: Pick<AskingOnStreamParts, 'credentialId' | 'send' | 'call'>,
  ): Promise<SpendingAnswer> {
    const open = [...this.open.values()].filter((one) => one.credentialId === credentialId).length;
    if (this.open.size >= MAX_OPEN || open >= MAX_OPEN_PER_CREDENTIAL) return Promise.resolve('unable');
    const id = this.parts.ids.uuid();
    return new Promise((resolve) => {
      const answer = (given: SpendingAnswer): void => {
        this.open.delete(id);
        cancelTimer();
        listenNoMore();
        resolve(given);
      };
      const unanswered = (): void => answer('unanswered');
      const cancelTimer = this.parts.clock.after(ANSWER_WITHIN_MS, unanswered);
      const listenNoMore = call.onOver(unanswered);
      this.open.set(id, { credentialId, answer });
      send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { ...formOf(question) } }).catch(unanswered);
    });
  }

  /** Takes an answer from the one who was asked; any other answers nothing. An error in place of an answer is a no. */
  take(credentialId: string, { id, result }: PostedResponse): void {
    const question = this.open.get(String(id));
    if (question?.credentialId === credentialId) question.answer(isYes(result) ? 'yes' : 'no');
  }
}

export interface AskingOnStreamParts {
  readonly questions: Questions;
  readonly credentialId: string;
  /** Sends a request of ours on the stream of the call. */
  readonly send: (request: JSONRPCRequest) => Promise<void>;
  readonly call: Cancellation;
  readonly progress: Progress;
}

/** Asks on the stream of the call, which waits for the answer. */
export class AskingOnStream implements Asking {
  constructor(private readonly parts: AskingOnStreamParts) {}

  confirm(question: SpendingQuestion): Promise<SpendingAnswer> {
    const { questions, progress } = this.parts;
    return progress.during('waiting for a person to confirm', questions.ask(question, this.parts));
  }
}
