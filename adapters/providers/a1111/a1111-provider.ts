import type { JsonObject } from '../../../core/json.js';
import type { Log } from '../../../core/log.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderCapabilities,
  ProviderReference,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { submit } from '../../http/submission-outcome.js';
import type { Connection } from '../shared/connection.js';
import { splitMasked, submitMasked, type TaskFiles } from '../shared/masked-reference.js';
import { withPolicy } from '../shared/policy-codes.js';
import { refusal } from '../shared/sentences.js';
import { limitsOfAnswer } from '../shared/spooled-outputs.js';
import { requestOrRefusal } from '../shared/task-refused.js';
import { logRefusal } from '../shared/submission-refusal.js';
import { WholeReferences } from '../shared/whole-references.js';
import { checkServer } from './a1111-check.js';
import { deliveredPictures, MAX_PICTURE_BYTES } from './a1111-pictures.js';
import { a1111Capabilities } from './a1111-capabilities.js';
import { A1111_CONTRACT, refusalOf } from './a1111-refusal.js';
import { requestOf } from './a1111-request.js';
import { type A1111Settings, readSettings } from './a1111-settings.js';

/** Pictures of one colour compress far better than others. */
const MAX_DECOMPRESSION_RATIO = 2_000;

/** One configured instance. */
export interface A1111Instance {
  readonly connection: Connection;
  /** The name, for the log. */
  readonly instance: string;
  readonly log: Log;
  /** For decoding references, shared by the process. */
  readonly memory: MemoryBudget;
}

interface Task {
  readonly submission: Submission;
  readonly settings: A1111Settings;
  readonly whole: WholeReferences;
  readonly call: ProviderCall;
}

/**
 * Stable Diffusion web UI of AUTOMATIC1111, Forge and SD.Next, by the API that they have in common. Its pictures exist
 * in the answer alone. The servers list the tasks they work on by id, but a task that they do not know may wait for a
 * thread, have failed, or be forgotten: that does not answer `recover`. To interrupt stops whatever runs, and delivers
 * it as if it were finished: so nothing is stopped.
 */
export class A1111Provider implements Provider {
  constructor(private readonly server: A1111Instance) {}

  capabilities(settings: JsonObject): ProviderCapabilities {
    return a1111Capabilities(settings);
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const settings = readSettings(submission.settings);
    if ('fault' in settings || submission.operation !== 'image_generation') return refusal('settings wrong');
    const whole = new WholeReferences(submission.references, this.server);
    // Before anything is decoded: a task that is refused needs no mask.
    const fault = requestOrRefusal(() => requestOf(submission, settings));
    if ('refused' in fault) return fault.refused;
    const splitting = { memory: this.server.memory, signal: call.signal };
    const split = (reference: ProviderReference) => splitMasked(reference, 'white', splitting);
    const task = { submission, settings, whole, call };
    return submitMasked(whole, split, call, (files) => this.send(task, files));
  }

  private async send({ submission, settings, whole, call }: Task, files: TaskFiles): Promise<SubmitAnswer> {
    const made = requestOrRefusal(() => requestOf(submission, settings, files));
    if ('refused' in made) return made.refused;
    const { route, headers, body } = made.request;
    const { client, credentials } = this.server.connection;
    const sent = submit(
      client,
      {
        method: 'POST',
        url: this.server.connection.urlOf('sdapi', 'v1', route),
        headers: { ...credentials, accept: 'application/json', ...headers },
        body,
        signal: call.signal,
        limits: {
          ...limitsOfAnswer(submission, MAX_PICTURE_BYTES),
          maxDecompressionRatio: MAX_DECOMPRESSION_RATIO,
        },
      },
      withPolicy(submission, A1111_CONTRACT),
    );
    const outcome = await whole.sent(sent, call.signal);
    if ('accepted' in outcome) return outcome;
    if (outcome.outcome === 'answered') return deliveredPictures(outcome.answer, submission, call);
    logRefusal(this.server, outcome);
    return refusalOf(outcome, submission);
  }

  /** There are no task references: the response to a submission contains its outputs. */
  async poll(): Promise<ProviderReport> {
    return { state: 'unknown' };
  }

  async output(): Promise<AsyncIterable<Uint8Array>> {
    throw new Error('The server keeps no outputs.');
  }

  async cancel(): Promise<void> {}

  async recover(): Promise<RecoverAnswer> {
    return 'unsupported';
  }

  async check(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    return checkServer(this.server.connection, settings, call);
  }

  close(): Promise<void> {
    return this.server.connection.close();
  }
}
