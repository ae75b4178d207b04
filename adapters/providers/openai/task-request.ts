import type { ProviderReference, Submission } from '../../../core/ports/provider.js';
import { Base64File, type FormField, formRequest, jsonRequest, type SizedRequest } from '../../http/http-request.js';
import type { TaskFiles } from '../shared/masked-reference.js';
import { fieldsFrom, type FieldValue } from '../shared/request-fields.js';
import { MASK_NEEDED } from '../shared/split-references.js';
import { TaskRefused } from '../shared/task-refused.js';
import { isMaskNeeded } from './openai-settings.js';
import type { ServerSettings } from './presets.js';

/** The request for a task. */
export interface TaskRequest extends SizedRequest {
  /** Below the server's base address. */
  readonly path: readonly string[];
}

/**
 * The request for a task: the fields that the settings name, and nothing else of what the user sent. Throws
 * `TaskRefused`, and `ParameterInvalid` for a parameter outside of its rule.
 */
export function taskRequest(
  settings: ServerSettings,
  submission: Submission,
  { references, mask }: TaskFiles = submission,
): TaskRequest {
  refuseTexts(settings, submission);
  if (references.length > settings.references.max)
    throw new TaskRefused(`The provider takes at most ${settings.references.max} reference files.`);
  if (references.some(({ role }) => role === 'end_frame')) throw new TaskRefused('The provider takes no end frame.');
  if (isMaskNeeded(settings) && !submission.references.some(({ isMasked }) => isMasked === true))
    throw new TaskRefused(MASK_NEEDED);
  const hasReferences = references.length > 0;
  const rules = { ...settings.fields, ...(hasReferences ? settings.reference_fields : {}) };
  const fields = {
    ...ownFields(settings, submission),
    ...fieldsFrom(rules, submission.parameters, submission),
  };
  const isForm = hasReferences ? settings.references.as === 'multipart' : settings.request === 'multipart';
  const path = settings.api === 'video' ? ['videos'] : ['images', hasReferences && isForm ? 'edits' : 'generations'];
  const { field } = settings.references;
  if (isForm) {
    const files = [...fileFields(field, references), ...maskField(settings, mask)];
    return { path, ...formRequest([...textFields(fields), ...files]) };
  }
  return { path, ...jsonRequest(hasReferences ? { ...fields, [field]: encoded(references) } : fields) };
}

function ownFields(settings: ServerSettings, { prompt, negativePrompt }: Submission): Record<string, FieldValue> {
  const { api, model, response_format: format, negative_prompt_field: negativeField } = settings;
  return {
    ...(prompt === '' ? {} : { prompt }),
    ...(model === undefined ? {} : { model }),
    ...(api === 'video' || format === 'none' ? {} : { response_format: format }),
    ...(negativePrompt === undefined || negativeField === undefined ? {} : { [negativeField]: negativePrompt }),
  };
}

function refuseTexts(settings: ServerSettings, { prompt, negativePrompt }: Submission): void {
  if (negativePrompt !== undefined && settings.negative_prompt_field === undefined)
    throw new TaskRefused('The provider takes no negative prompt.');
  const texts = [prompt, negativePrompt ?? ''].map((text) => text.toLowerCase());
  const refused = settings.refused_in_prompts.some((command) =>
    texts.some((text) => text.includes(command.toLowerCase())),
  );
  if (refused) throw new TaskRefused('The prompt has a text that the provider would read as a command.');
}

function textFields(fields: Readonly<Record<string, FieldValue>>): readonly FormField[] {
  return Object.entries(fields).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }));
}

/** The names of the files are ours: a server may put them into a path. */
function fileFields(name: string, references: readonly ProviderReference[]): readonly FormField[] {
  return references.map((file, index) => ({ name, file, fileName: fileNameOf(file, index) }));
}

function maskField({ mask: settings }: ServerSettings, mask: TaskFiles['mask']): readonly FormField[] {
  return mask === undefined || settings === undefined
    ? []
    : [{ name: settings.field, file: mask, fileName: 'mask.png' }];
}

function fileNameOf({ mediaType }: ProviderReference, index: number): string {
  return `reference-${index + 1}.${mediaType.replace(/^.*\//, '')}`;
}

function encoded(references: readonly ProviderReference[]): readonly Base64File[] {
  return references.map((file) => new Base64File(file, 'base64'));
}
