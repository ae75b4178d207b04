import type { ProviderCall, ProviderReport } from '../../../core/ports/provider.js';
import type { ProviderOpening } from '../../driver.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import type { ApiCalls } from './api-calls.js';
import { type AnswerError, errorIn, failureOf, isAboutAccount, isAboutContent, meaningOf } from './error-meaning.js';
import { ABOUT_THE_CALL, callFailed, errorOf, isOfApi, resultError } from './failed-calls.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { costIn, isAnythingAt, outputsIn, progressIn, stateIn, stateWord } from './job-report.js';
import type { PathValues } from './path-template.js';
import { readAnswer, type ReadAnswer } from './read-answer.js';
import { listedCode, shownWord } from './shown-words.js';
import { addressAt, idAt, type RemoteTask, resultIdAt } from './task-reference.js';

/** An answer about a task, whose body may still have to be read. */
type Ended = Exclude<ProviderReport, { readonly state: 'running' | 'unknown' }>;

/** Asks an API about tasks that it has taken. Throws `HttpError` with `FailedCallHints` for what says nothing of the task. */
export class RemoteTasks {
  constructor(
    private readonly calls: ApiCalls,
    private readonly filesOf: (settings: HttpJsonSettings) => ResultFiles,
    private readonly about: Pick<ProviderOpening, 'instance' | 'log'>,
  ) {}

  async report(task: RemoteTask, settings: HttpJsonSettings, call: ProviderCall): Promise<ProviderReport> {
    const asked = await this.ask(task, settings, call);
    if (asked === undefined) return { state: 'unknown' };
    if (!asked.isOk) return this.refused(task, asked, await errorOf(asked, settings), settings);
    const filesAt = settings.result === undefined ? filesAtOf(settings) : undefined;
    const seen = await readAnswer(asked, filesAt);
    const state = stateIn(seen.json, settings);
    const word = stateWord(seen.json, settings.poll.state);
    if (state === undefined && word === undefined) {
      const error = errorIn(seen.json, settings.errors, asked.status);
      if (error.code !== undefined || error.policy !== undefined) return this.refused(task, asked, error, settings);
    }
    requireSame(asked, seen.json, task, settings);
    switch (state) {
      case 'queued':
      case 'running':
        return runningBy(seen.json, settings);
      case 'succeeded':
        return this.succeeded(task, asked, seen, settings, call);
      case 'failed':
        return this.failed(task, [seen.json], errorIn(seen.json, settings.errors), settings);
      case 'cancelled': {
        const outputs = settings.result === undefined ? outputsIn(seen, settings, this.filesOf(settings)) : undefined;
        return { state: 'cancelled', outputs: outputs ?? [], ...costIn([seen.json], settings) };
      }
      case 'unknown':
        return { state: 'unknown' };
      case undefined: {
        if (word === undefined) throw callFailed(asked, 'The answer has no state at poll.state.');
        const unknownStatus = shownWord(word, this.calls.connection.credentials) ?? 'a state that is not shown';
        return { ...runningBy(seen.json, settings), unknownStatus };
      }
    }
  }

  /** The unread response that contains the outputs of a task; undefined if the task does not exist. */
  async answerWithOutputs(
    task: RemoteTask,
    settings: HttpJsonSettings,
    call: ProviderCall,
  ): Promise<HttpAnswer | undefined> {
    const { result } = settings;
    if (result !== undefined && result.address === undefined && result.id === undefined)
      return ok(await this.askResult(task, undefined, settings, call));
    const asked = await this.ask(task, settings, call);
    if (asked === undefined) return undefined;
    if (result === undefined) return ok(asked);
    const { json } = await readAnswer(ok(asked), undefined);
    return ok(await this.askResult(task, { asked, json }, settings, call));
  }

  async cancel(task: RemoteTask, settings: HttpJsonSettings, call: ProviderCall): Promise<void> {
    const { cancel } = settings;
    const { id, cancel: address } = task;
    if (cancel === undefined || (cancel.path === undefined && address === undefined)) return;
    if (cancel.only_in !== undefined && !(await this.isIn(cancel.only_in, task, settings, call))) return;
    const { method } = cancel;
    const answer = await this.calls.ask(cancel, { id }, address, { signal: call.signal, method, settings });
    answer.discard();
    // One that has ended, or is not known, is left as it is.
    if (!answer.isOk && !cancel.ended_status.includes(answer.status))
      throw callFailed(answer, `The answer to a cancel has status ${answer.status}.`);
  }

  /** Whether the API says that the task is in one of these states now. */
  private async isIn(
    states: readonly string[],
    task: RemoteTask,
    settings: HttpJsonSettings,
    call: ProviderCall,
  ): Promise<boolean> {
    const asked = await this.ask(task, settings, call);
    if (asked === undefined) return false;
    const { json } = await readAnswer(ok(asked), settings.result === undefined ? filesAtOf(settings) : undefined);
    requireSame(asked, json, task, settings);
    return states.includes(stateIn(json, settings) ?? '');
  }

  /** Undefined if the API does not know the task. */
  private async ask(
    { id, poll: address }: RemoteTask,
    settings: HttpJsonSettings,
    { signal }: ProviderCall,
  ): Promise<HttpAnswer | undefined> {
    const answer = await this.calls.ask(settings.poll, { id }, address, { signal, settings });
    if (!settings.poll.unknown_status.includes(answer.status)) return answer;
    // A page of a proxy, and the error of a gateway, say nothing about the task.
    if (!(await isOfApi(answer, settings)))
      throw callFailed(answer, `The answer about a task has status ${answer.status}, and is not an error of this API.`);
    return undefined;
  }

  /** `state` is the answer about the state; it is needed where that has the address or the id of the result. */
  private async askResult(
    { id }: RemoteTask,
    state: { readonly asked: HttpAnswer; readonly json: unknown } | undefined,
    settings: HttpJsonSettings,
    { signal }: ProviderCall,
  ): Promise<HttpAnswer> {
    const { result } = settings;
    const resultId = state === undefined ? undefined : resultIdAt(state.json, settings);
    if (state !== undefined && result?.id !== undefined && resultId === undefined)
      throw callFailed(state.asked, 'The answer has no id of a result at result.id.');
    const values: PathValues = { id, ...(resultId === undefined ? {} : { result_id: resultId }) };
    const address = addressAt(state?.json, result?.address, this.calls.places);
    return this.calls.ask(result ?? {}, values, address, { signal, settings });
  }

  private async succeeded(
    task: RemoteTask,
    asked: HttpAnswer,
    seen: ReadAnswer,
    settings: HttpJsonSettings,
    call: ProviderCall,
  ): Promise<ProviderReport> {
    if (isAnythingAt(seen.json, settings.poll.failed_if))
      return this.failed(task, [seen.json], errorIn(seen.json, settings.errors), settings);
    if (settings.result === undefined)
      return this.delivered(task, [seen], settings) ?? this.withoutOutputs(task, [seen], settings);
    const answer = await this.askResult(task, { asked, json: seen.json }, settings, call);
    if (!answer.isOk) return this.failed(task, [seen.json], await resultError(answer, settings), settings);
    const result = await readAnswer(answer, filesAtOf(settings));
    const delivered = this.delivered(task, [seen, result], settings);
    if (delivered !== undefined) return delivered;
    // An error in the place of a result is about this call, unless it is about the content of the task.
    const error = errorIn(result.json, settings.errors, answer.status);
    const isFinal = error.code === undefined || isAboutContent(meaningOf(settings.errors, error));
    return isFinal ? this.withoutOutputs(task, [seen, result], settings) : this.refused(task, answer, error, settings);
  }

  /** Undefined if the responses contain no outputs that may be fetched. */
  private delivered(
    task: RemoteTask,
    answers: readonly ReadAnswer[],
    settings: HttpJsonSettings,
  ): ProviderReport | undefined {
    const last = answers.at(-1);
    const outputs = last === undefined ? undefined : outputsIn(last, settings, this.filesOf(settings));
    if (outputs !== undefined && outputs.length > 0)
      return { state: 'succeeded', outputs, ...costIn(documentsOf(answers), settings) };
    if (outputs !== undefined) return undefined;
    return this.broke(task, answers, 'outputs at an address that is not listed', settings);
  }

  /** A task that the API calls a success and that has no outputs. */
  private withoutOutputs(task: RemoteTask, answers: readonly ReadAnswer[], settings: HttpJsonSettings): Ended {
    const documents = documentsOf(answers);
    const last = documents.at(-1);
    const error = errorIn(last, settings.errors);
    if (meaningOf(settings.errors, error) !== undefined) return this.failed(task, documents, error, settings);
    if (!isAnythingAt(last, settings.output.withheld))
      return this.broke(task, answers, 'no outputs at output.at', settings);
    this.logFailure(task, 'withheld', error.code);
    return { state: 'failed', failure: failure('output refused'), ...costIn(documents, settings) };
  }

  private broke(task: RemoteTask, answers: readonly ReadAnswer[], status: string, settings: HttpJsonSettings): Ended {
    this.about.log.warn('task failed at the provider', { provider: this.about.instance, task: task.id, status });
    // The settings may point elsewhere: asking again does not change that.
    return {
      state: 'failed',
      failure: { ...failure('broke'), mayRetry: false },
      ...costIn(documentsOf(answers), settings),
    };
  }

  private failed(task: RemoteTask, answers: readonly unknown[], error: AnswerError, settings: HttpJsonSettings): Ended {
    const { errors } = settings;
    const cost = costIn(answers, settings);
    if (errors.cancelled_codes.some((code) => String(code) === error.code))
      return { state: 'cancelled', outputs: [], ...cost };
    this.logFailure(task, error.status ?? 'failed', error.code);
    return { state: 'failed', failure: failureOf(errors, error), ...cost };
  }

  /**
   * An answer about a task that has an error in place of its state. Only one about the content of the task ends it; throws
   * for any other, as the task may still run.
   */
  private refused(task: RemoteTask, answer: HttpAnswer, error: AnswerError, settings: HttpJsonSettings): Ended {
    const { errors } = settings;
    const { status = answer.status } = error;
    const meaning = meaningOf(errors, error);
    if (isAboutContent(meaning) && !ABOUT_THE_CALL.includes(answer.status))
      return this.failed(task, [], error, settings);
    const { code } = listedCode(error, errors);
    const what = `The answer about a task has status ${status}${code === undefined ? '' : ` and the code ${code}`}.`;
    throw callFailed(answer, what, isAboutAccount(meaning) ? { isAccessRefused: true } : {});
  }

  private logFailure({ id }: RemoteTask, status: string | number, errorCode: string | undefined): void {
    const { log, instance } = this.about;
    const code = shownWord(errorCode, this.calls.connection.credentials);
    log.warn('task failed at the provider', { provider: instance, task: id, status, code });
  }
}

function runningBy(json: unknown, settings: HttpJsonSettings): Extract<ProviderReport, { state: 'running' }> {
  const progress = progressIn(json, settings);
  return { state: 'running', ...(progress === undefined ? {} : { progress }) };
}

function filesAtOf({ output }: HttpJsonSettings): string | undefined {
  return output.as === 'base64' ? output.at : undefined;
}

function documentsOf(answers: readonly ReadAnswer[]): readonly unknown[] {
  return answers.map(({ json }) => json);
}

function requireSame(answer: HttpAnswer, json: unknown, task: RemoteTask, settings: HttpJsonSettings): void {
  const { id } = settings.poll;
  if (id !== undefined && idAt(json, id, settings) !== task.id)
    throw callFailed(answer, 'The answer at poll.id is not about the task that was asked for.');
}

function ok(answer: HttpAnswer): HttpAnswer {
  if (answer.isOk) return answer;
  answer.discard();
  throw callFailed(answer, `The answer about a task has status ${answer.status}.`);
}
