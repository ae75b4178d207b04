import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { httpJsonDriver } from '../../../../adapters/providers/http-json/http-json-driver.js';
import { type HttpJsonProvider, openHttpJson } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { ROOT } from '../../../docs/pages.js';
import { MEMORY_BYTES } from '../../../fixtures/marked-media.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

/** The mapping of an API, in the form of a catalog. */
export function mapping(name: 'replicate' | 'fal'): JsonObject {
  return parse(
    readFileSync(join(ROOT, `test/adapters/providers/http-json/mappings/${name}.yaml`), 'utf8'),
  ) as JsonObject;
}

/** The mapping of the first model of an example catalog. */
export function exampleMapping(name: 'http-json' | 'veo' | 'seedance' | 'minimax'): JsonObject {
  const { models } = parse(readFileSync(join(ROOT, `config/providers/${name}.catalog.yaml`), 'utf8')) as {
    readonly models: readonly { readonly provider_settings: JsonObject }[];
  };
  return models[0]!.provider_settings;
}

/** The mapping for the API of `StudioFake`. */
export function studioMapping(): JsonObject {
  return exampleMapping('http-json');
}

/** How each of these APIs gets its key. */
export const AUTH = {
  replicate: 'bearer',
  fal: 'scheme:Key',
  studio: 'header:x-api-key',
  veo: 'header:x-goog-api-key',
  seedance: 'bearer',
  minimax: 'bearer',
} as const;

/** An instance with the defaults of its driver. */
export function httpJsonAt(
  base: string,
  options: JsonObject = {},
  log: Log = SILENT,
  memory = new MemoryBudget(MEMORY_BYTES),
): HttpJsonProvider {
  const given = { ...defaultsOf(httpJsonDriver.options), base_url: base, ...options };
  return openHttpJson({ options: given, instance: 'http-json', log, memory });
}

export function task(wish: Partial<Submission> & { readonly settings: JsonObject }): Submission {
  return sampleTask({ modelKey: 'studio-picture', outputCount: 4, timeLeftMs: 90_500, ...wish });
}
