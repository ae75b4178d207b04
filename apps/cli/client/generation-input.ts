import type { Command } from 'commander';
import type { JsonObject } from '../../../core/json.js';
import { usageFailure } from '../exit.js';
import { readParameters } from './parameters.js';
import { readReferenceFile, type ReferenceFile } from './reference-file.js';
import type { Darkroom, GenerationRequest, Model } from '../../../clients/typescript/src/index.js';

/** What `generate` and `estimate` both ask for. */
export interface GenerationOptions {
  readonly model: string;
  readonly param?: readonly string[];
  readonly negative?: string;
  readonly reference?: readonly string[];
  readonly startFrame?: string;
  readonly endFrame?: string;
  readonly traceId?: string;
}

/** A request that is complete except for the ids of its uploads. */
export interface GenerationInput {
  readonly model: Model;
  readonly parameters: JsonObject;
  readonly body: GenerationRequest;
  readonly files: readonly ReferenceFile[];
}

const collect = (value: string, before: readonly string[] = []) => [...before, value];

export function withGenerationOptions(command: Command): Command {
  return command
    .option('-m, --model <model_key>', 'the model to use; darkroom models lists them', 'sandbox-image')
    .option('-p, --param <name=value>', "a value for one of the model's parameters (repeatable)", collect)
    .option('-n, --negative <text>', 'what the result should not show')
    .option('-r, --reference <file>', 'a reference image: PNG, JPEG or WebP (repeatable)', collect)
    .option('--start-frame <file>', 'the image a video begins with')
    .option('--end-frame <file>', 'the image a video ends with')
    .option('--trace-id <id>', 'your own id for the generation, given back with it');
}

/**
 * Finds the model, types the parameters and reads the files, from `folder`; nothing is sent that would be refused for
 * these.
 */
export async function readGenerationInput(
  client: Darkroom,
  prompt: string,
  options: GenerationOptions,
  folder: string,
): Promise<GenerationInput> {
  const models = await client.models();
  const model = models.find(({ model_key }) => model_key === options.model);
  if (!model) {
    throw usageFailure(
      `There is no model ${options.model}; the server has ${models.map(({ model_key }) => model_key).join(', ')}.`,
    );
  }
  const parameters: JsonObject = readParameters(options.param ?? [], model.input_schema as JsonObject);
  const files: ReferenceFile[] = [];
  for (const path of options.reference ?? [])
    files.push(await readReferenceFile(path, 'reference_image', model, folder));
  if (options.startFrame !== undefined)
    files.push(await readReferenceFile(options.startFrame, 'start_frame', model, folder));
  if (options.endFrame !== undefined) files.push(await readReferenceFile(options.endFrame, 'end_frame', model, folder));
  refuseRepeats(files);
  const most = model.limits.max_reference_uploads;
  if (files.length > most) throw usageFailure(`${model.model_key} takes at most ${most} files, not ${files.length}.`);
  const body: GenerationRequest = {
    model_key: model.model_key,
    operation: model.operations[0] ?? 'image_generation',
    prompt,
    ...(options.negative === undefined ? {} : { negative_prompt: options.negative }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(options.traceId === undefined ? {} : { client_trace_id: options.traceId }),
  };
  return { model, parameters, body, files };
}

/** Files of one name, role and content are one upload, which a generation takes once. */
function refuseRepeats(files: readonly ReferenceFile[]): void {
  files.forEach((file, index) => {
    const isSame = (other: ReferenceFile) =>
      other.role === file.role && other.sha256 === file.sha256 && other.filename === file.filename;
    if (files.findIndex(isSame) < index)
      throw usageFailure(`${file.path} is given twice; give each ${file.role} once.`);
  });
}
