import type { Submission } from '../../../core/ports/provider.js';
import type { SizedRequest } from '../../http/bodies/body-file.js';
import { Base64File, jsonRequest } from '../../http/bodies/json-request.js';
import { sizeOf } from '../shared/image-size.js';
import { fieldsFrom } from '../shared/request-fields.js';
import { TaskRefused } from '../shared/task-refused.js';
import { SIZE_FIELD } from './a1111-fields.js';
import type { A1111Settings } from './a1111-settings.js';

/** The request for a task. */
export interface TaskRequest extends SizedRequest {
  readonly route: 'txt2img' | 'img2img';
}

/** The servers take it for a network to load, with a weight, and cut it out of the prompt: `<lora:name:1>` and others. */
const COMMAND = /<[^<>:]+:[^>]+>/;

const MAX_PICTURES = 100;

/**
 * What is sent for a task. Nothing but numbers, truth values and listed texts comes from its parameters. Throws
 * `TaskRefused`, and `ParameterInvalid` for a value that the rules do not allow.
 */
export function requestOf(submission: Submission, settings: A1111Settings): TaskRequest {
  const { prompt, negativePrompt = '', outputCount, token } = submission;
  if (COMMAND.test(prompt) || COMMAND.test(negativePrompt))
    throw new TaskRefused(
      'A prompt must not contain "<name:value>", such as "<lora:": this provider would load a file.',
    );
  if (outputCount > MAX_PICTURES) throw new TaskRefused(`This provider makes up to ${MAX_PICTURES} pictures at once.`);
  const { [SIZE_FIELD]: size, ...values } = fieldsFrom(settings.fields, submission.parameters);
  const references = referencesOf(submission, settings);
  return {
    route: references === undefined ? 'txt2img' : 'img2img',
    ...jsonRequest({
      ...values,
      ...(size === undefined ? {} : sizeOf(size)),
      prompt,
      negative_prompt: negativePrompt,
      // One after another: several at once take as much more memory.
      batch_size: 1,
      n_iter: outputCount,
      send_images: true,
      save_images: false,
      do_not_save_samples: true,
      do_not_save_grid: true,
      override_settings: settings.override_settings,
      ...(settings.force_task_id ? { force_task_id: `darkroom-${token}` } : {}),
      ...references,
    }),
  };
}

function referencesOf(
  { references: [first, ...others] }: Submission,
  { references: field }: A1111Settings,
): object | undefined {
  if (first === undefined) return undefined;
  if (field === undefined) throw new TaskRefused('This model takes no reference files.');
  if (others.length > 0) throw new TaskRefused('This model takes one reference file.');
  return { [field]: [new Base64File(first, 'base64')] };
}
