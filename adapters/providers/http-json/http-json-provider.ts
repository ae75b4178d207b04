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
import type { ProviderOpening } from '../../driver.js';
import type { ListedHosts } from '../../http/allow-list.js';
import { Connection, openConnection } from '../shared/connection.js';
import { bytesOfDataUrl, dataUrlType, listedHosts, resultBytes, type ResultFiles } from '../shared/result-files.js';
import { refusal } from '../shared/sentences.js';
import { ApiCalls } from './api-calls.js';
import { authOf } from './auth-option.js';
import { checkPaths } from './check-paths.js';
import { httpJsonCapabilities } from './http-json-capabilities.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { addressesIn } from './job-report.js';
import { fileIn, readAnswer } from './read-answer.js';
import { readSettings, settingsOf } from './read-settings.js';
import { recoverTask } from './recover-task.js';
import { RemoteTasks } from './remote-tasks.js';
import { submitTask } from './submit-task.js';
import { taskOf } from './task-reference.js';

interface HttpJsonOptions {
  readonly auth: string;
  readonly answer_hosts: readonly string[];
  readonly output_hosts: readonly string[];
  readonly send_credentials: readonly string[];
}

type About = Pick<ProviderOpening, 'instance' | 'log' | 'memory'>;

/** Throws one sentence for options that cannot work. */
export function openHttpJson({
  options,
  instance,
  log,
  memory,
}: About & Pick<ProviderOpening, 'options'>): HttpJsonProvider {
  const { auth } = options as unknown as HttpJsonOptions;
  const lists = hostLists(options as unknown as HttpJsonOptions, instance);
  return providerOn(openConnection({ options, instance, ...authOf(auth) }), lists, { instance, log, memory });
}

/** The hosts beside that of `base_url` that an instance calls, and those of them that get its key. */
interface HostLists {
  readonly answers: ListedHosts;
  readonly outputs: ListedHosts;
  readonly withKey: ListedHosts;
}

/** Throws one sentence for an entry that cannot be used. */
export function hostLists(
  { answer_hosts: answers, output_hosts: outputs, send_credentials: withKey }: Omit<HttpJsonOptions, 'auth'>,
  instance: string,
): HostLists {
  const suffix = withKey.find((entry) => entry.startsWith('.'));
  if (suffix !== undefined)
    throw new Error(
      `providers.${instance}.send_credentials: ${suffix} would give the key to hosts that nobody has named; write each host in full.`,
    );
  const listed = (option: string, entries: readonly string[]): ListedHosts =>
    listedHosts(entries, `providers.${instance}.${option}`);
  return {
    withKey: listed('send_credentials', withKey),
    answers: listed('answer_hosts', [...answers, ...withKey]),
    outputs: listed('output_hosts', [...outputs, ...withKey]),
  };
}

export function providerOn(
  connection: Connection,
  { answers, outputs, withKey }: HostLists,
  about: About,
): HttpJsonProvider {
  const calls = new ApiCalls(connection, { base: connection.base, hosts: answers }, withKey);
  return new HttpJsonProvider(calls, outputs, about);
}

/** Runs tasks by an asynchronous HTTP API that the settings of a model describe. */
export class HttpJsonProvider implements Provider {
  private readonly tasks: RemoteTasks;

  constructor(
    private readonly calls: ApiCalls,
    private readonly outputHosts: ListedHosts,
    private readonly about: About,
  ) {
    this.tasks = new RemoteTasks(calls, (settings) => this.filesOf(settings), about);
  }

  capabilities(given: JsonObject): ProviderCapabilities {
    return httpJsonCapabilities(given);
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const read = readSettings(submission.settings);
    if ('fault' in read) return refusal('settings wrong');
    return submitTask({ calls: this.calls, settings: read.settings, ...this.about }, submission, call);
  }

  async poll(reference: string, given: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const settings = settingsOf(given);
    const task = taskOf(reference, settings);
    return task === undefined ? { state: 'unknown' } : this.tasks.report(task, settings, call);
  }

  async output(
    reference: string,
    index: number,
    given: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    const settings = settingsOf(given);
    const task = taskOf(reference, settings);
    const answer = task === undefined ? undefined : await this.tasks.answerWithOutputs(task, settings, call);
    if (answer === undefined) throw new Error('There is no such task.');
    if (settings.output.as === 'base64') return fileIn(answer, settings.output.at, index);
    const { json } = await readAnswer(answer, undefined);
    const files = this.filesOf(settings);
    const address = addressesIn(json, settings, files)?.[index];
    if (address === undefined) throw new Error('The task has no such output.');
    if (dataUrlType(address) !== undefined) return bytesOfDataUrl(address, answer);
    return resultBytes(this.filesAt(address, files), address, call);
  }

  async cancel(reference: string, given: JsonObject, call: ProviderCall): Promise<void> {
    const settings = settingsOf(given);
    const task = taskOf(reference, settings);
    if (task !== undefined) await this.tasks.cancel(task, settings, call);
  }

  async recover(token: string, given: JsonObject, call: ProviderCall): Promise<RecoverAnswer> {
    return recoverTask(this.calls, token, settingsOf(given), call);
  }

  check(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    return checkPaths(this.calls, settings, call);
  }

  close(): Promise<void> {
    return this.calls.connection.close();
  }

  private filesOf({ output }: HttpJsonSettings): ResultFiles {
    const { connection, listsOwnHost } = this.calls;
    return { connection, hosts: this.outputHosts, sendsKey: output.sends_key || listsOwnHost };
  }

  /** The same for one address, whose host gets the key as the instance's own does if the operator lists it for that. */
  private filesAt(address: string, files: ResultFiles): ResultFiles {
    const { base, client, credentials } = this.calls.connection;
    const { origin } = new URL(address);
    if (origin === new URL(base).origin || !this.calls.sendsKeyTo(address)) return files;
    return { ...files, connection: new Connection({ base: new URL(origin), client, credentials }), sendsKey: true };
  }
}
