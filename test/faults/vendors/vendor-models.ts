import type { VendorTerms } from '../history/vendor-history.js';
import { STILL } from '../../adapters/providers/comfyui/workflows.js';

/** Each connected provider of the fault runs, by the kind that it is of. */
export const VENDORS = {
  images: 'openai',
  predictions: 'replicate',
  studio: 'comfyui',
  west: 'comfyui',
  east: 'comfyui',
} as const;

export type VendorName = keyof typeof VENDORS;
export const VENDOR_NAMES = Object.keys(VENDORS) as [VendorName, ...VendorName[]];

/** How much of each provider of the route all workers use together. */
export const MOST_CONCURRENT = 2;
/** How long a request is on its way at most. Faults of links delay by less. */
export const SETTLE_MS = 3_000;
/** No delay of a link or of a vendor is longer: a vendor is asked again when all that was sent has arrived. */
export const LONGEST_DELAY_MS = 1_000;

/** The models that vendors make, and what each does when it is unknown whether a task was taken. */
export const VENDOR_MODELS = {
  'vendor-images': { policy: 'fail', makers: ['images'] },
  'vendor-predictions': { policy: 'resubmit', makers: ['predictions'] },
  'vendor-studio': { policy: 'fail', makers: ['studio'] },
  'vendor-route': { policy: 'fail', makers: ['west', 'east'] },
} as const satisfies Readonly<
  Record<string, { readonly policy: 'fail' | 'resubmit'; readonly makers: readonly VendorName[] }>
>;

export const VENDOR_TERMS: VendorTerms = {
  policies: Object.fromEntries(Object.entries(VENDOR_MODELS).map(([key, { policy }]) => [key, policy])),
  mostConcurrent: Object.fromEntries(VENDOR_MODELS['vendor-route'].makers.map((name) => [name, MOST_CONCURRENT])),
  settleMs: SETTLE_MS,
};

export type VendorModel = keyof typeof VENDOR_MODELS;
export const VENDOR_MODEL_KEYS = Object.keys(VENDOR_MODELS) as [VendorModel, ...VendorModel[]];

/** What a request under this key asks a vendor for. */
export function vendorPrompt(key: string): string {
  return `A card for ${key}`;
}

export const WORKFLOW = { file: 'still.json', content: STILL } as const;

/** Where a vendor is reached, and with which key. */
export interface VendorPlace {
  readonly port: number;
  readonly key: string;
}

/** The sections of the configuration, a line each. Every wait is short, so that a fault outlasts it. */
export function vendorSections(places: Readonly<Record<VendorName, VendorPlace>>): string {
  return VENDOR_NAMES.map((name) => `  ${name}: { ${sectionOf(name, places[name])} }`).join('\n');
}

function sectionOf(name: VendorName, { port, key }: VendorPlace): string {
  const origin = `http://127.0.0.1:${port}`;
  const limits = 'connect_timeout_seconds: 2, answer_timeout_seconds: 3, idle_timeout_seconds: 3';
  const shared = `kind: ${VENDORS[name]}, api_key: "${key}", ${limits}`;
  if (VENDORS[name] !== 'comfyui') return `${shared}, base_url: "${origin}/v1"`;
  const most = name === 'studio' ? '' : `, max_concurrent: ${MOST_CONCURRENT}`;
  return `${shared}, servers: ["${origin}"], settle_seconds: ${SETTLE_MS / 1_000}${most}`;
}

const SETTINGS: Readonly<Record<VendorName, string>> = {
  images: '{ model: gpt-image-2 }',
  predictions:
    '{ model: acme/portrait, fields: { n: { parameter: n, type: integer, minimum: 1, maximum: 2 } }, output: { media_type: image/png } }',
  studio: comfyUiSettings(),
  west: comfyUiSettings(),
  east: comfyUiSettings(),
};

function comfyUiSettings(): string {
  return `{ workflow: ${WORKFLOW.file}, inputs: { prompt: [{ node: "2", input: value }], n: [{ node: "1", input: batch_size }] }, outputs: [{ node: "4" }] }`;
}

/** Entries of the catalog, to follow others. */
export function vendorCatalog(): string {
  return Object.entries(VENDOR_MODELS)
    .map(([key, { policy, makers }]) => {
      const by = makers.map((name) => `{ provider: ${name}, provider_settings: ${SETTINGS[name]}, weight: 1 }`);
      const [only = 'images'] = makers;
      const place =
        makers.length > 1 ? `route: [${by.join(', ')}]` : `provider: ${only}\n    provider_settings: ${SETTINGS[only]}`;
      return `
  - model_key: ${key}
    display_name: ${key}
    modality: image
    operations: [image_generation]
    description: Pictures of a vendor.
    input_schema:
      type: object
      properties:
        n: { type: integer, minimum: 1, maximum: 2, default: 1 }
      required: []
      additionalProperties: false
    limits: { max_reference_uploads: 0, reference_roles: [], upload_media_types: [], max_upload_bytes: 1, max_outputs: 2, negative_prompt: false }
    price: { version: "1", unit: image, credits_per_unit: 1, count_parameter: n, minimum_credits: 1, maximum_credits: 2 }
    ${place}
    queue_timeout_seconds: 3600
    run_timeout_seconds: 60
    max_attempts: 3
    concurrency: 64
    cancel_floor_credits: 0
    on_unknown_acceptance: ${policy}
    poll_interval_ms: 100
`;
    })
    .join('');
}
