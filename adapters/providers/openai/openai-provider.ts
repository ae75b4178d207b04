import type { JsonObject } from '../../../core/json.js';
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
import { keptMasked, splitMasked, submitMasked } from '../shared/masked-reference.js';
import { refusal } from '../shared/sentences.js';
import { requestOrRefusal } from '../shared/task-refused.js';
import { WholeReferences } from '../shared/whole-references.js';
import { checkServer } from './check-server.js';
import { submitImages } from './image-task.js';
import type { OpenAiInstance } from './openai-instance.js';
import { openAiCapabilities } from './openai-capabilities.js';
import { maskForm, readSettings } from './openai-settings.js';
import type { ServerSettings } from './presets.js';
import { taskRequest } from './task-request.js';
import { VideoJobs } from './video-jobs.js';

/** OpenAI takes masks of less than 4 MB; whether that means 4,000,000 or 4 MiB is not documented. */
const MAX_ALPHA_MASK_BYTES = 4_000_000;

/** Servers with the Images and the Videos API of OpenAI. They cannot say what became of a submission. */
export class OpenAiProvider implements Provider {
  private readonly videos: VideoJobs;

  constructor(private readonly instance: OpenAiInstance) {
    this.videos = new VideoJobs(instance);
  }

  capabilities(settings: JsonObject): ProviderCapabilities {
    return openAiCapabilities(settings);
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const read = readSettings(submission.settings);
    if ('fault' in read) return refusal('settings wrong');
    const { settings } = read;
    const { name, log } = this.instance;
    const whole = new WholeReferences(submission.references, { instance: name, log });
    // Before anything is decoded: a task that is refused needs no mask.
    const fault = requestOrRefusal(() => taskRequest(settings, submission));
    if ('refused' in fault) return fault.refused;
    return submitMasked(whole, this.splitter(settings, call), call, async (files) => {
      const made = requestOrRefusal(() => taskRequest(settings, submission, files));
      if ('refused' in made) return made.refused;
      const task = { settings, submission, whole, request: made.request, call };
      return settings.api === 'sync' ? submitImages(task, this.instance) : this.videos.submit(task);
    });
  }

  private splitter(settings: ServerSettings, { signal }: ProviderCall) {
    const form = maskForm(settings);
    if (form === undefined) return undefined;
    const splitting = { memory: this.instance.memory, signal };
    return (reference: ProviderReference) =>
      form === 'alpha'
        ? keptMasked(reference, MAX_ALPHA_MASK_BYTES, splitting)
        : splitMasked(reference, form, splitting);
  }

  async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    return hasJobs(settings) ? this.videos.poll(reference, call) : { state: 'unknown' };
  }

  async output(
    reference: string,
    index: number,
    settings: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    if (!hasJobs(settings)) throw new Error('The Images API keeps no outputs.');
    return this.videos.output(reference, index, call);
  }

  async cancel(reference: string, settings: JsonObject, call: ProviderCall): Promise<void> {
    const read = readSettings(settings);
    if ('settings' in read && read.settings.cancel === 'delete') await this.videos.cancel(reference, call);
  }

  async recover(): Promise<RecoverAnswer> {
    return 'unsupported';
  }

  async check(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    const models = settings
      .map(readSettings)
      .flatMap((read) => ('settings' in read ? (read.settings.model ?? []) : []));
    return checkServer(this.instance.connection, new Set(models), call);
  }

  close(): Promise<void> {
    return this.instance.connection.close();
  }
}

function hasJobs(settings: JsonObject): boolean {
  const read = readSettings(settings);
  return 'settings' in read && read.settings.api === 'video';
}
