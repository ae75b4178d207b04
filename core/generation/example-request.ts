import type { Caller } from '../access/credential.js';
import type { Model } from '../catalog/model.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { Json, JsonObject } from '../json.js';
import { quoteGeneration } from './quote.js';
import { readGenerationRequest } from './request.js';

const PROMPT = 'a lighthouse at dusk';

/** A request for a picture that the catalog takes as it is, whatever the account has; undefined if there is none. */
export async function exampleRequest(context: Context, caller: Caller): Promise<JsonObject | undefined> {
  for (const model of context.catalog.models()) {
    const request = requestFor(model);
    if (request !== undefined && (await isTaken(context, caller, request))) return request;
  }
  return undefined;
}

function requestFor({ modelKey, operations, inputSchema }: Model): JsonObject | undefined {
  if (!operations.includes('image_generation')) return undefined;
  const parameters = requiredParameters(inputSchema);
  return {
    model_key: modelKey,
    operation: 'image_generation',
    prompt: PROMPT,
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  };
}

/** A plain value for each parameter that must be there. Those for which the schema names none are left out. */
function requiredParameters({ required = [], properties = {} }: JsonObject): JsonObject {
  const names = Array.isArray(required) ? required.map(String) : [];
  const schemas = properties as Readonly<Record<string, JsonObject | undefined>>;
  return Object.fromEntries(
    names.flatMap((name): [string, Json][] => {
      const value = plainValue(schemas[name] ?? {});
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function plainValue({ default: byDefault, const: only, enum: choices, minimum }: JsonObject): Json | undefined {
  return byDefault ?? only ?? (Array.isArray(choices) ? choices[0] : undefined) ?? minimum;
}

async function isTaken(context: Context, caller: Caller, request: JsonObject): Promise<boolean> {
  try {
    await quoteGeneration(context, caller, readGenerationRequest(context, request));
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
