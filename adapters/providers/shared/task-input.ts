import { isFrame, REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities, ProviderReference, Submission } from '../../../core/ports/provider.js';
import type { SettingsPlace } from '../../driver.js';
import type { BodyFile } from '../../http/http-request.js';
import { isObject } from './json-members.js';
import { MASK_FORMS, type MaskForm } from './masked-reference.js';
import { operatorFieldsFault, promptFieldFault } from './operator-fields.js';
import {
  FIELD_RULES_SCHEMA,
  type FieldRules,
  fieldRulesFault,
  fieldsFrom,
  ParameterInvalid,
} from './request-fields.js';
import { inputRefusal, refusal } from './sentences.js';
import { maskedFirst, maskRefusal, requiredMaskFault, type Splits } from './split-references.js';
import { TaskRefused } from './task-refused.js';

/**
 * The part of `provider_settings` that says which field of a model's input has what. Parameters that it does not name
 * are never sent.
 */
export interface InputSettings {
  readonly prompt_field: string;
  readonly negative_prompt_field?: string;
  /** Reference files, by their role. Several fields of one role are filled in their order. */
  readonly references: Readonly<Partial<Record<ReferenceRole, ReferenceField | readonly ReferenceField[]>>>;
  /** How the model learns which areas of a reference image it makes anew; without it, the model takes no masks. */
  readonly mask?: MaskField;
  readonly fields: FieldRules;
}

interface MaskField {
  /** Takes the mask; absent where the model reads the transparency of the picture itself. */
  readonly field?: string;
  /** The model generates the white, the black or the transparent areas of the mask, or of the picture itself, anew. */
  readonly form: MaskForm;
  /** Whether the model refuses a task without a mask. */
  readonly required?: boolean;
}

interface ReferenceField {
  readonly field: string;
  /** Whether the field takes a list of files. */
  readonly many: boolean;
  /** The most files that a list takes. */
  readonly maximum?: number;
}

const FIELD_NAME: JsonObject = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$' };

const REFERENCE_FIELD: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['field'],
  properties: {
    field: FIELD_NAME,
    many: { type: 'boolean', default: false },
    maximum: { type: 'integer', minimum: 1, maximum: 100 },
  },
};

/** A field, or several: what is said of an object and of a list does not concern the other. */
const REFERENCE_FIELDS: JsonObject = {
  ...REFERENCE_FIELD,
  type: ['object', 'array'],
  minItems: 1,
  maxItems: 8,
  items: REFERENCE_FIELD,
};

const MASK_FIELD: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['form'],
  properties: { field: FIELD_NAME, form: { type: 'string', enum: [...MASK_FORMS] }, required: { type: 'boolean' } },
};

/** The properties of `InputSettings` for the JSON Schema of `provider_settings`. */
export const INPUT_SETTINGS: JsonObject = {
  prompt_field: { ...FIELD_NAME, default: 'prompt' },
  negative_prompt_field: FIELD_NAME,
  references: {
    type: 'object',
    additionalProperties: false,
    default: {},
    properties: Object.fromEntries(REFERENCE_ROLES.map((role) => [role, REFERENCE_FIELDS])),
  },
  mask: MASK_FIELD,
  fields: { ...FIELD_RULES_SCHEMA, default: {} },
};

/** The first thing in the settings that contradicts another, or would let users write what is the operator's, as one sentence. */
export function inputSettingsFault(settings: InputSettings): string | undefined {
  const { prompt_field: prompt, negative_prompt_field: negative, references, mask, fields } = settings;
  const fed = [
    prompt,
    ...(negative === undefined ? [] : [negative]),
    ...Object.values(references).flatMap((one) => [one].flat().map(({ field }) => field)),
    ...(mask?.field === undefined ? [] : [mask.field]),
    ...Object.keys(fields),
  ];
  const twice = fed.find((field, index) => fed.indexOf(field) !== index);
  if (twice !== undefined) return `The field ${twice} of the input is given twice.`;
  return (
    promptFieldFault('prompt_field', prompt) ??
    promptFieldFault('negative_prompt_field', negative) ??
    referencesFault(settings) ??
    maskFault(settings) ??
    operatorFieldsFault(fields) ??
    fieldRulesFault(fields)
  );
}

function referencesFault({ references }: InputSettings): string | undefined {
  for (const [role, fields] of entriesOf(references))
    for (const [index, { field, many, maximum }] of fields.entries()) {
      if (!many && maximum !== undefined && maximum > 1)
        return `references.${role}: ${field} has a maximum of ${maximum}, and takes one file; give it many: true.`;
      if (many && maximum === undefined && index < fields.length - 1)
        return `references.${role}: ${field} needs a maximum: without one, no file is left for the fields after it.`;
    }
  return undefined;
}

/** The first input that the limits of a model allow and its settings have no field for, as one sentence. */
export function limitsFault(
  { references, negative_prompt_field: negative, mask }: InputSettings,
  place: SettingsPlace,
): string | undefined {
  const { referenceRoles, requiredRoles, maxReferenceUploads, takesNegativePrompt } = place;
  if (takesNegativePrompt && negative === undefined)
    return 'negative_prompt_field must name the field for the negative prompt, since negative_prompt of limits is true.';
  let most = 0;
  for (const role of referenceRoles) {
    const fields = references[role];
    if (fields === undefined)
      return `references has no field for the role ${role}; give it one, or remove it from reference_roles of limits.`;
    // A request has one file of the role of a frame.
    const ofRole = isFrame(role) ? 1 : mostOfAll(fields);
    const required = requiredRoles.filter((one) => one === role).length;
    if (required > ofRole)
      return `references takes ${counted(ofRole)} of the role ${role}, and required_roles asks for ${required}.`;
    most += ofRole;
  }
  if (maxReferenceUploads > most && referenceRoles.length > 0)
    return `references has fields for ${counted(most)}, and max_reference_uploads of limits is ${maxReferenceUploads}; give it more, or lower the limit.`;
  return mask?.required === true ? requiredMaskFault(place) : undefined;
}

function counted(files: number): string {
  return `${files} file${files === 1 ? '' : 's'}`;
}

function maskFault({ references, mask }: InputSettings): string | undefined {
  if (mask === undefined) return undefined;
  if (references.reference_image === undefined)
    return 'mask belongs to a reference_image; references must name the field for it.';
  return mask.field === undefined && mask.form !== 'alpha'
    ? `mask.field must name the field that takes the mask whose ${mask.form} areas are made anew.`
    : undefined;
}

/** The mask capabilities of a model, from its `provider_settings`. */
export function maskCapability({ mask }: JsonObject): Pick<ProviderCapabilities, 'maxMaskedReferences' | 'needsMask'> {
  if (mask === undefined) return {};
  return { maxMaskedReferences: 1, ...(isObject(mask) && mask['required'] === true ? { needsMask: true } : {}) };
}

/** A model's input, or the refusal of a task that the settings cannot map to one. */
export type TaskInput =
  | { readonly input: Readonly<Record<string, unknown>> }
  | { readonly refused: ReturnType<typeof refusal> };

/**
 * The input of a model; without a prompt it has no field for one. `valueOf` gives what a file is sent as; it is called only where all else is in order.
 */
export async function taskInput(
  settings: InputSettings,
  submission: Submission,
  valueOf: (file: BodyFile) => Promise<unknown>,
  splits: Splits,
): Promise<TaskInput> {
  const { prompt, negativePrompt, references } = submission;
  const { prompt_field: promptField, negative_prompt_field: negativeField } = settings;
  const fields = fieldsOrRefusal(settings, submission);
  if ('refused' in fields) return fields;
  const refused = referencesRefusal(settings, references);
  if (refused !== undefined) return { refused };
  const input: Record<string, unknown> = { ...fields.input, ...(prompt === '' ? {} : { [promptField]: prompt }) };
  if (negativeField !== undefined && negativePrompt !== undefined) input[negativeField] = negativePrompt;
  const sent = await splitMask(settings, references, splits);
  if ('refused' in sent) return sent;
  if (sent.mask !== undefined) input[sent.mask.field] = await valueOf(sent.mask.file);
  for (const [role, fieldsOfRole] of entriesOf(settings.references)) {
    let rest = maskedFirst(references).filter((reference) => reference.role === role);
    for (const place of fieldsOfRole) {
      const values: unknown[] = [];
      for (const reference of rest.slice(0, mostOf(place)))
        values.push(await valueOf(sent.of.get(reference) ?? reference));
      rest = rest.slice(mostOf(place));
      if (values.length > 0) input[place.field] = place.many ? values : values[0];
    }
  }
  return { input };
}

interface SplitMask {
  /** Returns the value that is sent for a reference. */
  readonly of: ReadonlyMap<ProviderReference, BodyFile>;
  readonly mask?: { readonly field: string; readonly file: BodyFile };
}

/** The files that are sent for the masked reference: its colours and its mask, or a picture with transparency. */
async function splitMask(
  { mask }: InputSettings,
  references: readonly ProviderReference[],
  splits: Splits,
): Promise<SplitMask | { readonly refused: ReturnType<typeof refusal> }> {
  const masked = references.find(({ isMasked }) => isMasked === true);
  if (masked === undefined || mask === undefined) return { of: new Map() };
  try {
    if (mask.field === undefined) return { of: new Map([[masked, await splits.withAlpha(masked)]]) };
    const { colours, mask: file } = await splits.split(masked, mask.form);
    return { of: new Map([[masked, colours]]), mask: { field: mask.field, file } };
  } catch (error) {
    if (error instanceof TaskRefused) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function fieldsOrRefusal({ fields }: InputSettings, submission: Submission): TaskInput {
  try {
    return { input: fieldsFrom(fields, submission.parameters, submission) };
  } catch (error) {
    if (error instanceof ParameterInvalid) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function referencesRefusal({ references: known, mask }: InputSettings, references: readonly ProviderReference[]) {
  for (const { role } of references) {
    const fields = known[role];
    if (fields === undefined) return refusal('settings wrong');
    const most = mostOfAll(fields);
    if (references.filter((other) => other.role === role).length > most)
      return inputRefusal(`The model takes ${most === 1 ? 'one file' : `at most ${most} files`} of the role ${role}.`);
  }
  return maskRefusal(references, mask === undefined ? 0 : 1, mask?.required);
}

function mostOfAll(fields: ReferenceField | readonly ReferenceField[]): number {
  return [fields].flat().reduce((sum, field) => sum + mostOf(field), 0);
}

function mostOf({ many, maximum = Infinity }: ReferenceField): number {
  return many ? maximum : 1;
}

function entriesOf(references: InputSettings['references']) {
  return Object.entries(references).map(([role, fields]) => [role, [fields].flat()] as const);
}
