import type { JsonObject } from '../../../core/json.js';
import { settingsReader } from '../shared/mapped-settings.js';
import { OUTPUT_PROPERTIES, type OutputSettings, POINTER } from '../shared/output-settings.js';
import { UNIT_COST, type UnitCost, unitCostFault } from './billed-units.js';
import { INPUT_SETTINGS, type InputSettings } from '../shared/task-input.js';

/** A model's `provider_settings`. */
export interface FalSettings extends InputSettings, OutputSettings {
  /** The id of the model, such as `fal-ai/flux/dev`. */
  readonly endpoint: string;
  readonly output: OutputSettings['output'] & {
    readonly at: string;
    /** The place where the answer says of each result, in order, whether a filter has made it useless. */
    readonly withheld_at?: string;
  };
  /** The operator's cost of one unit that fal bills. */
  readonly unit_cost?: UnitCost;
}

const SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['endpoint', 'output'],
  properties: {
    endpoint: {
      type: 'string',
      maxLength: 200,
      pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9][A-Za-z0-9_.-]*){1,8}$',
      description: 'the id of a model without an address before it, such as fal-ai/flux/schnell',
    },
    ...INPUT_SETTINGS,
    output: {
      type: 'object',
      additionalProperties: false,
      required: ['media_type', 'at'],
      properties: { ...OUTPUT_PROPERTIES, withheld_at: POINTER },
    },
    unit_cost: UNIT_COST,
  },
};

/** Ids that begin with one of these have the owner and the name after it. */
const NAMESPACES: readonly string[] = ['workflows', 'comfy'];

export const { readSettings, settingsOf, settingsFault } = settingsReader<FalSettings>(
  SCHEMA,
  (settings) => endpointFault(settings) ?? synchronousFault(settings) ?? unitCostFault(settings.unit_cost),
);

/** The owner and the name of a model's app, under which its requests are found: the id without what follows. */
export function appOf(endpoint: string): readonly string[] {
  const segments = endpoint.split('/');
  return segments.slice(0, NAMESPACES.includes(segments[0] ?? '') ? 3 : 2);
}

function endpointFault({ endpoint }: FalSettings): string | undefined {
  if (endpoint.split('/').includes('requests')) return 'endpoint must be the id of a model, not the path of a request.';
  return NAMESPACES.includes(endpoint.split('/')[0] ?? '') && appOf(endpoint).length < 3
    ? 'endpoint must name an owner and a model.'
    : undefined;
}

/** Results would then be in the answer itself. */
function synchronousFault({ fields }: FalSettings): string | undefined {
  return Object.hasOwn(fields, 'sync_mode')
    ? 'fields must not have sync_mode: results are fetched by address.'
    : undefined;
}
