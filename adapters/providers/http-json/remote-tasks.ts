import type { ProviderCall, ProviderReport } from '../../../core/ports/provider.js';
import type { ProviderOpening } from '../../driver.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import type { ApiCalls } from './api-calls.js';
import { errorIn, failureOf, type AnswerError } from './error-meaning.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { costIn, outputsIn, progressIn, stateIn, stateWord } from './job-report.js';
import { MAX_JSON_BYTES, readAnswer, type ReadAnswer } from './read-answer.js';
import { shownWord } from './shown-words.js';
import { addressAt, idAt, type RemoteTask } from './task-reference.js';

/** An answer about a task, whose body may still have to be read. */
type Ended = Exclude<ProviderReport, { readonly state: 'running' | 'unknown' }>;

/** Answers of 4xx that are about the call, and not about the task. */
const ABOUT_THE_CALL: readonly number[] = [401, 403, 408, 425, 429];

/** Asks an API about tasks that it has taken. Throws `HttpError` for what is no answer. */
export class RemoteTasks {
  constructor(
    private readonly calls: ApiCalls,
    private readonly filesOf: (settings: HttpJsonSettings) => ResultFiles,
    private readonly about: Pick<ProviderOpening, 'instance' | 'log'>,
  ) {}

  async report(task: RemoteTask, settings: HttpJsonSettings, call: ProviderCall): Promise<ProviderReport> {
    const asked = await this.ask(task, settings, call);
    if (asked === undefined) return { state: 'unknown' };
    const filesAt = settings.result === undefined ? filesAtOf(settings) : undefined;
    const seen = await readAnswer(asked, filesAt);
    this.requireSame(asked, seen.json, task, settings);
    switch (stateIn(seen.json, settings)) {
      case 'queued':
      case 'running': {
        const progress = progressIn(seen.json, settings);
        return { state: 'running', ...(progress === undefined ? {} : { progress }) };
      }
      case 'succeeded':
        return this.succeeded(task, seen, settings, call);
      case 'failed':
        return this.failed(task, [seen.json], errorIn(seen.json, settings.errors), settings);
      case 'cancelled': {
        const outputs = settings.result === undefined ? outputsIn(seen, settings, this.filesOf(settings)) : undefined;
        return { state: 'cancelled', outputs: outputs ?? [], ...costIn([seen.json], settings) };
      }
      case 'unknown':
        return { state: 'unknown' };
      case undefined:
        throw asked.error('bad-answer', this.unlisted(stateWord(seen.json, settings.poll.state)));
    }
  }

  /** The answer that has the outputs of a task, to be read; undefined where there is no such task. */
  async answerWithOutputs(
    task: RemoteTask,
    settings: HttpJsonSettings,
    call: ProviderCall,
  ): Promise<HttpAnswer | undefined> {
    const { result } = settings;
    if (result === undefined || result.address !== undefined) {
      const asked = await this.ask(task, settings, call);
      if (asked === undefined || result === undefined) return asked;
      const { json } = await readAnswer(asked, undefined);
      return this.ok(await this.askResult(task, json, settings, call));
    }
    return this.ok(await this.askResult(task, undefined, settings, call));
  }

  async cancel({ id, cancel: address }: RemoteTask, settings: HttpJsonSettings, call: ProviderCall): Promise<void> {
    const { cancel } = settings;
    if (cancel === undefined || (cancel.path === undefined && address === undefined)) return;
    const { method } = cancel;
    const answer = await this.calls.ask(cancel, id, address, { signal: call.signal, method, settings });
    answer.discard();
    // One that has ended, or is not known, is left as it is.
    if (!answer.isOk && !cancel.ended_status.includes(answer.status))
      throw answer.error('bad-answer', `The answer to a cancel has status ${answer.status}.`);
  }

  /** Undefined where the API does not know the task. */
  private async ask(
    { id, poll: address }: RemoteTask,
    settings: HttpJsonSettings,
    { signal }: ProviderCall,
  ): Promise<HttpAnswer | undefined> {
    const answer = await this.calls.ask(settings.poll, id, address, { signal, settings });
    if (!settings.poll.unknown_status.includes(answer.status) || answer.declares !== 'json') return this.ok(answer);
    answer.discard();
    return undefined;
  }

  private async askResult(
    { id }: RemoteTask,
    state: unknown,
    settings: HttpJsonSettings,
    { signal }: ProviderCall,
  ): Promise<HttpAnswer> {
    const { result = {} } = settings;
    return this.calls.ask(result, id, addressAt(state, result.address, this.calls.places), { signal, settings });
  }

  private async succeeded(
    task: RemoteTask,
    seen: ReadAnswer,
    settings: HttpJsonSettings,
    call: ProviderCall,
  ): Promise<ProviderReport> {
    if (settings.result === undefined) return this.delivered(task, [seen], settings);
    const answer = await this.askResult(task, seen.json, settings, call);
    if (answer.isOk) return this.delivered(task, [seen, await readAnswer(answer, filesAtOf(settings))], settings);
    const error = await resultError(answer, settings);
    return this.failed(task, [seen.json], error, settings);
  }

  private delivered(task: RemoteTask, answers: readonly ReadAnswer[], settings: HttpJsonSettings): Ended {
    const cost = costIn(
      answers.map(({ json }) => json),
      settings,
    );
    const last = answers.at(-1);
    const outputs = last === undefined ? undefined : outputsIn(last, settings, this.filesOf(settings));
    if (outputs !== undefined && outputs.length > 0) return { state: 'succeeded', outputs, ...cost };
    const status = outputs === undefined ? 'outputs at an address that is not listed' : 'no outputs at output.at';
    this.about.log.warn('task failed at the provider', { provider: this.about.instance, task: task.id, status });
    // The settings may point elsewhere: asking again does not change that.
    return { state: 'failed', failure: { ...failure('broke'), mayRetry: false }, ...cost };
  }

  private failed(
    { id }: RemoteTask,
    answers: readonly unknown[],
    error: AnswerError,
    settings: HttpJsonSettings,
  ): Ended {
    const { errors } = settings;
    const cost = costIn(answers, settings);
    if (errors.cancelled_codes.some((code) => String(code) === error.code))
      return { state: 'cancelled', outputs: [], ...cost };
    const { log, instance } = this.about;
    const code = shownWord(error.code, this.calls.connection.credentials);
    log.warn('task failed at the provider', { provider: instance, task: id, status: error.status ?? 'failed', code });
    return { state: 'failed', failure: failureOf(errors, error), ...cost };
  }

  private ok(answer: HttpAnswer): HttpAnswer {
    if (answer.isOk) return answer;
    answer.discard();
    throw answer.error('bad-answer', `The answer about a task has status ${answer.status}.`);
  }

  private requireSame(answer: HttpAnswer, json: unknown, task: RemoteTask, settings: HttpJsonSettings): void {
    const { id } = settings.poll;
    if (id !== undefined && idAt(json, id, settings) !== task.id)
      throw answer.error('bad-answer', 'The answer at poll.id is not about the task that was asked for.');
  }

  private unlisted(word: string | undefined): string {
    if (word === undefined) return 'The answer has no state at poll.state.';
    const shown = shownWord(word, this.calls.connection.credentials);
    return `The state ${shown === undefined ? 'in the answer' : JSON.stringify(shown)} is in none of the lists of poll.states.`;
  }
}

function filesAtOf({ output }: HttpJsonSettings): string | undefined {
  return output.as === 'base64' ? output.at : undefined;
}

/**
 * Why a task that has ended has no result. Only an error that has a code is believed, and one of 5xx only with a listed
 * code: a result that is there must not be given up for a fault on the way. Throws `HttpError`.
 */
async function resultError(answer: HttpAnswer, { errors }: HttpJsonSettings): Promise<AnswerError> {
  const { status } = answer;
  if (answer.declares === 'json' && status >= 400 && !ABOUT_THE_CALL.includes(status)) {
    const error = errorIn(await answer.json(MAX_JSON_BYTES), errors, status);
    if (error.code !== undefined && (status < 500 || Object.hasOwn(errors.codes, error.code))) return error;
  } else answer.discard();
  throw answer.error('bad-answer', `The answer for a result has status ${status}.`);
}
