import { expect } from 'chai';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseCatalog } from '../../../../adapters/catalog-file/file-catalog.js';
import { comfyUiDriver } from '../../../../adapters/providers/comfyui/comfyui-driver.js';
import { proposeCatalog } from '../../../../adapters/providers/comfyui/propose-model.js';
import { catalogTools } from '../../../../apps/wiring/catalog-tools.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { folderWith } from './workflows.js';

export const n = (classType: string, inputs: Readonly<Record<string, Json>>): JsonObject => ({
  class_type: classType,
  inputs: { ...inputs },
});

/** A sampler of 20 steps whose latent, positive and negative conditions come from these nodes. */
export const sampler = (latent: string, positive = '2', negative = '5', more: Readonly<Record<string, Json>> = {}) => {
  const conditions: JsonObject = { positive: [positive, 0], negative: [negative, 0], latent_image: [latent, 0] };
  return n('KSampler', { seed: 1, steps: 20, cfg: 7, ...conditions, ...more });
};

export const STANDARD: JsonObject = {
  1: sampler('6', '2', '5', { denoise: 1, model: ['8', 0] }),
  2: n('CLIPTextEncode', { text: 'a lighthouse', clip: ['8', 1] }),
  5: n('CLIPTextEncode', { text: 'ugly', clip: ['8', 1] }),
  6: n('EmptyLatentImage', { width: 512, height: 768, batch_size: 1 }),
  7: n('VAEDecode', { samples: ['1', 0], vae: ['8', 2] }),
  8: n('CheckpointLoaderSimple', { ckpt_name: 'a.safetensors' }),
  9: n('SaveImage', { images: ['7', 0], filename_prefix: 'x' }),
};

/** `STANDARD` with other inputs of its nodes. */
export function standardWith(changes: Readonly<Record<string, JsonObject>>, more: JsonObject = {}): JsonObject {
  const changed = Object.entries(changes).map(([id, inputs]) => {
    const node = STANDARD[id] as { class_type: string; inputs: JsonObject };
    return [id, n(node.class_type, { ...node.inputs, ...inputs })] as const;
  });
  return { ...STANDARD, ...Object.fromEntries(changed), ...more };
}

export interface ProposedModel {
  readonly input_schema: { readonly properties: JsonObject };
  readonly modality: string;
  readonly prompt: string;
  readonly required_roles: readonly string[];
  readonly limits: {
    readonly max_outputs: number;
    readonly reference_roles: readonly string[];
    readonly max_reference_uploads: number;
  };
  readonly price: JsonObject;
  readonly provider_settings: { readonly inputs: Record<string, unknown>; readonly outputs?: unknown };
}

/** The model of the proposal for a workflow, with its defaults. */
export function proposed(workflow: JsonObject, file = 'my workflow.json'): ProposedModel {
  const { folder, remove } = folderWith({ [file]: workflow });
  try {
    const yaml = proposeCatalog(JSON.stringify(workflow), file);
    const providers = new Map([['comfyui', { driver: comfyUiDriver, options: {} }]]);
    const catalog = parseCatalog(yaml, file, catalogTools({ providers, catalog: join(folder, 'catalog.yaml') }));
    const { models } = parse(catalog.explained()) as { models: ProposedModel[] };
    expect(models).to.have.length(1);
    return models[0]!;
  } finally {
    remove();
  }
}

/** The sentences of the list at the end. */
export function checksOf(workflow: JsonObject): readonly string[] {
  proposed(workflow);
  return proposeCatalog(JSON.stringify(workflow), 'x.json')
    .split('\n')
    .filter((line) => line.startsWith('# Check: '))
    .map((line) => line.slice('# Check: '.length));
}

export const at = (node: string, input: string) => [{ node, input }];

/** A node that saves the pictures of this one as a video of 16 frames per second. */
export const combined = (images: string, more: Readonly<Record<string, Json>> = {}) =>
  n('VHS_VideoCombine', {
    images: [images, 0],
    frame_rate: 16,
    format: 'video/h264-mp4',
    filename_prefix: 'x',
    ...more,
  });

/** Conditions that pass through a node with an output for each, and a last frame. */
export const CONTROLLED: JsonObject = {
  1: n('KSamplerAdvanced', {
    noise_seed: 5,
    steps: 8,
    cfg: 2,
    positive: ['2', 0],
    negative: ['2', 1],
    latent_image: ['2', 2],
  }),
  2: n('WanFirstLastFrameToVideo', {
    positive: ['3', 0],
    negative: ['4', 0],
    width: 832,
    height: 480,
    length: 49,
    batch_size: 1,
    start_image: ['5', 0],
    end_image: ['7', 0],
  }),
  3: n('CLIPTextEncode', { text: 'yes', clip: ['8', 0] }),
  4: n('CLIPTextEncode', { text: 'no', clip: ['8', 0] }),
  5: n('LoadImage', { image: 'a.png' }),
  6: n('LoadImage', { image: 'b.png' }),
  7: n('ImageScale', { image: ['6', 0], upscale_method: 'lanczos' }),
  8: n('CLIPLoader', { clip_name: 'umt5.safetensors' }),
  9: n('VAEDecode', { samples: ['1', 0], vae: ['8', 0] }),
  10: combined('9', { save_output: true }),
  11: n('SaveImage', { images: ['9', 0], filename_prefix: 'frames' }),
};
