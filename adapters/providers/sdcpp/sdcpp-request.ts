import type { Json } from '../../../core/json.js';
import type { Submission } from '../../../core/ports/provider.js';
import { Base64File, jsonRequest, type SizedRequest } from '../../http/http-request.js';
import { boundsBefore, chosenSeed, drawnSeed } from '../shared/drawn-seed.js';
import { sizeOf } from '../shared/image-size.js';
import type { TaskFiles } from '../shared/masked-reference.js';
import { type FieldRule, fieldsFrom, type FieldValue, ParameterInvalid } from '../shared/request-fields.js';
import { TaskRefused } from '../shared/task-refused.js';
import { SEEDS, SIZE_FIELD } from './sdcpp-fields.js';
import type { SdcppSettings } from './sdcpp-settings.js';

/** More are made as these many, without a word. */
const MAX_PICTURES = 8;

/** Text that some routes and some versions of the server take out of a prompt and obey. */
const COMMANDS = /<\s*(?:sd_cpp_extra_args|lora\s*:)/i;

/**
 * The request that is sent for a task. Nothing but numbers, truth values and listed texts comes from its parameters.
 * Throws `TaskRefused`, and `ParameterInvalid` for a value that the rules do not allow.
 */
export function requestOf(
  submission: Submission,
  settings: SdcppSettings,
  files: TaskFiles = submission,
): SizedRequest {
  const { prompt, negativePrompt = '', outputCount } = submission;
  if (COMMANDS.test(prompt) || COMMANDS.test(negativePrompt))
    throw new TaskRefused(
      'A prompt must not contain "<lora:" or "<sd_cpp_extra_args": this provider takes no settings from it.',
    );
  if (outputCount > MAX_PICTURES) throw new TaskRefused(`This provider makes up to ${MAX_PICTURES} pictures at once.`);
  const { [SIZE_FIELD]: size, ...values } = fieldsFrom(settings.fields, submission.parameters, submission);
  return jsonRequest({
    ...('seed' in values ? {} : { seed: seedOf(submission, settings.fields['seed']) }),
    output_format: 'png',
    ...nested(values),
    ...(size === undefined ? {} : sizeOf(size)),
    prompt,
    negative_prompt: negativePrompt,
    batch_count: outputCount,
    lora: settings.loras,
    // The server would write the prompt and its own settings into each picture.
    embed_image_metadata: false,
    ...referencesOf(files, settings),
  });
}

function referencesOf({ references, mask }: TaskFiles, { references: field }: SdcppSettings): object {
  if (references.length === 0) return {};
  if (field === undefined) throw new TaskRefused('This model takes no reference files.');
  const files = references.map((file) => new Base64File(file, 'base64'));
  if (field === 'ref_images') return { ref_images: files };
  if (files.length > 1) throw new TaskRefused('This model takes one reference file.');
  return {
    init_image: files[0],
    // White where the picture is repainted: the server reads one channel.
    ...(mask === undefined ? {} : { mask_image: new Base64File(mask, 'base64') }),
  };
}

/**
 * A seed for a task without one: the server would use the same one for each. It is what the rule makes of a value that a client
 * could have sent.
 */
function seedOf({ token, parameters, inputSchema }: Submission, rule: FieldRule = {}): FieldValue {
  const { parameter } = rule;
  const bounds = boundsBefore([{ ...SEEDS, ...rule }]);
  const task = parameter === undefined ? { token, parameters: {} } : { token, parameters, inputSchema, parameter };
  const sentFor = (value: Json) => (parameter === undefined ? value : sentBy(rule, parameter, value));
  const choices = rule.enum ?? Object.keys(rule.values ?? {}).flatMap((key) => [key, Number(key)]);
  const drawn =
    rule.enum === undefined && rule.values === undefined
      ? drawnSeed(task, bounds, (seed) => sentFor(seed) !== undefined)
      : chosenSeed(
          task,
          choices.filter((choice) => sentFor(choice) !== undefined),
        );
  const seed = drawn === undefined ? undefined : sentFor(drawn);
  if (typeof seed !== 'number') throw new TaskRefused('This model needs a value for its seed.');
  return seed;
}

function sentBy(rule: FieldRule, parameter: string, value: Json): FieldValue | undefined {
  try {
    return fieldsFrom({ seed: rule }, { [parameter]: value })['seed'];
  } catch (error) {
    if (error instanceof ParameterInvalid) return undefined;
    throw error;
  }
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
