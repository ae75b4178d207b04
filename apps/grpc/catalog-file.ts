import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Model } from '../../core/catalog/model.js';
import {
  type CatalogCheck,
  type CatalogInUse,
  catalogInUse,
  checkCatalog,
  reloadCatalog,
  TEXT_HIDDEN,
} from '../../core/catalog/operate-catalog.js';
import type { Machine, Models } from '../../core/context.js';
import { int64s, MODALITY, PRICE_UNIT, timestamp, valuesByWord } from './enums.js';
import {
  type CatalogModelSchema,
  CatalogTextHidden,
  type CheckCatalogFileResponseSchema,
  type GetCatalogFileResponseSchema,
} from './generated/darkroom/v1/catalog_file_pb.js';
import { Operations } from './generated/darkroom/v1/operations_pb.js';
import { plain, type ServedMethod } from './method.js';

const { method } = Operations;

/** The file of the catalog, for operators. */
export const CATALOG_FILE_METHODS: readonly ServedMethod<Models & Machine>[] = [
  plain(method.getCatalogFile, 'operations:read', async ({ context }) => renderInUse(context, catalogInUse(context))),
  plain(method.checkCatalogFile, 'operations:read', async ({ context }) => renderCheck(await checkCatalog(context))),
  plain(method.reloadCatalogFile, 'operations:write', async ({ context }) => {
    const reloaded = await reloadCatalog(context);
    return {
      ...renderCheck(reloaded),
      reloaded: reloaded.faults.length === 0,
      modelCount: context.catalog.models().length,
      onlyProcess: context.boot.isExclusive,
    };
  }),
];

const HIDDEN = valuesByWord(TEXT_HIDDEN, CatalogTextHidden);

function renderInUse(
  context: Models & Machine,
  { fileName, readAt, models, text, textHidden }: CatalogInUse,
): MessageInitShape<typeof GetCatalogFileResponseSchema> {
  return {
    fileName,
    readTime: timestamp(readAt),
    models: models.map((model) => renderModel(context, model)),
    text,
    textHidden: textHidden && HIDDEN[textHidden],
    onlyProcess: context.boot.isExclusive,
  };
}

function renderModel({ providers }: Models, model: Model): MessageInitShape<typeof CatalogModelSchema> {
  const { price, route, examples = [] } = model;
  return {
    modelKey: model.modelKey,
    displayName: model.displayName,
    modality: MODALITY[model.modality],
    isTest: model.isTest === true,
    price: {
      version: price.version,
      unit: PRICE_UNIT[price.unit],
      ...int64s({
        microcreditsPerUnit: price.microcreditsPerUnit,
        baseMicrocredits: price.baseMicrocredits,
        minimumCredits: price.minimumCredits,
        maximumCredits: price.maximumCredits,
      }),
    },
    route: route.map(({ provider, weight }) => ({
      provider,
      weight,
      connected: providers.find(provider) !== undefined,
    })),
    exampleCount: examples.length,
  };
}

function renderCheck({
  fileName,
  faults,
  changes,
  models,
}: CatalogCheck): Omit<MessageInitShape<typeof CheckCatalogFileResponseSchema>, '$typeName'> {
  return {
    fileName,
    faults: faults.map(({ line, message }) => ({ line, message })),
    changes: changes && {
      added: [...changes.added],
      removed: [...changes.removed],
      changed: [...changes.changed],
      reordered: changes.isReordered,
    },
    modelCount: models,
  };
}
