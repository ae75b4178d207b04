import { CATALOG_SCHEMA, renderCatalog } from '../../render/catalog.js';
import { inputOf, readArguments } from '../arguments.js';
import type { Tool } from '../tool.js';
import { dataResult } from '../tool-results.js';

const INPUT = inputOf({});

export const listModels: Tool = {
  name: 'list_models',
  title: 'List the models',
  description:
    'Lists the models with their prices, limits and parameters. Call it before generating: model_key and parameters must come from here.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: INPUT,
  output: CATALOG_SCHEMA,
  scopes: () => [],
  rate: 'reads',
  async answer(call) {
    readArguments(call, INPUT);
    return dataResult(renderCatalog(call.context.catalog.models()));
  },
};
