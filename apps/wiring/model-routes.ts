import type { FileCatalog } from '../../adapters/catalog-file/file-catalog.js';
import type { Model, RouteEntry } from '../../core/catalog/model.js';
import type { ProviderPromises } from '../../core/ports/provider.js';
import type { Config } from '../config/config.js';

/** One model at one provider of its route. */
export interface ModelAtProvider extends Pick<RouteEntry, 'provider' | 'weight'> {
  readonly modelKey: string;
  /** Absent where the driver does not say it before it is opened. */
  readonly promises?: ProviderPromises;
}

/** What may be meant otherwise, though the catalog can be used. */
export interface CatalogWarning {
  readonly line: number;
  readonly message: string;
}

/** Who makes the models of a catalog, in its order, and what these providers promise. Opens nothing. */
export function modelRoutes(catalog: FileCatalog, config: Pick<Config, 'providers'>): readonly ModelAtProvider[] {
  return catalog.models().flatMap((model) =>
    model.route.map(({ provider, weight, settings }) => {
      const configured = config.providers.get(provider);
      const promises = configured?.driver.promises?.(settings, configured.options);
      return { modelKey: model.modelKey, provider, weight, ...(promises === undefined ? {} : { promises }) };
    }),
  );
}

/** Models that may be paid for twice, one warning each, in the order of the file. */
export function resubmitWarnings(catalog: FileCatalog, routes: readonly ModelAtProvider[]): readonly CatalogWarning[] {
  return catalog.models().flatMap((model) => {
    const paid = mayPayTwice(model, routes);
    if (paid.length === 0) return [];
    const message =
      `on_unknown_acceptance: resubmit may pay twice for one generation of ${model.modelKey}: ` +
      `${paid.join(', ')} charges for each task, and cannot be asked whether it has one. Use fail.`;
    return [{ line: catalog.policyLine(model.modelKey), message }];
  });
}

function mayPayTwice({ modelKey, onUnknownAcceptance }: Model, routes: readonly ModelAtProvider[]): readonly string[] {
  if (onUnknownAcceptance !== 'resubmit') return [];
  return routes
    .filter((at) => at.modelKey === modelKey && isUnaccountable(at.promises))
    .map(({ provider }) => provider);
}

function isUnaccountable(promises: ProviderPromises | undefined): boolean {
  return promises !== undefined && promises.isPaid && promises.isAskedBy === 'nothing' && !promises.takesTokenOnce;
}
