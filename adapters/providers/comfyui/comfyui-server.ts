import type { JsonObject } from '../../../core/json.js';
import type { Clock } from '../../../core/ports/machine.js';
import { type FailedCallHints, hintsOf, type ProviderCall } from '../../../core/ports/provider.js';
import { ListedHosts } from '../../http/allow-list.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { BodyFile } from '../../http/http-request.js';
import { jsonOf } from '../../http/json-body.js';
import {
  type SubmissionAnswered,
  type SubmissionContract,
  type SubmissionRefusal,
  submit,
} from '../../http/submission-outcome.js';
import type { Connection } from '../shared/connection.js';
import { resultBytes } from '../shared/result-files.js';
import { AnswerUnreadable, type Job, jobOf, jobOfHistory, type SavedFile } from './job.js';
import { uploadForm } from './upload-form.js';
import { isAtLeast, LEAST_VERSION, versionIn } from './version.js';
import { isObject } from './workflow.js';

/** A response that is not a success, to a call which makes nothing. */
export class ServerRefused extends Error implements FailedCallHints {
  readonly status: number;
  declare readonly retryAfterMs?: number;
  declare readonly isAccessRefused?: boolean;

  constructor(route: string, answer: HttpAnswer) {
    super(`${route}: The server answered with status ${answer.status}.`);
    this.name = 'ServerRefused';
    this.status = answer.status;
    Object.assign(this, hintsOf(answer.error('bad-answer', this.message)));
  }
}

const MAX_ANSWER_BYTES = 1024 * 1024;
/** A failed task is reported with the workflow and all inputs of the node that failed. */
const MAX_JOB_BYTES = 8 * 1024 * 1024;
/** The queue has the workflow of every task in it. */
const MAX_QUEUE_BYTES = 32 * 1024 * 1024;
const MAX_NODE_BYTES = 8 * 1024 * 1024;
const LONGEST_UPLOAD_MS = 6 * 60 * 60 * 1_000;
/** How long an answer about the server itself is believed. */
const KNOWN_FOR_MS = 60_000;
/** All versions from this one on have jobs; some versions before it have them too. */
const JOBS_SINCE = '0.7.0';
/** Types that files in the output folder of a task do not have. */
const PAGE_TYPE = /^(?:text\/|application\/(?:[a-z0-9.-]+\+)?(?:json|xml|xhtml))/i;
const NO_OTHER_HOSTS = new ListedHosts([]);

/** A graph to run. */
export interface GraphSubmission {
  /** The workflow as JSON text. */
  readonly graph: string;
  /** The nodes that are run, with all they need; no other one is. */
  readonly outputs: readonly string[];
  /** The id of the task, and of the WebSocket that receives its events. */
  readonly token: string;
  readonly clientId: string;
}

interface Bounds {
  readonly maxBytes?: number;
  readonly withinMs?: number | undefined;
}

interface Known<T> {
  readonly value: T;
  readonly until: number;
}

/** The routes of one ComfyUI server that this provider uses. Every method throws `HttpError`. */
export class ComfyUiServer {
  #version: Known<string | undefined> | undefined;
  #isWithoutJobs: Known<true> | undefined;

  constructor(
    readonly connection: Connection,
    private readonly clock: Clock,
  ) {}

  get address(): string {
    return this.connection.base;
  }

  /** Undefined if the server does not report it. */
  async version(call: ProviderCall, withinMs?: number): Promise<string | undefined> {
    const now = this.clock.now();
    if (this.#version !== undefined && now < this.#version.until) return this.#version.value;
    const value = versionIn(await this.#json(['system_stats'], call, { withinMs }));
    this.#version = { value, until: now + KNOWN_FOR_MS };
    return value;
  }

  /** Whether it takes our ids and stops tasks by them. */
  async isNewEnough(call: ProviderCall, withinMs?: number): Promise<boolean> {
    const version = await this.version(call, withinMs);
    return version !== undefined && isAtLeast(version, LEAST_VERSION);
  }

  /** Tasks that run or wait. */
  async queueLength(call: ProviderCall, withinMs?: number): Promise<number> {
    const answer = await this.#json(['prompt'], call, { withinMs });
    const info = isObject(answer) ? answer['exec_info'] : undefined;
    const remaining: unknown = isObject(info) ? info['queue_remaining'] : undefined;
    if (typeof remaining !== 'number' || !Number.isSafeInteger(remaining) || remaining < 0)
      throw new AnswerUnreadable('has no length of the queue');
    return remaining;
  }

  /**
   * Submits a graph once. A submission that is answered with 5xx may have been taken: a proxy may have lost the answer.
   */
  submit(
    { graph, outputs, token, clientId }: GraphSubmission,
    contract: SubmissionContract,
    call: ProviderCall,
  ): Promise<SubmissionAnswered | SubmissionRefusal> {
    const rest = JSON.stringify({ prompt_id: token, client_id: clientId, partial_execution_targets: outputs });
    const request = {
      method: 'POST',
      url: this.connection.urlOf('prompt'),
      headers: { ...this.connection.credentials, 'content-type': 'application/json' },
      body: `{"prompt":${graph},${rest.slice(1)}`,
      signal: call.signal,
    } as const;
    return submit(this.connection.client, request, contract);
  }

  /** The server's record of a task. Throws for a response that is not in ComfyUI's own form, such as a proxy's page. */
  async job(token: string, call: ProviderCall): Promise<Job> {
    if (this.#isWithoutJobs === undefined || this.clock.now() >= this.#isWithoutJobs.until) {
      const answer = await this.#get(['api', 'jobs', token], call, { maxBytes: MAX_JOB_BYTES });
      if (answer.isOk) return jobOf(token, await answer.json());
      if (answer.status !== 404) throw refused(answer, 'GET /api/jobs');
      const said = await absence(answer);
      if (said === 'no job') return { state: 'unknown' };
      if (said === 'page' && (await this.#hasJobs(call))) throw refused(answer, 'GET /api/jobs');
      this.#isWithoutJobs = { value: true, until: this.clock.now() + KNOWN_FOR_MS };
    }
    // In this order: a task that ends in between is in the history.
    const queue = await this.#json(['queue'], call, { maxBytes: MAX_QUEUE_BYTES });
    return jobOfHistory(token, queue, await this.#json(['history', token], call, { maxBytes: MAX_JOB_BYTES }));
  }

  /** The bytes of a saved file. Redirects are followed: hosted servers keep files in an object store. */
  file(file: SavedFile, call: ProviderCall): Promise<AsyncIterable<Uint8Array>> {
    return resultBytes({ connection: this.connection, hosts: NO_OTHER_HOSTS, sendsKey: true }, this.#urlOf(file), call);
  }

  /** Whether there is a file of this name. A response to HEAD has no body, so that only its type shows a proxy's page. */
  async hasFile(file: SavedFile, { signal }: ProviderCall): Promise<boolean> {
    const { client, credentials } = this.connection;
    const answer = await client.request({ method: 'HEAD', url: this.#urlOf(file), headers: credentials, signal });
    answer.discard();
    const isOfProxy = PAGE_TYPE.test(answer.header('content-type')?.trim() ?? '');
    if (isOfProxy || (!answer.isOk && answer.status !== 404)) throw refused(answer, 'HEAD /view');
    return answer.isOk;
  }

  /** Stores a reference file on the server, and returns the name under which a node refers to it. */
  async upload(file: BodyFile, call: ProviderCall): Promise<string> {
    const { headers, body } = await uploadForm(file);
    const answer = await this.connection.client.request({
      method: 'POST',
      url: this.connection.urlOf('upload', 'image'),
      headers: { ...this.connection.credentials, ...headers },
      body,
      signal: call.signal,
      limits: { totalTimeoutMs: LONGEST_UPLOAD_MS },
    });
    if (!answer.isOk) throw refused(answer, 'POST /upload/image');
    return uploadedName(await answer.json());
  }

  /** Takes a task out of the queue; one that runs or has ended stays as it is. */
  async dequeue(token: string, call: ProviderCall): Promise<void> {
    await this.#post(['queue'], { delete: [token] }, call);
  }

  /** Stops the task if it runs. Without its id in the body the server would stop whatever runs. */
  async interrupt(token: string, call: ProviderCall): Promise<void> {
    await this.#post(['interrupt'], { prompt_id: token }, call);
  }

  /** The server's description of a class of nodes; undefined if it has none of that name. */
  async nodeClass(name: string, call: ProviderCall): Promise<JsonObject | undefined> {
    const answer = await this.#json(['object_info', name], call, { maxBytes: MAX_NODE_BYTES });
    if (!isObject(answer)) throw new AnswerUnreadable('has no classes of nodes');
    const found = Object.hasOwn(answer, name) ? answer[name] : undefined;
    return isObject(found) ? found : undefined;
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  /** Whether it is of a version that surely has the route for jobs. */
  async #hasJobs(call: ProviderCall): Promise<boolean> {
    const version = await this.version(call);
    return version !== undefined && isAtLeast(version, JOBS_SINCE);
  }

  #urlOf({ filename, subfolder }: SavedFile): string {
    const query = new URLSearchParams({ filename, subfolder, type: 'output' });
    return `${this.connection.urlOf('view')}?${query.toString()}`;
  }

  #get(
    path: readonly string[],
    { signal }: ProviderCall,
    { maxBytes: maxBodyBytes = MAX_ANSWER_BYTES, withinMs }: Bounds = {},
  ): Promise<HttpAnswer> {
    const { client, credentials } = this.connection;
    const limits = { maxBodyBytes, ...(withinMs === undefined ? {} : { totalTimeoutMs: withinMs }) };
    return client.request({ method: 'GET', url: this.connection.urlOf(...path), headers: credentials, signal, limits });
  }

  async #json(path: readonly string[], call: ProviderCall, bounds?: Bounds): Promise<unknown> {
    const answer = await this.#get(path, call, bounds);
    if (!answer.isOk) throw refused(answer, `GET /${path[0]}`);
    return answer.json();
  }

  async #post(path: readonly string[], body: JsonObject, { signal }: ProviderCall): Promise<void> {
    const answer = await this.connection.client.request({
      method: 'POST',
      url: this.connection.urlOf(...path),
      headers: { ...this.connection.credentials, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    answer.discard();
    if (!answer.isOk) throw refused(answer, `POST /${path[0]}`);
  }
}

function refused(answer: HttpAnswer, route: string): ServerRefused {
  answer.discard();
  return new ServerRefused(route, answer);
}

/**
 * The meaning of a 404 for a job: there is no such job, in ComfyUI's own form; or nothing, as from a server without the
 * route; or something that is not ComfyUI's, such as the page of a proxy.
 */
async function absence(answer: HttpAnswer): Promise<'no job' | 'no route' | 'page'> {
  const body = Buffer.from(await answer.bytes());
  if (/^(?:404: Not Found)?$/.test(body.toString('latin1').trim())) return 'no route';
  const json = jsonOf(body);
  const isNoJob = 'value' in json && isObject(json.value) && json.value['error'] === 'Job not found';
  return isNoJob ? 'no job' : 'page';
}

function uploadedName(answer: unknown): string {
  const { name, subfolder = '' } = isObject(answer) ? answer : {};
  if (typeof name !== 'string' || !/^[\w. ()-]{1,200}$/.test(name) || typeof subfolder !== 'string')
    throw new AnswerUnreadable('has no name of the uploaded file');
  const folder = subfolder.replaceAll('\\', '/');
  if (!/^[\w./-]{0,200}$/.test(folder) || folder.split('/').includes('..'))
    throw new AnswerUnreadable('has no folder of the uploaded file');
  return folder === '' ? name : `${folder}/${name}`;
}
