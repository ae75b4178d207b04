import { expect } from 'chai';
import type {
  Provider,
  ProviderCheck,
  ProviderCost,
  ProviderFailure,
  ProviderReport,
  SubmitAnswer,
} from '../../../core/ports/provider.js';

/** The answers and errors of providers within one test. */
export class Seen {
  private readonly texts: string[] = [];
  private readonly failures: ProviderFailure[] = [];
  private readonly costs: ProviderCost[] = [];
  private readonly references: string[] = [];
  private readonly sentences: string[] = [];
  private readonly closes: (() => void)[] = [];

  /** The same provider; its answers and errors are recorded. */
  watched(provider: Provider): Provider {
    return {
      capabilities: (settings) => provider.capabilities(settings),
      submit: async (submission, call) =>
        this.closable(await this.during(provider.submit(submission, call), (answer) => this.submitted(answer))),
      poll: (...args) => this.during(provider.poll(...args), (report) => this.reported(report)),
      output: (...args) => this.during(provider.output(...args)),
      cancel: (...args) => this.during(provider.cancel(...args)),
      recover: (...args) => this.during(provider.recover(...args), (answer) => this.noted(JSON.stringify(answer))),
      ...('check' in provider ? { check: (...args) => this.checked(provider.check?.(...args)) } : {}),
    };
  }

  /** Closes the answers that the test has not closed. */
  closeAnswers(): void {
    for (const close of this.closes) close();
  }

  /** An error that came later, such as one of the bytes of an output. */
  threw(error: unknown): void {
    let at = error;
    while (at instanceof Error) {
      this.noted(`${at.stack} ${at.message} ${JSON.stringify(at)}`);
      at = at.cause;
    }
    this.noted(JSON.stringify(at) ?? '');
  }

  noted(text: string): void {
    this.texts.push(text);
  }

  /** Checks all of it against the guarantees for every answer. `told` is the answers of the vendor's server. */
  expectRight(secret: string | undefined, told: readonly unknown[]): void {
    const words = told.flatMap(textsOf);
    if (secret !== undefined)
      for (const text of this.texts)
        expect(text.includes(secret), `the key is in: ${text.slice(0, 300)}`).to.equal(false);
    for (const { message, retryAfterMs } of this.failures) {
      expectForClients(message, words);
      if (retryAfterMs !== undefined) expect(retryAfterMs, 'a wait').to.be.at.least(0);
    }
    for (const sentence of this.sentences) expect(sentence).to.match(/^[^\n]{5,500}\.$/);
    for (const cost of this.costs) expectWhole(cost);
    for (const reference of this.references) expect(reference.length, 'of a reference').to.be.within(1, 1_000);
  }

  private async during<T>(work: Promise<T>, then: (answer: T) => void = () => undefined): Promise<T> {
    let answer: T;
    try {
      answer = await work;
    } catch (error) {
      this.threw(error);
      throw error;
    }
    then(answer);
    return answer;
  }

  private async checked(work: Promise<ProviderCheck> | undefined): Promise<ProviderCheck> {
    if (work === undefined) throw new Error('The provider has no check.');
    return this.during(work, ({ about = '', faults }) => {
      this.sentences.push(...faults);
      this.noted([about, ...faults].join(' '));
    });
  }

  private submitted(answer: SubmitAnswer): void {
    if ('cost' in answer && answer.cost !== undefined) this.costs.push(answer.cost);
    if (!answer.accepted) this.failures.push(answer.failure);
    else if ('reference' in answer) this.references.push(answer.reference);
    this.noted('outputs' in answer ? JSON.stringify(answer.cost ?? {}) : JSON.stringify(answer));
  }

  /** The same answer, which is closed once at most. */
  private closable(answer: SubmitAnswer): SubmitAnswer {
    if (!('outputs' in answer) || answer.close === undefined) return answer;
    let { close }: { close: () => void } = { close: answer.close };
    const once = () => {
      close();
      close = () => undefined;
    };
    this.closes.push(once);
    return { ...answer, close: once };
  }

  private reported(report: ProviderReport): void {
    if ('cost' in report && report.cost !== undefined) this.costs.push(report.cost);
    if (report.state === 'failed') this.failures.push(report.failure);
    this.noted(JSON.stringify(report));
  }
}

/** The texts in a vendor's answer that are too long to occur in our messages by chance. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= 12 ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** One sentence of our own that shows neither an address nor a path. */
function expectForClients(message: string, words: readonly string[]): void {
  expect(message).to.match(/^[A-Z][^\n]{4,200}\.$/);
  expect(message).to.not.match(/:\/\/|\d+\.\d+\.\d+\.\d+|localhost|(^|\s)[/\\]\w|[A-Z]:\\|Traceback|Error:/);
  for (const word of words) expect(message.includes(word), `the vendor's words are in: ${message}`).to.equal(false);
}

function expectWhole({ inputTokens, outputTokens, computeMs, money, billedUnitMicros }: ProviderCost): void {
  for (const count of [inputTokens, outputTokens, computeMs, money?.micros, billedUnitMicros])
    if (count !== undefined) expect(Number.isSafeInteger(count) && count >= 0, `the cost ${count}`).to.equal(true);
  if (money !== undefined) expect(money.currency).to.match(/^[A-Z]{3}$/);
}
