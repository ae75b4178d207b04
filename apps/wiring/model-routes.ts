import { dirname } from 'node:path';
import type { FileCatalog } from '../../adapters/catalog-file/file-catalog.js';
import type { ProviderDriver, RefusedValue } from '../../adapters/driver.js';
import type { Model, RouteEntry } from '../../core/catalog/model.js';
import type { JsonObject } from '../../core/json.js';
import type { ProviderCapabilities } from '../../core/ports/provider.js';
import type { Config } from '../config/config.js';

/** One model at one provider in its route. */
export interface ModelAtProvider extends Pick<RouteEntry, 'provider' | 'weight'> {
  readonly modelKey: string;
  /** Absent if the driver cannot report them before it is opened. */
  readonly capabilities?: ProviderCapabilities;
  /** The model's parameters that have no effect there. */
  readonly unsent: readonly string[];
  /** Values that the model's `input_schema` allows and that fail there. */
  readonly refused: readonly RefusedValue[];
}

/** A probable mistake in a usable catalog. */
export interface CatalogWarning {
  readonly line: number;
  readonly message: string;
}

/** The providers of a catalog's models, in the order of the catalog, with their capabilities. Opens nothing. */
export function modelRoutes(
  catalog: FileCatalog,
  config: Pick<Config, 'providers' | 'catalog'>,
): readonly ModelAtProvider[] {
  return catalog.models().flatMap((model) =>
    model.route.map(({ provider, weight, settings }) => {
      const configured = config.providers.get(provider);
      const capabilities = configured?.driver.capabilities?.(settings, configured.options, dirname(config.catalog));
      const unsent = unsentParameters(model, settings, configured?.driver);
      return {
        modelKey: model.modelKey,
        provider,
        weight,
        unsent,
        refused: configured?.driver.refusedValues?.(settings, model.inputSchema) ?? [],
        ...(capabilities === undefined ? {} : { capabilities }),
      };
    }),
  );
}

function unsentParameters(
  { inputSchema, price }: Model,
  settings: JsonObject,
  driver: ProviderDriver | undefined,
): readonly string[] {
  const sent = driver?.parametersSent?.(settings);
  if (sent === undefined) return [];
  const own = Object.keys((inputSchema['properties'] ?? {}) as JsonObject);
  const count = driver?.sendsCount ? price.countParameter : undefined;
  return own.filter((name) => name !== count && !sent.includes(name));
}

/** Probable mistakes in the catalog, in the order of the file. */
export function catalogWarnings(catalog: FileCatalog, routes: readonly ModelAtProvider[]): readonly CatalogWarning[] {
  const warnings = [unsentWarnings, refusedWarnings, freeWarnings, maskWarnings, resubmitWarnings].flatMap((of) =>
    of(catalog, routes),
  );
  return warnings.toSorted((a, b) => a.line - b.line);
}

/** Parameters that a provider in the route does not receive, one warning each. */
function unsentWarnings(catalog: FileCatalog, routes: readonly ModelAtProvider[]): readonly CatalogWarning[] {
  return routes.flatMap(({ modelKey, provider, unsent }) =>
    unsent.map((name) => ({
      line: catalog.linesOf(modelKey).inputSchema,
      message:
        `The parameter ${name} of ${modelKey} has no effect at ${provider}: no rule of its provider_settings takes it. ` +
        'Give it one, or remove it from input_schema.',
    })),
  );
}

/** Values of parameters that clients may send and a provider in the route refuses, one warning for each parameter. */
function refusedWarnings(catalog: FileCatalog, routes: readonly ModelAtProvider[]): readonly CatalogWarning[] {
  return routes.flatMap(({ modelKey, provider, refused }) =>
    refused.map(({ parameter, value }) => ({
      line: catalog.linesOf(modelKey).inputSchema,
      message:
        `The parameter ${parameter} of ${modelKey} may be ${JSON.stringify(value).slice(0, 100)}, which fails at ${provider}: ` +
        'a rule of its provider_settings refuses it. Change the rule, or input_schema.',
    })),
  );
}

/** Models that are free for a request without reference files, because their price counts those alone. */
function freeWarnings(catalog: FileCatalog): readonly CatalogWarning[] {
  return catalog.models().flatMap(({ modelKey, requiredRoles, price }) => {
    const { inputMicrocreditsPerMegapixel: ofFiles = 0, microcreditsPerUnit, firstUnitMicrocredits = 0 } = price;
    const others = microcreditsPerUnit + firstUnitMicrocredits + price.baseMicrocredits + price.minimumCredits;
    if (ofFiles === 0 || others > 0 || requiredRoles.length > 0) return [];
    const message =
      `A request for ${modelKey} without a reference file costs nothing: its price counts those files alone. ` +
      'Give the model required_roles, or its price a minimum_credits.';
    return [{ line: catalog.linesOf(modelKey).price, message }];
  });
}

/** Models of which one provider needs a mask and another takes none, so that every request is refused. */
function maskWarnings(catalog: FileCatalog, routes: readonly ModelAtProvider[]): readonly CatalogWarning[] {
  return catalog.models().flatMap(({ modelKey }) => {
    const known = routes.filter((at) => at.modelKey === modelKey && at.capabilities !== undefined);
    const needing = known.find(({ capabilities }) => capabilities?.needsMask === true);
    const without = known.find(({ capabilities }) => (capabilities?.maxMaskedReferences ?? 0) === 0);
    if (needing === undefined || without === undefined) return [];
    const message =
      `Every request for ${modelKey} is refused: ${needing.provider} needs a mask, and ${without.provider} takes none. ` +
      'Give each a model of its own.';
    return [{ line: catalog.linesOf(modelKey).route, message }];
  });
}

/** Models that may be paid for several times, one warning for each policy that allows it. */
function resubmitWarnings(catalog: FileCatalog, routes: readonly ModelAtProvider[]): readonly CatalogWarning[] {
  return catalog.models().flatMap(({ modelKey, maxAttempts, onUnknownAcceptance, onInvalidOutput }) => {
    if (maxAttempts <= 1) return [];
    const providersWhere = (holds: (capabilities: ProviderCapabilities) => boolean) =>
      routes
        .filter((at) => at.modelKey === modelKey && at.capabilities !== undefined && holds(at.capabilities))
        .map(({ provider }) => provider);
    const times = `may pay up to ${maxAttempts} times for one generation of ${modelKey}`;
    const lines = catalog.linesOf(modelKey);
    const unaccountable = onUnknownAcceptance === 'resubmit' ? providersWhere(isUnaccountable) : [];
    const paid = onInvalidOutput === 'resubmit' ? providersWhere(({ isPaid }) => isPaid) : [];
    const warnings: CatalogWarning[] = [];
    if (unaccountable.length > 0)
      warnings.push({
        line: lines.onUnknownAcceptance,
        message:
          `on_unknown_acceptance: resubmit ${times}: ${unaccountable.join(', ')} charges for each task, and ` +
          'cannot be asked whether it has one. Use fail.',
      });
    if (paid.length > 0)
      warnings.push({
        line: lines.onInvalidOutput,
        message: `on_invalid_output: resubmit ${times}: ${paid.join(', ')} charges for each task. Use fail.`,
      });
    return warnings;
  });
}

function isUnaccountable({ isPaid, isAskedBy, takesTokenOnce }: ProviderCapabilities): boolean {
  return isPaid && isAskedBy === 'nothing' && !takesTokenOnce;
}
