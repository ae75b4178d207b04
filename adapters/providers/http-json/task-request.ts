import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { Base64File } from '../../http/bodies/json-request.js';
import { fieldsFrom, ParameterInvalid, type FieldValue } from '../shared/request-fields.js';
import { inputRefusal, refusal } from '../shared/sentences.js';
import { filledBody, placeholdersOf, type Placeholder } from './body-template.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { filledPath } from './path-template.js';

export interface TaskRequest {
  /** Below the base address. */
  readonly path: string;
  /** Of this task alone. */
  readonly headers: Readonly<Record<string, string>>;
  /** A document in which files may stand. */
  readonly body: unknown;
}

/** The request that submits a task, or the refusal of a task that the settings cannot map to one. */
export function taskRequest(
  settings: HttpJsonSettings,
  submission: Submission,
): TaskRequest | { readonly refused: SubmitAnswer } {
  const { submit } = settings;
  const refused = referencesRefusal(settings, submission);
  if (refused !== undefined) return { refused };
  const fields = fieldsOrRefusal(settings, submission);
  if ('refused' in fields) return fields;
  const { token, references } = submission;
  const files = references.map((reference) => new Base64File(reference, settings.files_as));
  const body = filledBody(submit.body, (placeholder) => valueOf(placeholder, submission, files, fields.values));
  const isSent = filesIn(body);
  const left = references.find((_, index) => !isSent.has(files[index]));
  if (left !== undefined)
    return {
      refused: inputRefusal(`The model takes no file of the role ${left.role} together with the other inputs.`),
    };
  return {
    path: filledPath(submit.path, { token }),
    headers: submit.idempotency_header === undefined ? {} : { [submit.idempotency_header]: token },
    body,
  };
}

/** The files in a document. */
function filesIn(document: unknown): ReadonlySet<unknown> {
  if (document instanceof Base64File) return new Set([document]);
  if (typeof document !== 'object' || document === null) return new Set();
  return new Set(Object.values(document).flatMap((value) => [...filesIn(value)]));
}

type Fields = Readonly<Record<string, FieldValue>>;

function fieldsOrRefusal(
  { parameters: rules }: HttpJsonSettings,
  { parameters }: Submission,
): { readonly values: Fields } | { readonly refused: SubmitAnswer } {
  try {
    return { values: fieldsFrom(rules, parameters) };
  } catch (error) {
    if (error instanceof ParameterInvalid) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function valueOf(
  placeholder: Placeholder,
  { prompt, negativePrompt, token, references }: Submission,
  files: readonly Base64File[],
  fields: Fields,
): unknown {
  switch (placeholder.kind) {
    case 'prompt':
      return prompt;
    case 'negative_prompt':
      return negativePrompt;
    case 'token':
      return token;
    case 'parameter':
      return Object.hasOwn(fields, placeholder.name) ? fields[placeholder.name] : undefined;
    case 'reference': {
      const { role, index } = placeholder;
      const found = files.filter((_, at) => references[at]?.role === role);
      if (index !== 'all') return found[index];
      return found.length === 0 ? undefined : found;
    }
    case 'media_type':
      return references.filter(({ role }) => role === placeholder.role)[placeholder.index]?.mediaType;
  }
}

/** Every file of a task must have a place in the body. */
function referencesRefusal({ submit }: HttpJsonSettings, { references }: Submission): SubmitAnswer | undefined {
  const placeholders = placeholdersOf(submit.body);
  for (const { role } of references) {
    const most = mostFiles(placeholders, role);
    if (most === 0) return refusal('settings wrong');
    if (references.filter((other) => other.role === role).length > most)
      return inputRefusal(`The model takes no more than ${most} of the role ${role}.`);
  }
  return undefined;
}

function mostFiles(placeholders: readonly Placeholder[], role: ReferenceRole): number {
  let most = 0;
  for (const one of placeholders)
    if (one.kind === 'reference' && one.role === role)
      most = Math.max(most, one.index === 'all' ? Infinity : one.index + 1);
  return most;
}
