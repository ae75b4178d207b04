import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json, JsonObject } from '../../../../core/json.js';

type Inputs = Readonly<Record<string, Json>>;

const node = (classType: string, inputs: Inputs): JsonObject => ({ class_type: classType, inputs: { ...inputs } });
const from = (id: string): Json => [id, 0];

/** Plain pictures of one colour, which need no model. The prompt goes to a node that is not run. */
export const STILL: JsonObject = {
  1: node('EmptyImage', { width: 64, height: 48, batch_size: 1, color: 255 }),
  2: node('PrimitiveStringMultiline', { value: 'a text of the author' }),
  3: node('PreviewAny', { source: from('2') }),
  4: node('SaveImage', { images: from('1'), filename_prefix: 'ComfyUI' }),
  5: node('PreviewImage', { images: from('1') }),
};

/** The same as a video. */
export const VIDEO: JsonObject = {
  1: node('EmptyImage', { width: 64, height: 48, batch_size: 5, color: 255 }),
  2: node('PrimitiveStringMultiline', { value: '' }),
  3: node('PreviewAny', { source: from('2') }),
  6: node('CreateVideo', { images: from('1'), fps: 8 }),
  7: node('SaveVideo', { video: from('6'), filename_prefix: 'video/ComfyUI', format: 'auto', codec: 'auto' }),
};

/** A picture is saved unchanged. */
export const EDIT: JsonObject = {
  2: node('PrimitiveStringMultiline', { value: '' }),
  8: node('LoadImage', { image: 'example.png' }),
  4: node('SaveImage', { images: from('8'), filename_prefix: 'ComfyUI' }),
};

const BLURS = 200;

/** Blurs that take minutes on a real server, and that it can stop between two of them. */
export const LONG: JsonObject = {
  1: node('EmptyImage', { width: 1_024, height: 1_024, batch_size: 1, color: 255 }),
  2: node('PrimitiveStringMultiline', { value: '' }),
  ...Object.fromEntries(
    Array.from({ length: BLURS }, (_, index) => [
      String(100 + index),
      node('ImageBlur', { image: from(index === 0 ? '1' : String(99 + index)), blur_radius: 31, sigma: 10 }),
    ]),
  ),
  4: node('SaveImage', { images: from(String(99 + BLURS)), filename_prefix: 'ComfyUI' }),
};

export const PROMPT = [{ node: '2', input: 'value' }];

export const STILL_SETTINGS: JsonObject = {
  workflow: 'still.json',
  inputs: {
    prompt: PROMPT,
    n: [{ node: '1', input: 'batch_size' }],
    size: { width: [{ node: '1', input: 'width' }], height: [{ node: '1', input: 'height' }] },
    seed: [{ node: '1', input: 'color', maximum: 16_777_215 }],
  },
};
export const VIDEO_SETTINGS: JsonObject = { workflow: 'video.json', inputs: { prompt: PROMPT } };
export const EDIT_SETTINGS: JsonObject = {
  workflow: 'edit.json',
  inputs: { prompt: PROMPT, reference_image: [{ node: '8', input: 'image' }] },
};
export const LONG_SETTINGS: JsonObject = {
  workflow: 'long.json',
  inputs: { prompt: PROMPT, seed: [{ node: '1', input: 'color', maximum: 16_777_215 }] },
};

/** A fresh folder with these files, and the function that removes it. */
export function folderWith(files: Readonly<Record<string, JsonObject | string>>): {
  readonly folder: string;
  readonly remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-workflows-'));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export const WORKFLOWS = { 'still.json': STILL, 'video.json': VIDEO, 'edit.json': EDIT, 'long.json': LONG };
