import type { JsonObject } from '../../../core/json.js';
import type { SettingsPlace } from '../../driver.js';
import { outputFormatFault, type OutputSettings } from './output-settings.js';
import { checkSettings } from './settings.js';
import { type InputSettings, inputSettingsFault, limitsFault } from './task-input.js';

export type ReadSettings<Settings> = { readonly fault: string } | { readonly settings: Settings };

/** Reads the `provider_settings` of models whose input and results have their places there. */
export interface SettingsReader<Settings> {
  readonly readSettings: (given: JsonObject) => ReadSettings<Settings>;
  /** The settings of a task that was taken with them. */
  readonly settingsOf: (given: JsonObject) => Settings;
  /** The first fault, for a catalog, which says what the model makes and takes. */
  readonly settingsFault: (given: JsonObject, place: SettingsPlace) => string | undefined;
}

/** `ownFault` is what the schema cannot say. */
export function settingsReader<Settings extends InputSettings & OutputSettings>(
  schema: JsonObject,
  ownFault: (settings: Settings) => string | undefined = () => undefined,
): SettingsReader<Settings> {
  const readSettings = (given: JsonObject): ReadSettings<Settings> => {
    const checked = checkSettings(schema, given);
    if ('fault' in checked) return checked;
    const settings = checked.settings as unknown as Settings;
    const fault = ownFault(settings) ?? inputSettingsFault(settings);
    return fault === undefined ? { settings } : { fault };
  };
  return {
    readSettings,
    settingsOf: (given) => {
      const read = readSettings(given);
      if ('fault' in read) throw new Error(`The model's provider_settings cannot be used. ${read.fault}`);
      return read.settings;
    },
    settingsFault: (given, place) => {
      const read = readSettings(given);
      if ('fault' in read) return read.fault;
      return limitsFault(read.settings, place) ?? outputFormatFault(read.settings, place.modality);
    },
  };
}
