import { formOf, isYes, type Asking, type SpendingAnswer, type SpendingQuestion } from './asking.js';
import type { ClientRequest, ClientRequests } from './client-requests.js';
import type { Progress } from './progress.js';

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
