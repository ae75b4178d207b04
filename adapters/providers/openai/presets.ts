import type { MaskForm } from '../shared/masked-reference.js';
import type { FieldRule, FieldRules } from '../shared/request-fields.js';

/** The capabilities and the API of one server: a model's settings with everything filled in. */
export interface ServerSettings {
  /** `sync`: the Images API, whose answer has the pictures. `video`: the Videos API, whose jobs are polled. */
  readonly api: 'sync' | 'video';
  /** Sent as `model`. */
  readonly model?: string;
  /** The request that cancels a task. `delete` only where that stops the job. */
  readonly cancel: 'none' | 'delete';
  /** How pictures come; `none` sends nothing, to a server that does not take the field. */
  readonly response_format: 'none' | 'b64_json' | 'url';
  /** Hosts other than the server's own that `url` results may be fetched from. */
  readonly result_hosts: readonly string[];
  /** How a task without reference files is sent. */
  readonly request: 'json' | 'multipart';
  readonly references: ReferenceSettings;
  /** How the mask of a reference with transparent areas is sent; none is taken where it is absent. */
  readonly mask?: MaskSettings;
  /** The field for the negative prompt. */
  readonly negative_prompt_field?: string;
  /** Whether an answer of 5xx in JSON ends a task, or leaves open whether the server works on it. */
  readonly server_errors: 'unknown' | 'final';
  /** Whether somebody else charges for tasks. */
  readonly paid: boolean;
  /** Texts that no prompt may have, in any case, as the server reads commands from them. */
  readonly refused_in_prompts: readonly string[];
  readonly fields: FieldRules;
  /** Further fields of tasks with reference files. */
  readonly reference_fields: FieldRules;
}

export interface ReferenceSettings {
  /** `multipart`: as files of a form. `json`: as a list of base64. */
  readonly as: 'multipart' | 'json';
  readonly field: string;
  /** How many files the server takes; 0 where it takes none. */
  readonly max: number;
}

export interface MaskSettings {
  readonly field: string;
  /** `none`: the server takes no mask. */
  readonly form: MaskForm | 'none';
  /** Whether the server refuses a task without a mask. */
  readonly required?: boolean;
}

export const PRESET_NAMES = ['openai', 'localai', 'vllm-omni', 'sglang', 'sd-cpp'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

type ServerPreset = Readonly<Partial<Record<ServerSettings['api'], ServerSettings>>>;

const MAX_SEED = 2 ** 31 - 1;

const integer = (parameter: string, minimum: number, maximum: number): FieldRule => ({
  parameter,
  type: 'integer',
  minimum,
  maximum,
});
const number = (parameter: string, minimum: number, maximum: number): FieldRule => ({
  parameter,
  type: 'number',
  minimum,
  maximum,
});
const choice = (parameter: string, values: readonly string[]): FieldRule => ({
  parameter,
  type: 'string',
  enum: values,
});

const SIZE: FieldRule = { parameter: 'size', type: 'string', pattern: '[1-9][0-9]{1,4}x[1-9][0-9]{1,4}' };
const COUNT = integer('n', 1, 10);
const FORMAT = choice('output_format', ['png', 'jpeg', 'webp']);
const DIFFUSION: FieldRules = {
  seed: integer('seed', 0, MAX_SEED),
  num_inference_steps: integer('num_inference_steps', 1, 200),
  guidance_scale: number('guidance_scale', 0, 20),
};
const IMAGES: FieldRules = {
  size: SIZE,
  n: COUNT,
  output_format: FORMAT,
  ...DIFFUSION,
  true_cfg_scale: number('true_cfg_scale', 0, 20),
};
const VIDEOS: FieldRules = {
  size: SIZE,
  seconds: integer('duration_seconds', 1, 600),
  fps: integer('fps', 1, 120),
  num_frames: integer('num_frames', 1, 10_000),
  ...DIFFUSION,
};

/** stable-diffusion.cpp loads the file that is named behind it. */
const LORA = '<lora:';

const NO_REFERENCES: ReferenceSettings = { as: 'multipart', field: 'image[]', max: 0 };

const SHARED = {
  cancel: 'none',
  response_format: 'b64_json',
  result_hosts: [],
  request: 'json',
  refused_in_prompts: [],
  reference_fields: {},
} as const;
const OWN_SERVER = { ...SHARED, server_errors: 'final', paid: false } as const;
const PAID_SERVICE = { ...SHARED, server_errors: 'unknown', paid: true } as const;

/** The known servers; a model's settings override them. */
export const PRESETS: Readonly<Record<PresetName, ServerPreset>> = {
  'openai': {
    sync: {
      ...PAID_SERVICE,
      api: 'sync',
      response_format: 'none',
      references: { as: 'multipart', field: 'image[]', max: 16 },
      mask: { field: 'mask', form: 'alpha' },
      fields: {
        size: { ...SIZE, pattern: `auto|${SIZE.pattern}` },
        n: COUNT,
        quality: choice('quality', ['auto', 'low', 'medium', 'high', 'xhigh', 'max']),
        background: choice('background', ['auto', 'opaque', 'transparent']),
        output_format: FORMAT,
        output_compression: integer('output_compression', 0, 100),
      },
      reference_fields: { input_fidelity: choice('input_fidelity', ['low', 'high']) },
    },
    video: {
      ...PAID_SERVICE,
      api: 'video',
      request: 'multipart',
      references: { as: 'multipart', field: 'input_reference', max: 1 },
      fields: { size: SIZE, seconds: integer('duration_seconds', 1, 60) },
    },
  },
  'localai': {
    sync: {
      ...OWN_SERVER,
      api: 'sync',
      refused_in_prompts: [LORA],
      references: { as: 'json', field: 'files', max: 1 },
      fields: { size: SIZE, n: COUNT, step: integer('step', 1, 150), seed: integer('seed', 0, MAX_SEED) },
    },
  },
  'vllm-omni': {
    sync: {
      ...OWN_SERVER,
      api: 'sync',
      negative_prompt_field: 'negative_prompt',
      references: { as: 'multipart', field: 'image', max: 8 },
      fields: IMAGES,
    },
    video: {
      ...OWN_SERVER,
      api: 'video',
      cancel: 'delete',
      request: 'multipart',
      negative_prompt_field: 'negative_prompt',
      references: { as: 'multipart', field: 'input_reference', max: 1 },
      fields: {
        ...VIDEOS,
        guidance_scale_2: number('guidance_scale_2', 0, 20),
        flow_shift: number('flow_shift', 0, 20),
      },
    },
  },
  'sglang': {
    sync: {
      ...OWN_SERVER,
      api: 'sync',
      negative_prompt_field: 'negative_prompt',
      references: { as: 'multipart', field: 'image[]', max: 8 },
      fields: IMAGES,
    },
    video: {
      ...OWN_SERVER,
      api: 'video',
      negative_prompt_field: 'negative_prompt',
      references: { as: 'multipart', field: 'input_reference', max: 1 },
      fields: VIDEOS,
    },
  },
  'sd-cpp': {
    sync: {
      ...OWN_SERVER,
      api: 'sync',
      response_format: 'none',
      refused_in_prompts: ['<sd_cpp_extra_args', LORA],
      references: { ...NO_REFERENCES, max: 1 },
      mask: { field: 'mask', form: 'white' },
      fields: { size: SIZE, n: integer('n', 1, 8), output_format: choice('output_format', ['png', 'jpeg']) },
    },
  },
};
