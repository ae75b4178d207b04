import type { Modality } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { RefusedValue, SettingsPlace } from '../../driver.js';
import { outputFormatFault } from '../shared/output-settings.js';
import { refusedValues } from '../shared/refused-values.js';
import { type FieldRule, parametersIn } from '../shared/request-fields.js';
import { checkSettings } from '../shared/settings.js';
import { leavesOf } from './body-template.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { mappingFault, promptFault } from './mapping-fault.js';
import { SETTINGS_SCHEMA } from './settings-schema.js';

/** One sentence that begins with the JSON Pointer of the place, or the settings with their defaults. */
export type ReadSettings = { readonly fault: string } | { readonly settings: HttpJsonSettings };

const known = new WeakMap<JsonObject, ReadSettings>();

export function readSettings(given: JsonObject): ReadSettings {
  const before = known.get(given);
  if (before !== undefined) return before;
  const read = freshlyRead(given);
  known.set(given, read);
  return read;
}

/** Throws for settings that cannot be used. */
export function settingsOf(given: JsonObject): HttpJsonSettings {
  const read = readSettings(given);
  if ('fault' in read) throw new Error(`The model's provider_settings cannot be used. ${read.fault}`);
  return read.settings;
}

/** The same for a catalog, which says what the model makes, and whether its tasks have a prompt. */
export function settingsFault(
  given: JsonObject,
  { modality, promptRule }: Pick<SettingsPlace, 'modality' | 'promptRule'>,
): string | undefined {
  const read = readSettings(given);
  if ('fault' in read) return read.fault;
  const fault = promptRule === 'none' ? undefined : promptFault(read.settings);
  return fault ?? formatFault(read.settings, modality);
}

/** Values that a rule for a parameter of the body refuses. */
export function valuesRefused(given: JsonObject, inputSchema: JsonObject): readonly RefusedValue[] {
  const read = readSettings(given);
  return 'fault' in read ? [] : refusedValues([read.settings.parameters], inputSchema);
}

export function parametersSent(given: JsonObject): readonly string[] {
  const read = readSettings(given);
  return 'fault' in read ? [] : parametersIn(read.settings.parameters);
}

function freshlyRead(given: JsonObject): ReadSettings {
  const checked = checkSettings(SETTINGS_SCHEMA, given);
  if ('fault' in checked) return { fault: `${checked.pointer || '/'}: ${checked.fault}` };
  const { parameters, poll, output, errors, ...rest } = checked.settings as unknown as HttpJsonSettings;
  const settings = {
    ...rest,
    parameters: Object.fromEntries(Object.entries(parameters).map(([name, rule]) => [name, namedRule(name, rule)])),
    poll: { ...poll, failed_if: [poll.failed_if].flat() },
    output: { ...output, withheld: [output.withheld].flat() },
    errors: { ...errors, code: [errors.code].flat(), message: [errors.message].flat() },
  };
  const fault = mappingFault(settings);
  return fault === undefined ? { settings } : { fault };
}

/** A rule is for the parameter of its own name, unless it says otherwise. */
function namedRule(name: string, rule: FieldRule): FieldRule {
  return rule.value === undefined && rule.parameter === undefined ? { parameter: name, ...rule } : rule;
}

function formatFault({ submit, parameters, output }: HttpJsonSettings, modality: Modality): string | undefined {
  const constants = leavesOf(submit.body).flatMap(({ names, value }) =>
    typeof value === 'string' && !value.startsWith('{') ? [[names.at(-1) ?? '', { value }] as const] : [],
  );
  for (const fields of [parameters, ...constants.map((constant) => Object.fromEntries([constant]))]) {
    const fault = outputFormatFault({ output, fields }, modality);
    if (fault !== undefined) return `/output/media_type or a format that is sent: ${fault}`;
  }
  return undefined;
}
