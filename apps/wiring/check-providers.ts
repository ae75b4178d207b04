import { loadCatalog } from '../../adapters/catalog-file/file-catalog.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import type { JsonObject } from '../../core/json.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { Catalog } from '../../core/ports/catalog.js';
import type { Provider, ProviderCheck, ProviderCapabilities } from '../../core/ports/provider.js';
import type { Config } from '../config/config.js';
import { QUIETLY } from '../stores/open-database.js';
import { catalogTools } from './catalog-tools.js';
import { openProvider } from './open-provider.js';

/** The maximum duration of the check of one provider, in milliseconds. */
const CHECK_MS = 60_000;

/** The result of checking one configured provider. */
export interface CheckedProvider extends ProviderCheck {
  readonly name: string;
  readonly kind: string;
  /** Whether there was anything to try. */
  readonly isTried: boolean;
  /** The models that have the provider in their routes, with its capabilities for each. */
  readonly models: readonly { readonly modelKey: string; readonly capabilities: ProviderCapabilities }[];
}

export interface CheckOptions {
  /** Names of providers in the configuration. */
  readonly names: readonly string[];
  readonly timeoutMs?: number;
}

/**
 * Opens these providers and tests each with the settings of all its models, concurrently and without creating
 * outputs. Needs no stores. Throws `CatalogInvalid`.
 */
export async function checkProviders(
  config: Config,
  { names, timeoutMs = CHECK_MS }: CheckOptions,
): Promise<CheckedProvider[]> {
  const catalog = await loadCatalog(config.catalog, catalogTools(config));
  const needs = {
    clock: new SystemClock({ keepsProcessAlive: false }),
    log: QUIETLY.log,
    memory: new MemoryBudget(config.images.memoryBytes),
  };
  const checked = async (name: string): Promise<CheckedProvider> => {
    const about = { name, kind: config.providers.get(name)?.driver.name ?? '' };
    let provider: Awaited<ReturnType<typeof openProvider>>;
    try {
      provider = await openProvider(config, name, needs);
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      return { ...about, isTried: false, models: [], faults: [fault] };
    }
    const entries = entriesOf(catalog, name);
    try {
      const tried = await tryConnection(
        provider,
        entries.map(({ settings }) => settings),
        timeoutMs,
      );
      const models = entries.map(({ modelKey, settings }) => ({
        modelKey,
        capabilities: provider.capabilities(settings),
      }));
      return { ...about, ...tried, isTried: provider.check !== undefined, models };
    } finally {
      await provider.close?.();
    }
  };
  return Promise.all(names.map(checked));
}

/** A check that takes too long is aborted, and left behind where it does not end then. */
async function tryConnection(
  provider: Provider,
  settings: readonly JsonObject[],
  timeoutMs: number,
): Promise<ProviderCheck> {
  const signal = AbortSignal.timeout(timeoutMs);
  const late = new Promise<ProviderCheck>((resolve) => {
    signal.addEventListener('abort', () => resolve({ faults: [`It gave no answer within ${timeoutMs / 1_000} s.`] }));
  });
  const tried = Promise.resolve(provider.check?.(settings, { signal }) ?? { faults: [] });
  // The message of an unexpected error may contain anything.
  const known = tried.catch((error: unknown) => ({
    faults: [`The check itself failed (${error instanceof Error ? error.name : typeof error}).`],
  }));
  return Promise.race([late, known]);
}

function entriesOf(catalog: Catalog, name: string) {
  return catalog
    .models()
    .flatMap(({ modelKey, route }) =>
      route.filter(({ provider }) => provider === name).map(({ settings }) => ({ modelKey, settings })),
    );
}
