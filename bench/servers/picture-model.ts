import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamingMediaCleaner } from '../../adapters/media/streaming-media-cleaner.js';
import type { Json } from '../../core/json.js';
import { DEFAULT_MARK_POLICY, markOf } from '../../core/media/ai-mark.js';
import type { RequestKind } from '../load/requests.js';
import type { ImagesRequest } from './image-upstream.js';
import { createRequests, SAMPLE_REQUEST } from './sample.js';

/** The model's name, for us and for other gateways. */
export const PICTURE_MODEL = 'picture';
const DISPLAY_NAME = 'Picture';
/** The price of one picture. */
export const PICTURE_CREDITS = 1;

/** The server that makes pictures, and how it is used. */
export interface PictureModel {
  /** The base URL of its API, as in `base_url`. */
  readonly baseUrl: string;
  /** In pixels, such as `1024x1024`. */
  readonly size: string;
  readonly atOnce: number;
  /** Pictures if absent. */
  readonly modality?: 'image' | 'video';
}

/** The request to the server, both by us and by the control. */
export function pictureRequest(size: string): ImagesRequest & Readonly<Record<string, string | number>> {
  return { prompt: SAMPLE_REQUEST.prompt, n: 1, size, response_format: 'b64_json' };
}

/** Creates of one picture, or one video, of that size, with this key. */
export function createPictures(size: string, secret: string, modality: 'image' | 'video' = 'image'): RequestKind {
  const operation = `${modality}_generation`;
  const body = { ...SAMPLE_REQUEST, model_key: PICTURE_MODEL, operation, parameters: { size } };
  return { ...createRequests(secret), body: JSON.stringify(body) };
}

/** A picture of that server as the program delivers it, in base64: with the mark that says how it came into being. */
export async function deliveredPicture(base64: string): Promise<string> {
  const mark = markOf(DEFAULT_MARK_POLICY, { displayName: DISPLAY_NAME }, { references: [] });
  if (mark === undefined) return base64;
  async function* made() {
    yield Buffer.from(base64, 'base64');
  }
  const cleaning = new StreamingMediaCleaner().clean(made(), { mark, manifests: DEFAULT_MARK_POLICY.manifests });
  const pieces: Uint8Array[] = [];
  for await (const piece of cleaning.bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString('base64');
}

/** Configures an installation with one model that uses the driver `openai`. */
export function configurePictures(dataFolder: string, model: PictureModel): void {
  const config = { catalog: 'catalog.yaml', providers: { upstream: { kind: 'openai', base_url: model.baseUrl } } };
  // JSON is YAML too.
  writeFileSync(join(dataFolder, 'darkroom.yaml'), JSON.stringify(config));
  writeFileSync(join(dataFolder, 'catalog.yaml'), JSON.stringify({ version: 1, models: [catalogEntry(model)] }));
}

function catalogEntry({ size, atOnce, modality = 'image' }: PictureModel): Json {
  return {
    model_key: PICTURE_MODEL,
    display_name: DISPLAY_NAME,
    modality,
    operations: [`${modality}_generation`],
    description: 'A picture without meaning.',
    input_schema: {
      type: 'object',
      additionalProperties: false,
      required: ['size'],
      properties: { size: { type: 'string', enum: [size] } },
    },
    limits: {
      max_reference_uploads: 0,
      reference_roles: [],
      upload_media_types: [],
      max_upload_bytes: 1,
      max_outputs: 1,
      negative_prompt: false,
    },
    price: {
      version: '1',
      unit: modality,
      credits_per_unit: PICTURE_CREDITS,
      size_parameter: 'size',
      minimum_credits: PICTURE_CREDITS,
      maximum_credits: PICTURE_CREDITS,
    },
    provider: 'upstream',
    provider_settings: { preset: 'vllm-omni', ...(modality === 'video' ? { api: 'video' } : {}) },
    queue_timeout_seconds: 3_600,
    run_timeout_seconds: 600,
    max_attempts: 1,
    concurrency: atOnce,
    concurrency_per_account: atOnce,
    cancel_floor_credits: 0,
    on_unknown_acceptance: 'fail',
    // A picture is in the first answer.
    poll_interval_ms: modality === 'video' ? 100 : 1_000,
  };
}
