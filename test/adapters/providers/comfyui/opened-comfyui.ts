import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { comfyUiDriver } from '../../../../adapters/providers/comfyui/comfyui-driver.js';
import type { ComfyUiProvider } from '../../../../adapters/providers/comfyui/comfyui-provider.js';
import { openComfyUi } from '../../../../adapters/providers/comfyui/open-comfyui.js';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Clock } from '../../../../core/ports/machine.js';
import type { ProviderReference, Submission } from '../../../../core/ports/provider.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import type { FakeServer } from '../../../providers/fakes/fake-server.js';
import { defaultsOf } from '../vendor-subject.js';

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

/** A picture is saved as it is. */
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

/** A fresh folder with these files, and what removes it. */
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

export interface ComfyUiWishes {
  readonly folder: string;
  readonly options?: JsonObject;
  readonly log?: Log;
  readonly clock?: Clock;
}

/** An instance with the defaults of its driver. */
export function comfyUiAt(
  servers: readonly string[],
  { folder, options = {}, log = SILENT, clock = new SystemClock() }: ComfyUiWishes,
): ComfyUiProvider {
  const given = { ...defaultsOf(comfyUiDriver.options), servers: [...servers], ...options };
  return openComfyUi({
    options: given,
    workflowFolder: folder,
    instance: 'comfyui',
    log,
    clock,
    memory: new MemoryBudget(64 * 1024 * 1024),
  });
}

/** A log that keeps its lines. */
export class KeptLog implements Log {
  readonly lines: (readonly [event: string, about: Readonly<Record<string, unknown>>])[] = [];

  info(event: string, about: Readonly<Record<string, unknown>>): void {
    this.lines.push([event, about]);
  }

  warn(event: string, about: Readonly<Record<string, unknown>>): void {
    this.lines.push([event, about]);
  }
}

/** A fake server, a folder of workflows, and an instance on both. */
export interface Studio {
  readonly fake: ComfyUiFake;
  readonly provider: ComfyUiProvider;
  readonly folder: string;
  readonly log: KeptLog;
  /** As another process opens it. */
  readonly another: (wishes?: Partial<ComfyUiWishes> & { readonly servers?: readonly string[] }) => ComfyUiProvider;
  readonly close: () => Promise<void>;
}

export async function openStudio(
  fakeOptions: Parameters<typeof ComfyUiFake.open>[0] = {},
  wishes: Partial<ComfyUiWishes> = {},
): Promise<Studio> {
  const fake = await ComfyUiFake.open(fakeOptions);
  const { folder, remove } = folderWith(WORKFLOWS);
  const log = new KeptLog();
  const opened: ComfyUiProvider[] = [];
  const another: Studio['another'] = ({ servers = [fake.url], ...more } = {}) => {
    const provider = comfyUiAt(servers, { folder, log, ...wishes, ...more });
    opened.push(provider);
    return provider;
  };
  return {
    fake,
    provider: another(),
    folder,
    log,
    another,
    close: async () => {
      await Promise.all(opened.map((provider) => provider.close()));
      await fake.close();
      remove();
    },
  };
}

export function task(wish: Partial<Submission> = {}): Submission {
  return {
    generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
    attempt: 1,
    modelKey: 'still',
    operation: 'image_generation',
    prompt: 'a lighthouse',
    parameters: {},
    references: [],
    settings: STILL_SETTINGS,
    token: randomUUID(),
    outputCount: 1,
    timeLeftMs: 90_000,
    ...wish,
  };
}

export function reference(bytes: Uint8Array, wish: Partial<ProviderReference> = {}): ProviderReference {
  return {
    role: 'reference_image',
    mediaType: 'image/png',
    byteSize: bytes.byteLength,
    open: async () => streamOf(bytes),
    ...wish,
  };
}

/** The JSON of what was posted to a route. */
export function postsTo(server: FakeServer, path: string): readonly JsonObject[] {
  return server.requests
    .filter((request) => request.method === 'POST' && request.path === path)
    .map(({ body }) => JSON.parse(body.toString()) as JsonObject);
}
