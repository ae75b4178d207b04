import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import { HttpClient } from '../../../adapters/http/http-client.js';
import { HttpError } from '../../../adapters/http/http-error.js';
import type { HttpRequest } from '../../../adapters/http/http-request.js';
import { type SubmissionContract, type SubmissionRefusal, submit } from '../../../adapters/http/submission-outcome.js';
import { policyRefusalIn, withPolicy } from '../../../adapters/providers/shared/policy-codes.js';
import { refusedBy, statusInSuccess } from '../../../adapters/providers/shared/refused-in-success.js';
import { fileBytes, MAX_FILE_REDIRECTS } from '../../../adapters/providers/shared/result-files.js';
import { refusal } from '../../../adapters/providers/shared/sentences.js';
import { WholeReferences } from '../../../adapters/providers/shared/whole-references.js';
import { throwIfAborted } from '../../../core/cancellation.js';
import type { JsonObject } from '../../../core/json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderCapabilities,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { SILENT } from '../../fixtures/memory-stores.js';
import {
  bodyOf,
  codeOf,
  delivered,
  idOf,
  isNoTask,
  objectOf,
  reportOf,
  TASK_ID,
  type Told,
} from './reference-answers.js';
import type { ReferenceKind } from './reference-fake.js';

export interface ReferenceOptions {
  readonly origin: string;
  readonly key: string;
  readonly kind: ReferenceKind;
}

const PROMISES: Readonly<Record<ReferenceKind, ProviderCapabilities>> = {
  'by-token': {
    answersWithOutputs: false,
    isAskedBy: 'token',
    takesTokenOnce: true,
    settleMs: 5_000,
    cancels: 'running',
    isPaid: true,
  },
  'by-id': {
    answersWithOutputs: false,
    isAskedBy: 'nothing',
    takesTokenOnce: false,
    settleMs: 5_000,
    cancels: 'queued',
    isPaid: true,
  },
  'immediate': {
    answersWithOutputs: true,
    isAskedBy: 'nothing',
    takesTokenOnce: false,
    settleMs: 5_000,
    cancels: 'nothing',
    isPaid: true,
  },
};

export function referenceCapabilities(kind: ReferenceKind): ProviderCapabilities {
  return PROMISES[kind];
}

/** The provider of the reference vendor, as short as one can be that keeps every promise. */
export class ReferenceProvider implements Provider {
  protected readonly client: HttpClient;
  /** Beyond HTTP, the vendor promises nothing of its refusals. */
  protected readonly contract: SubmissionContract = {};

  constructor(protected readonly options: ReferenceOptions) {
    this.client = new HttpClient({
      allow: [new URL(options.origin).host],
      limits: { connectTimeoutMs: 500 },
    });
  }

  capabilities(): ProviderCapabilities {
    return PROMISES[this.options.kind];
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    throwIfAborted(call.signal);
    const whole = new WholeReferences(submission.references, { instance: 'reference', log: SILENT });
    const task = { ...submission, references: whole.references };
    const refused = this.options.kind === 'by-id' ? await this.uploadRefusal(whole, task, call) : undefined;
    if (refused !== undefined) return refused;
    const body = bodyOf(this.options.kind === 'by-id' ? { ...task, references: [] } : task);
    const contract = withPolicy(submission, this.contract);
    const sending = submit(this.client, this.request('POST', '/tasks', call, body), contract);
    const outcome = await whole.sent(sending, call.signal);
    if ('accepted' in outcome) return outcome;
    if (outcome.outcome === 'refused') return this.refused(outcome);
    const told = objectOf(await this.read(outcome.answer));
    const stated = statusInSuccess(told, 200, submission);
    if (stated !== undefined) return this.refused(refusedBy(stated, told));
    return this.options.kind === 'immediate' ? delivered(told) : { accepted: true, reference: idOf(told) };
  }

  async poll(reference: string, _settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    if (!TASK_ID.test(reference)) return { state: 'unknown' };
    const told = await this.ask(`/tasks/${reference}`, call);
    return isNoTask(told) ? { state: 'unknown' } : reportOf(told);
  }

  async output(
    reference: string,
    index: number,
    _settings: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    if (!TASK_ID.test(reference)) throw new Error('There is no such output.');
    const request = this.request('GET', `/tasks/${reference}/pictures/${index}`, call);
    return this.file(await this.client.request({ ...request, maxRedirects: MAX_FILE_REDIRECTS }));
  }

  async cancel(reference: string, _settings: JsonObject, call: ProviderCall): Promise<void> {
    if (!TASK_ID.test(reference) || this.capabilities().cancels === 'nothing') return;
    const answer = await this.client.request(this.request('DELETE', `/tasks/${reference}`, call));
    answer.discard();
    if (![204, 404, 409].includes(answer.status)) throw new Error(`The cancel was answered with ${answer.status}.`);
  }

  async recover(token: string, _settings: JsonObject, call: ProviderCall): Promise<RecoverAnswer> {
    if (this.options.kind !== 'by-token') return 'unsupported';
    const told = await this.ask(`/tasks/${token}`, call);
    if (isNoTask(told)) return { found: false };
    reportOf(told);
    return { found: true, reference: token };
  }

  async check(_settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    try {
      const { status, body } = await this.ask('/about', call);
      if (status === 401) return { faults: ['The server does not accept the key.'] };
      if (status !== 200 || body?.['name'] !== 'reference') return { faults: ['This is not a reference server.'] };
      return { about: 'reference', faults: [] };
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return { faults: [`The server does not answer (${error.code ?? error.kind}).`] };
    }
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  /** Whether the vendor has taken the file. */
  protected async uploaded({ references: [reference] }: Submission, call: ProviderCall): Promise<boolean> {
    if (reference === undefined) return true;
    const body = { stream: await reference.open(), byteSize: reference.byteSize };
    const answer = await this.client.request(this.request('POST', '/files', call, body));
    answer.discard();
    return answer.status === 201;
  }

  /** Without the whole file nothing is submitted, so whatever goes wrong is certain. */
  private async uploadRefusal(
    whole: WholeReferences,
    task: Submission,
    call: ProviderCall,
  ): Promise<SubmitAnswer | undefined> {
    try {
      const isUploaded = await whole.sent(this.uploaded(task, call), call.signal);
      if (isUploaded === true) return undefined;
      return isUploaded === false ? refusal('unreachable') : isUploaded;
    } catch {
      throwIfAborted(call.signal);
      return refusal('unreachable');
    }
  }

  protected async ask(path: string, call: ProviderCall): Promise<Told> {
    const answer = await this.client.request(this.request('GET', path, call));
    const { status } = answer;
    const failed = (what: string) => answer.error('bad-answer', what);
    return { status, body: objectOf(await this.read(answer)), failed };
  }

  protected read(answer: HttpAnswer): Promise<unknown> {
    return answer.json();
  }

  protected file(answer: HttpAnswer): Promise<AsyncIterable<Uint8Array>> {
    return fileBytes(answer, { hasKey: true });
  }

  protected refused({ because, status, body, retryAfterMs }: SubmissionRefusal): SubmitAnswer {
    if (because === 'unreachable') return refusal('unreachable');
    const byPolicy = policyRefusalIn(body, status);
    if (byPolicy !== undefined) return refusal(byPolicy);
    if (because === 'capacity') return refusal('no capacity', { retryAfterMs });
    switch (codeOf(body)) {
      case 'bad_key':
        return refusal('account refused');
      case 'prompt_refused':
        return refusal('input refused');
      case 'picture_withheld':
        return refusal('output refused');
      default:
        return refusal('rejected');
    }
  }

  protected request(
    method: HttpRequest['method'],
    path: string,
    { signal }: ProviderCall,
    body?: HttpRequest['body'],
  ): HttpRequest {
    return {
      method,
      url: `${this.options.origin}${path}`,
      headers: { 'authorization': `Bearer ${this.options.key}`, 'content-type': 'application/json' },
      signal,
      ...(body === undefined ? {} : { body }),
    };
  }
}
