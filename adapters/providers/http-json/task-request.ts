import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { ProviderReference, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { Base64File, type BodyFile } from '../../http/http-request.js';
import { MASK_FORMS, type MaskForm } from '../shared/masked-reference.js';
import { fieldsFrom, type FieldValue, ParameterInvalid } from '../shared/request-fields.js';
import { inputRefusal, refusal } from '../shared/sentences.js';
import { maskedFirst, maskRefusal, type Splits } from '../shared/split-references.js';
import { TaskRefused } from '../shared/task-refused.js';
import { filledBody, maskedPlaces, type Placeholder, placeholdersOf } from './body-template.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { filledPath } from './path-template.js';

export interface TaskRequest {
  /** Below the base address. */
  readonly path: string;
  /** The placeholders of this task alone. */
  readonly headers: Readonly<Record<string, string>>;
  /** A document in which files may stand. */
  readonly body: unknown;
}

/** The request that submits a task, or the refusal of a task that the settings cannot map to one. */
export async function taskRequest(
  settings: HttpJsonSettings,
  submission: Submission,
  splits: Splits,
): Promise<TaskRequest | { readonly refused: SubmitAnswer }> {
  const { submit } = settings;
  const refused = referencesRefusal(settings, submission);
  if (refused !== undefined) return { refused };
  const fields = fieldsOrRefusal(settings, submission);
  if ('refused' in fields) return fields;
  const { token, references } = submission;
  const files = await filesOrRefusal(settings, references, splits);
  if ('refused' in files) return files;
  const body = filledBody(submit.body, (placeholder) => valueOf(placeholder, submission, files, fields.values));
  const left = leftRefusal(files, filesIn(body));
  if (left !== undefined) return { refused: left };
  return {
    path: filledPath(submit.path, { token }),
    headers: submit.idempotency_header === undefined ? {} : { [submit.idempotency_header]: token },
    body,
  };
}

/** A reference as the places of a body may have it. */
interface SentFile {
  readonly role: ReferenceRole;
  readonly isMasked: boolean;
  readonly mediaType: string;
  /** The picture: its colours where it was split. */
  readonly picture: Base64File;
  /** The same where the API reads its transparency. */
  readonly withAlpha: Base64File;
  readonly masks: ReadonlyMap<MaskForm, Base64File>;
}

/** The files of a task, those with a mask first. */
async function filesOrRefusal(
  { submit, files_as: form }: HttpJsonSettings,
  references: readonly ProviderReference[],
  splits: Splits,
): Promise<readonly SentFile[] | { readonly refused: SubmitAnswer }> {
  const placeholders = placeholdersOf(submit.body);
  const files: SentFile[] = [];
  try {
    for (const reference of maskedFirst(references)) {
      // No other file has come before a masked one, and all of these have the same role.
      const isMasked = reference.isMasked === true;
      const forms = isMasked ? maskForms(placeholders, files.length) : [];
      const masks = new Map<MaskForm, Base64File>();
      let picture: BodyFile = reference;
      for (const one of forms) {
        const { colours, mask } = await splits.split(reference, one);
        picture = colours;
        masks.set(one, new Base64File(mask, form));
      }
      if (isMasked && forms.length === 0) picture = await splits.withAlpha(reference);
      files.push({
        role: reference.role,
        isMasked,
        mediaType: picture.mediaType,
        picture: new Base64File(picture, form),
        withAlpha: new Base64File(picture, form),
        masks,
      });
    }
  } catch (error) {
    if (error instanceof TaskRefused) return { refused: inputRefusal(error.message) };
    throw error;
  }
  return files;
}

function maskForms(placeholders: readonly Placeholder[], index: number): readonly MaskForm[] {
  return MASK_FORMS.filter((form) =>
    placeholders.some((one) => one.kind === 'mask' && one.index === index && one.form === form),
  );
}

/** The refusal of a task with a file, or a mask, that has no place where `$if` leaves objects out. */
function leftRefusal(files: readonly SentFile[], isSent: ReadonlySet<unknown>): SubmitAnswer | undefined {
  for (const { role, isMasked, picture, withAlpha, masks } of files) {
    if (!isSent.has(picture) && !isSent.has(withAlpha))
      return inputRefusal(`The model takes no file of the role ${role} together with the other inputs.`);
    if (isMasked && !isSent.has(withAlpha) && ![...masks.values()].some((mask) => isSent.has(mask)))
      return inputRefusal('The model takes no file with transparent areas together with the other inputs.');
  }
  return undefined;
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
  submission: Submission,
): { readonly values: Fields } | { readonly refused: SubmitAnswer } {
  try {
    return { values: fieldsFrom(rules, submission.parameters, submission) };
  } catch (error) {
    if (error instanceof ParameterInvalid) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function valueOf(
  placeholder: Placeholder,
  { prompt, negativePrompt, token }: Submission,
  files: readonly SentFile[],
  fields: Fields,
): unknown {
  switch (placeholder.kind) {
    case 'prompt':
      return prompt === '' ? undefined : prompt;
    case 'negative_prompt':
      return negativePrompt;
    case 'token':
      return token;
    case 'parameter':
      return Object.hasOwn(fields, placeholder.name) ? fields[placeholder.name] : undefined;
    case 'reference': {
      const { role, index, hasAlpha } = placeholder;
      const found = files.filter((file) => file.role === role);
      if (index === 'all') return found.length === 0 ? undefined : found.map(({ picture }) => picture);
      return hasAlpha === true ? found[index]?.withAlpha : found[index]?.picture;
    }
    case 'mask': {
      const file = files.filter(({ role }) => role === placeholder.role)[placeholder.index];
      // A condition may name a form of the mask that is not sent.
      return file?.isMasked === true ? (file.masks.get(placeholder.form) ?? true) : undefined;
    }
    case 'media_type':
      return files.filter(({ role }) => role === placeholder.role)[placeholder.index]?.mediaType;
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
  return maskRefusal(references, maskedPlaces(submit.body));
}

function mostFiles(placeholders: readonly Placeholder[], role: ReferenceRole): number {
  let most = 0;
  for (const one of placeholders)
    if (one.kind === 'reference' && one.role === role)
      most = Math.max(most, one.index === 'all' ? Infinity : one.index + 1);
  return most;
}
