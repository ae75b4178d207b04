import type { KnownField } from '../shared/known-fields.js';

/** Width and height in one text, as `512x768`. It is sent as two fields. */
export const SIZE_FIELD = 'size';

export const SEEDS = { minimum: 0, maximum: 2 ** 31 - 1 };

/**
 * The fields of a request that settings may set, with what the server can use: it takes anything else without a word,
 * and makes something else. A dot leads into an object.
 */
export const SDCPP_FIELDS: Readonly<Record<string, KnownField>> = {
  [SIZE_FIELD]: { type: 'size' },
  'seed': { type: 'integer', ...SEEDS },
  'strength': { type: 'number', minimum: 0, maximum: 1 },
  'clip_skip': { type: 'integer', minimum: -1, maximum: 12 },
  'output_format': { type: 'string', enum: ['png', 'jpeg', 'webp'] },
  'output_compression': { type: 'integer', minimum: 0, maximum: 100 },
  'sample_params.sample_steps': { type: 'integer', minimum: 1, maximum: 100 },
  'sample_params.sample_method': { type: 'string' },
  'sample_params.scheduler': { type: 'string' },
  'sample_params.eta': { type: 'number', minimum: 0, maximum: 10 },
  'sample_params.flow_shift': { type: 'number', minimum: 0, maximum: 100 },
  'sample_params.shifted_timestep': { type: 'integer', minimum: 0, maximum: 1_000 },
  'sample_params.guidance.txt_cfg': { type: 'number', minimum: 0, maximum: 100 },
  'sample_params.guidance.img_cfg': { type: 'number', minimum: 0, maximum: 100 },
  'sample_params.guidance.distilled_guidance': { type: 'number', minimum: 0, maximum: 100 },
  'vae_tiling_params.enabled': { type: 'boolean' },
  'auto_resize_ref_image': { type: 'boolean' },
  'increase_ref_index': { type: 'boolean' },
};
