import { randomUUID } from 'node:crypto';
import { comfyUiDriver } from '../../../../adapters/providers/comfyui/comfyui-driver.js';
import type { ComfyUiProvider } from '../../../../adapters/providers/comfyui/comfyui-provider.js';
import { openComfyUi } from '../../../../adapters/providers/comfyui/open-comfyui.js';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Clock } from '../../../../core/ports/machine.js';
import type { ProviderReference, Submission } from '../../../../core/ports/provider.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import type { FakeServer } from '../../../providers/fakes/fake-server.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';
import { folderWith, STILL_SETTINGS, WORKFLOWS } from './workflows.js';

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
  /** Opens the provider as another process would. */
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
  return sampleTask({
    modelKey: 'still',
    settings: STILL_SETTINGS,
    token: randomUUID(),
    timeLeftMs: 90_000,
    ...wish,
  });
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

/** The JSON bodies posted to a route. */
export function postsTo(server: FakeServer, path: string): readonly JsonObject[] {
  return server.requests
    .filter((request) => request.method === 'POST' && request.path === path)
    .map(({ body }) => JSON.parse(body.toString()) as JsonObject);
}
