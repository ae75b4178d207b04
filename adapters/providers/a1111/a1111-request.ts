import type { Submission } from '../../../core/ports/provider.js';
import { Base64File, jsonRequest, type SizedRequest } from '../../http/http-request.js';
import { sizeOf } from '../shared/image-size.js';
import type { TaskFiles } from '../shared/masked-reference.js';
import { fieldsFrom, type FieldValue } from '../shared/request-fields.js';
import { TaskRefused } from '../shared/task-refused.js';
import { MASK_FIELDS, SIZE_FIELD } from './a1111-fields.js';
import type { A1111Settings } from './a1111-settings.js';

/** The request for a task. */
export interface TaskRequest extends SizedRequest {
  readonly route: 'txt2img' | 'img2img';
}

/** The servers take it for a network to load, with a weight, and cut it out of the prompt: `<lora:name:1>` and others. */
const COMMAND = /<[^<>:]+:[^>]+>/;

const MAX_PICTURES = 100;

/**
 * The request that is sent for a task. Nothing but numbers, truth values and listed texts comes from its parameters.
 * Throws `TaskRefused`, and `ParameterInvalid` for a value that the rules do not allow.
 */
export function requestOf(submission: Submission, settings: A1111Settings, files: TaskFiles = submission): TaskRequest {
  const { prompt, negativePrompt = '', outputCount, token } = submission;
  if (COMMAND.test(prompt) || COMMAND.test(negativePrompt))
    throw new TaskRefused(
      'A prompt must not contain "<name:value>", such as "<lora:": this provider would load a file.',
    );
  if (outputCount > MAX_PICTURES) throw new TaskRefused(`This provider makes up to ${MAX_PICTURES} pictures at once.`);
  const { [SIZE_FIELD]: size, ...values } = fieldsFrom(settings.fields, submission.parameters, submission);
  const references = referencesOf(files, settings);
  return {
    route: references === undefined ? 'txt2img' : 'img2img',
    ...jsonRequest({
      ...(files.mask === undefined ? {} : MASKING),
      ...(files.mask === undefined ? withoutMasking(values) : values),
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

/**
 * How the servers use a mask, where the settings say nothing else: the whole picture is the context, and what is under
 * the mask is where the new content begins. The edge of the mask is the client's own, so it is not blurred.
 */
const MASKING = { inpainting_fill: 1, inpaint_full_res: false, mask_blur: 0 };

/** Without a mask these fields have no effect, or fail. */
function withoutMasking(values: Readonly<Record<string, FieldValue>>): object {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !MASK_FIELDS.includes(name)));
}

function referencesOf(
  { references: [first, ...others], mask }: TaskFiles,
  { references: field }: A1111Settings,
): object | undefined {
  if (first === undefined) return undefined;
  if (field === undefined) throw new TaskRefused('This model takes no reference files.');
  if (others.length > 0) throw new TaskRefused('This model takes one reference file.');
  return {
    [field]: [new Base64File(first, 'base64')],
    // One channel, white where the picture is made anew: of a mask with an alpha channel the servers would use that, the other way round.
    ...(mask === undefined ? {} : { mask: new Base64File(mask, 'base64'), inpainting_mask_invert: 0 }),
  };
}
