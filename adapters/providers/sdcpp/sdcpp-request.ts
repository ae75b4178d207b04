import { createHash } from 'node:crypto';
import type { Submission } from '../../../core/ports/provider.js';
import type { SizedRequest } from '../../http/bodies/body-file.js';
import { Base64File, jsonRequest } from '../../http/bodies/json-request.js';
import { sizeOf } from '../shared/image-size.js';
import { fieldsFrom, type FieldValue } from '../shared/request-fields.js';
import { TaskRefused } from '../shared/task-refused.js';
import { SIZE_FIELD } from './sdcpp-fields.js';
import type { SdcppSettings } from './sdcpp-settings.js';

/** More are made as these many, without a word. */
const MAX_PICTURES = 8;

/** What some routes and some versions of the server take out of a prompt and obey. */
const COMMANDS = /<\s*(?:sd_cpp_extra_args|lora\s*:)/i;

/**
 * What is sent for a task. Nothing but numbers, truth values and listed texts comes from its parameters. Throws
 * `TaskRefused`, and `ParameterInvalid` for a value that the rules do not allow.
 */
export function requestOf(submission: Submission, settings: SdcppSettings): SizedRequest {
  const { prompt, negativePrompt = '', outputCount } = submission;
  if (COMMANDS.test(prompt) || COMMANDS.test(negativePrompt))
    throw new TaskRefused(
      'A prompt must not contain "<lora:" or "<sd_cpp_extra_args": this provider takes no settings from it.',
    );
  if (outputCount > MAX_PICTURES) throw new TaskRefused(`This provider makes up to ${MAX_PICTURES} pictures at once.`);
  const { [SIZE_FIELD]: size, ...values } = fieldsFrom(settings.fields, submission.parameters);
  return jsonRequest({
    seed: seedOf(submission.token),
    output_format: 'png',
    ...nested(values),
    ...(size === undefined ? {} : sizeOf(size)),
    prompt,
    negative_prompt: negativePrompt,
    batch_count: outputCount,
    lora: settings.loras,
    // The server would write the prompt and its own settings into each picture.
    embed_image_metadata: false,
    ...referencesOf(submission, settings),
  });
}

function referencesOf({ references }: Submission, { references: field }: SdcppSettings): object {
  if (references.length === 0) return {};
  if (field === undefined) throw new TaskRefused('This model takes no reference files.');
  const files = references.map((file) => new Base64File(file, 'base64'));
  if (field === 'ref_images') return { ref_images: files };
  if (files.length > 1) throw new TaskRefused('This model takes one reference file.');
  return { init_image: files[0] };
}

/** A task without a seed of its own: the server would use the same one for each. */
function seedOf(token: string): number {
  return createHash('sha256').update(token).digest().readUInt32BE() >>> 1;
}

/** `{ 'a.b': 1 }` as `{ a: { b: 1 } }`. */
function nested(values: Readonly<Record<string, FieldValue>>): object {
  const root: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const steps = name.split('.');
    const last = steps.pop() ?? name;
    let at = root;
    for (const step of steps) at = (at[step] ??= {}) as Record<string, unknown>;
    at[last] = value;
  }
  return root;
}
