import { EDIT, STILL } from '../../adapters/providers/comfyui/workflows.js';
import type { VendorTerms } from '../../history/recorded/history.js';

/** The kind of each connected provider of the fault runs. */
export const VENDORS = {
  images: 'openai',
  predictions: 'replicate',
  studio: 'comfyui',
  west: 'comfyui',
  east: 'comfyui',
} as const;

export type VendorName = keyof typeof VENDORS;
export const VENDOR_NAMES = Object.keys(VENDORS) as [VendorName, ...VendorName[]];

/**
 * The concurrency limit of a provider over all workers. A studio makes pictures sequentially, three per second: more
 * tasks at a time would wait past their run deadlines.
 */
export const MOST_CONCURRENT: Readonly<Partial<Record<VendorName, number>>> = { studio: 32, west: 2, east: 2 };
/** How long a request is in transit at most. Faults of links delay by less. */
export const SETTLE_MS = 3_000;
/** The longest delay of a link or of a vendor: a vendor is asked again when everything sent has arrived. */
export const LONGEST_DELAY_MS = 1_000;

interface ModelOfVendors {
  /** The policy when it is unknown whether a task was accepted. */
  readonly policy: 'fail' | 'resubmit';
  readonly makers: readonly VendorName[];
  /** Whether it makes one picture from a reference file, which is uploaded to the vendor, instead of one or two. */
  readonly takesReference: boolean;
  /** Long enough that a task of Replicate, which ends at its second poll, can be cancelled while it runs. */
  readonly pollIntervalMs: number;
}

/** The models that vendors make. */
export const VENDOR_MODELS = {
  'vendor-images': { policy: 'fail', makers: ['images'], takesReference: false, pollIntervalMs: 100 },
  'vendor-predictions': { policy: 'resubmit', makers: ['predictions'], takesReference: false, pollIntervalMs: 300 },
  'vendor-paid': { policy: 'fail', makers: ['predictions'], takesReference: false, pollIntervalMs: 300 },
  'vendor-studio': { policy: 'fail', makers: ['studio'], takesReference: false, pollIntervalMs: 100 },
  'vendor-edit': { policy: 'fail', makers: ['studio'], takesReference: true, pollIntervalMs: 100 },
  'vendor-route': { policy: 'fail', makers: ['west', 'east'], takesReference: false, pollIntervalMs: 100 },
} as const satisfies Readonly<Record<string, ModelOfVendors>>;

export const VENDOR_TERMS: VendorTerms = {
  policies: Object.fromEntries(Object.entries(VENDOR_MODELS).map(([key, { policy }]) => [key, policy])),
  paid: ['vendor-images', 'vendor-paid'],
  mostConcurrent: MOST_CONCURRENT,
  settleMs: SETTLE_MS,
  longestDelayMs: LONGEST_DELAY_MS,
};

export type VendorModel = keyof typeof VENDOR_MODELS;
export const VENDOR_MODEL_KEYS = Object.keys(VENDOR_MODELS) as [VendorModel, ...VendorModel[]];
/** Models that need no reference file. */
export const PLAIN_VENDOR_MODEL_KEYS = VENDOR_MODEL_KEYS.filter((key) => !VENDOR_MODELS[key].takesReference) as [
  VendorModel,
  ...VendorModel[],
];
/** Models whose tasks a vendor can be asked to stop. */
export const STOPPABLE_VENDOR_MODEL_KEYS = PLAIN_VENDOR_MODEL_KEYS.filter((key) => key !== 'vendor-images');

/** The prompt for a vendor in a request under this key. */
export function vendorPrompt(key: string): string {
  return `A card for ${key}`;
}

export const WORKFLOWS = [
  { file: 'still.json', content: STILL },
  { file: 'edit.json', content: EDIT },
] as const;

/** The address of a vendor, and its key. */
export interface VendorPlace {
  readonly port: number;
  readonly key: string;
}

/** The sections of the configuration, one line each. Every wait is short, so that a fault outlasts it. */
export function vendorSections(places: Readonly<Record<VendorName, VendorPlace>>): string {
  return VENDOR_NAMES.map((name) => `  ${name}: { ${sectionOf(name, places[name])} }`).join('\n');
}

function sectionOf(name: VendorName, { port, key }: VendorPlace): string {
  const origin = `http://127.0.0.1:${port}`;
  const limits = 'connect_timeout_seconds: 2, answer_timeout_seconds: 3, idle_timeout_seconds: 3';
  const shared = `kind: ${VENDORS[name]}, api_key: "${key}", ${limits}`;
  if (VENDORS[name] !== 'comfyui') return `${shared}, base_url: "${origin}/v1"`;
  const most = `max_concurrent: ${MOST_CONCURRENT[name]}`;
  return `${shared}, servers: ["${origin}"], settle_seconds: ${SETTLE_MS / 1_000}, ${most}`;
}

const COMFYUI_STILL =
  '{ workflow: still.json, inputs: { prompt: [{ node: "2", input: value }], n: [{ node: "1", input: batch_size }] }, outputs: [{ node: "4" }] }';
const COMFYUI_EDIT =
  '{ workflow: edit.json, inputs: { prompt: [{ node: "2", input: value }], reference_image: [{ node: "8", input: image }] }, outputs: [{ node: "4" }] }';

const PREDICTION =
  '{ model: acme/portrait, fields: { n: { parameter: n, type: integer, minimum: 1, maximum: 2 } }, output: { media_type: image/png } }';

const SETTINGS: Readonly<Record<VendorModel, string>> = {
  'vendor-images': '{ model: gpt-image-2 }',
  'vendor-predictions': PREDICTION,
  'vendor-paid': PREDICTION,
  'vendor-studio': COMFYUI_STILL,
  'vendor-edit': COMFYUI_EDIT,
  'vendor-route': COMFYUI_STILL,
};

/** Entries to append to the catalog. */
export function vendorCatalog(): string {
  return VENDOR_MODEL_KEYS.map(entryOf).join('');
}

function entryOf(key: VendorModel): string {
  const { policy, makers, takesReference, pollIntervalMs }: ModelOfVendors = VENDOR_MODELS[key];
  const by = makers.map((name) => `{ provider: ${name}, provider_settings: ${SETTINGS[key]}, weight: 1 }`);
  const place =
    makers.length > 1
      ? `route: [${by.join(', ')}]`
      : `provider: ${String(makers[0])}\n    provider_settings: ${SETTINGS[key]}`;
  const properties = takesReference ? '{}' : '{ n: { type: integer, minimum: 1, maximum: 2, default: 1 } }';
  const references = takesReference
    ? 'max_reference_uploads: 1, reference_roles: [reference_image], upload_media_types: [image/png], max_upload_bytes: 1000000, max_outputs: 1'
    : 'max_reference_uploads: 0, reference_roles: [], upload_media_types: [], max_upload_bytes: 1, max_outputs: 2';
  const units = takesReference ? 'unit: image' : 'unit: image, count_parameter: n';
  return `
  - model_key: ${key}
    display_name: ${key}
    modality: image
    operations: [image_generation]
    description: Pictures of a vendor.
    input_schema:
      type: object
      properties: ${properties}
      required: []
      additionalProperties: false
    limits: { ${references}, negative_prompt: false }
    price: { version: "1", ${units}, credits_per_unit: 1, minimum_credits: 1, maximum_credits: ${takesReference ? 1 : 2} }
    ${place}
    queue_timeout_seconds: 3600
    run_timeout_seconds: 60
    max_attempts: 3
    concurrency: 64
    cancel_floor_credits: 0
    on_unknown_acceptance: ${policy}
    poll_interval_ms: ${pollIntervalMs}
`;
}
