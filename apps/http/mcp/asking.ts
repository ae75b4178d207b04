import type { ElicitRequestFormParams, InputRequiredResult } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../core/json.js';
import type { Clock, Digests } from '../../../core/ports/machine.js';
import type { ClientRequest, ClientRequests } from './client-requests.js';
import type { Progress } from './progress.js';

/** A question about credits for the person in front of the client. */
export interface SpendingQuestion {
  readonly message: string;
  readonly credits: number;
  /** All that the answer is for: the same answer counts for nothing else. */
  readonly subject: JsonObject;
}

/** `unable`: the client can ask nobody. `unanswered`: nobody answered in time. */
export type SpendingAnswer = 'yes' | 'no' | 'unable' | 'unanswered' | InputRequiredResult;

/** How the client of a call is asked. */
export interface Asking {
  confirm(question: SpendingQuestion): Promise<SpendingAnswer>;
}

export const UNABLE: Asking = { confirm: () => Promise.resolve('unable') };

const FIELD = 'confirm';

export function formOf({ message, credits }: SpendingQuestion): ElicitRequestFormParams {
  const field = { type: 'boolean', title: `Spend up to ${credits} credits` } as const;
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [FIELD]: field }, required: [FIELD] },
  };
}

/** What a client sent back for a form: anything but a clear yes is a no. */
export function isYes(response: unknown): boolean {
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

const ANSWER_WITHIN_MS = 600_000;

/** What came with a call that a client repeats. */
export interface Repeated {
  readonly responses: Readonly<Record<string, unknown>> | undefined;
  readonly state: unknown;
}

/**
 * Asks by an answer in place of the result: the client asks the person and repeats the call with what they said. The
 * state that goes with the question says for which request, which credential and how many credits it was, under a keyed
 * digest: no other yes is taken for this one.
 */
export class AskingByRepetition implements Asking {
  constructor(
    private readonly parts: {
      readonly digests: Digests;
      readonly clock: Pick<Clock, 'now'>;
      readonly credentialId: string;
    },
    private readonly repeated: Repeated,
  ) {}

  async confirm(question: SpendingQuestion): Promise<SpendingAnswer> {
    const response = this.repeated.responses?.[FIELD];
    if (response !== undefined && this.isFor(question)) return isYes(response) ? 'yes' : 'no';
    const expiresAt = this.parts.clock.now() + ANSWER_WITHIN_MS;
    return {
      resultType: 'input_required',
      inputRequests: { [FIELD]: { method: 'elicitation/create', params: formOf(question) } },
      requestState: this.sealed(question, question.credits, expiresAt),
    };
  }

  /** A yes to more credits is one to fewer. */
  private isFor(question: SpendingQuestion): boolean {
    const { state } = this.repeated;
    if (typeof state !== 'string') return false;
    const [credits, expiresAt] = state.split('.').map(Number);
    if (credits === undefined || expiresAt === undefined) return false;
    return (
      credits >= question.credits &&
      expiresAt > this.parts.clock.now() &&
      state === this.sealed(question, credits, expiresAt)
    );
  }

  private sealed({ subject }: SpendingQuestion, credits: number, expiresAt: number): string {
    const { digests, credentialId } = this.parts;
    const bound = digests.ofJson({ credentialId, subject, credits, expiresAt });
    return `${credits}.${expiresAt}.${digests.keyed(`spending confirmed over MCP ${bound}`)}`;
  }
}

export interface AskingOnStreamParts extends Pick<ClientRequest, 'asked' | 'send' | 'call'> {
  readonly requests: ClientRequests;
  readonly progress: Progress;
}

/** Asks on the stream of the call, which waits for the answer. */
export class AskingOnStream implements Asking {
  constructor(private readonly parts: AskingOnStreamParts) {}

  async confirm(question: SpendingQuestion): Promise<SpendingAnswer> {
    const { requests, progress, ...call } = this.parts;
    const asked = requests.ask({ ...call, method: 'elicitation/create', params: { ...formOf(question) } });
    const result = await progress.during('waiting for a person to confirm', asked);
    if (result === undefined) return 'unanswered';
    return isYes(result) ? 'yes' : 'no';
  }
}
