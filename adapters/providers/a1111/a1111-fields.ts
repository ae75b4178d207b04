import type { KnownField } from '../shared/known-fields.js';

/** Width and height in one text, as `512x768`. It is sent as two fields. */
export const SIZE_FIELD = 'size';

const SHARE = { type: 'number', minimum: 0, maximum: 1 } as const;
const GUIDANCE = { type: 'number', minimum: 0, maximum: 30 } as const;
/** -1 is a seed of chance. */
const SEED = { type: 'integer', minimum: -1, maximum: 2 ** 32 - 1 } as const;

/**
 * The fields of a request that settings may set, with what the servers can use. Scripts, extensions, paths and options of
 * the server are not among them.
 */
export const A1111_FIELDS: Readonly<Record<string, KnownField>> = {
  [SIZE_FIELD]: { type: 'size' },
  seed: SEED,
  subseed: SEED,
  subseed_strength: SHARE,
  steps: { type: 'integer', minimum: 1, maximum: 150 },
  cfg_scale: GUIDANCE,
  distilled_cfg_scale: GUIDANCE,
  image_cfg_scale: GUIDANCE,
  sampler_name: { type: 'string' },
  scheduler: { type: 'string' },
  denoising_strength: SHARE,
  resize_mode: { type: 'integer', minimum: 0, maximum: 3 },
  eta: SHARE,
  clip_skip: { type: 'integer', minimum: 1, maximum: 12 },
  tiling: { type: 'boolean' },
  restore_faces: { type: 'boolean' },
  enable_hr: { type: 'boolean' },
  hr_scale: { type: 'number', minimum: 1, maximum: 4 },
  hr_upscaler: { type: 'string' },
  hr_second_pass_steps: { type: 'integer', minimum: 0, maximum: 150 },
  inpainting_fill: { type: 'integer', minimum: 0, maximum: 3 },
  inpaint_full_res: { type: 'boolean' },
  inpaint_full_res_padding: { type: 'integer', minimum: 0, maximum: 256 },
  mask_blur: { type: 'integer', minimum: 0, maximum: 64 },
};

/** Those that are sent with a mask only. */
export const MASK_FIELDS: readonly string[] = [
  'inpainting_fill',
  'inpaint_full_res',
  'inpaint_full_res_padding',
  'mask_blur',
];
