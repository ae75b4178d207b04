import type { Answer, Exchange, Request } from '../history/history.js';

type Open = { -readonly [M in keyof Exchange]: Exchange[M] };

/** Writes down what clients send and are answered, by one clock that never goes back and agrees with the machine's. */
export class Recorder {
  readonly exchanges: Open[] = [];
  /** When requests that were sent after it first succeeded; undefined until one has. */
  private watch: { readonly since: number; firstAt: number | undefined } | undefined;

  now(): number {
    return performance.timeOrigin + performance.now();
  }

  /**
   * Does the asking. Whatever it throws is no answer: the network, a process that died, a client that waited too long.
   */
  async note(
    about: Pick<Exchange, 'by' | 'through' | 'request'>,
    ask: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const exchange: Open = { ...about, sentAt: this.now() };
    this.exchanges.push(exchange);
    try {
      const answer = await ask();
      exchange.answered = { at: this.now(), answer };
      if (this.watch && answer.status < 300 && exchange.sentAt >= this.watch.since) this.watch.firstAt ??= this.now();
      return answer;
    } catch {
      return undefined;
    }
  }

  /** From now on: `firstSuccessMs` is how long after this call the first request sent after it succeeded. */
  watchForSuccess(): { firstSuccessMs(): number | undefined } {
    const watch = { since: this.now(), firstAt: undefined };
    this.watch = watch;
    return { firstSuccessMs: () => (watch.firstAt === undefined ? undefined : watch.firstAt - watch.since) };
  }

  /** Requests of one operation that some App sent, by their key. */
  sent<O extends Request['operation']>(
    operation: O,
  ): (Exchange & { readonly request: Extract<Request, { readonly operation: O }> })[] {
    return this.exchanges.flatMap((exchange) => (isOf(exchange, operation) ? [exchange] : []));
  }
}

function isOf<O extends Request['operation']>(
  exchange: Exchange,
  operation: O,
): exchange is Exchange & { readonly request: Extract<Request, { readonly operation: O }> } {
  return exchange.request.operation === operation;
}
