/**
 * Writes what both client libraries are made of: the schemas of the compiled program's OpenAPI document, with the limits
 * that it has by default, and TypeScript types of them. Run by `npm run build`, after the program was compiled.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';
import { openApiDocument } from '../dist/apps/http/developer/openapi.js';
import { ROUTES } from '../dist/apps/http/developer/routes.js';
import { DEFAULT_SETTINGS } from '../dist/core/settings.js';

const HEADER = '/** The objects of the API, generated from its OpenAPI document. */';
// The compiler formats what is published. Without the library's own formatter, a checkout needs no second one.
const OPTIONS = { bannerComment: HEADER, additionalProperties: false, unreachableDefinitions: true, format: false };

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Schemas that stand within others are written once, by their title. */
function hoisted(schemas) {
  const found = {};
  const walk = (node) => {
    if (Array.isArray(node)) return node.map(walk);
    if (node === null || typeof node !== 'object') return node;
    const copy = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, walk(value)]));
    if (typeof node.title !== 'string') return copy;
    found[node.title] = copy;
    return { $ref: `#/definitions/${node.title}` };
  };
  for (const [name, schema] of Object.entries(schemas)) {
    const { title = name } = schema;
    walk({ ...schema, title });
  }
  return found;
}

/** Arrays of bounded length would become tuples, which no client wants to build. */
function withoutLengths(node) {
  if (Array.isArray(node)) return node.map(withoutLengths);
  if (node === null || typeof node !== 'object') return node;
  const { minItems: _, maxItems: __, ...others } = node;
  return Object.fromEntries(Object.entries(others).map(([name, value]) => [name, withoutLengths(value)]));
}

/** Objects that take no other fields need a form of types that few checkers know. */
function open(node) {
  if (Array.isArray(node)) return node.map(open);
  if (node === null || typeof node !== 'object') return node;
  const kept = Object.entries(node).filter(([name, value]) => name !== 'additionalProperties' || value !== false);
  return Object.fromEntries(kept.map(([name, value]) => [name, open(value)]));
}

/** Every error code that an endpoint may return. */
function errorCodes({ paths }) {
  const responses = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap((one) => Object.values(one.responses)),
  );
  const schemas = responses.map(({ content }) => content?.['application/json']?.schema);
  return [...new Set(schemas.flatMap((schema) => schema?.properties?.code?.enum ?? []))].toSorted((a, b) =>
    a < b ? -1 : 1,
  );
}

/** The schemas of query parameters, one per operation. */
function querySchemas({ paths }) {
  const found = {};
  for (const { operationId, parameters } of Object.values(paths).flatMap((path) => Object.values(path))) {
    const inQuery = parameters.filter((parameter) => parameter.in === 'query');
    const properties = inQuery.map(({ name, description, schema }) => [name, { ...schema, description }]);
    const title = `${operationId[0].toUpperCase()}${operationId.slice(1)}Query`;
    if (inQuery.length > 0) found[title] = { title, type: 'object', properties: Object.fromEntries(properties) };
  }
  return found;
}

/** Writes only a changed file, so that an unchanged document does not cause a new compilation. */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  let before;
  try {
    before = readFileSync(path, 'utf8');
  } catch {}
  if (before !== text) writeFileSync(path, text);
}

const document = openApiDocument(ROUTES, DEFAULT_SETTINGS);
const definitions = hoisted({ ...document.components.schemas, ...querySchemas(document) });
const { Error: _, ...named } = withoutLengths(definitions);
const types = (await compile({ title: 'Nothing', type: 'object', definitions: named }, 'Nothing', OPTIONS))
  .replace(/^export interface Nothing \{\s*\}\n/m, '')
  .replaceAll(/(?: \* ?\n)? \* This interface was referenced by [^*]*\n \* via the `definition` [^*]*\n/g, '')
  .replaceAll(/\/\*\*\n \*\/\n/g, '')
  .replaceAll(/: \(((?:[^()]|\([^()]*\))*)\)$/gm, ': $1');
const codes = errorCodes(document).map((code) => `  | '${code}'`);

const schemas = JSON.parse(
  JSON.stringify(open(withoutLengths(definitions))).replaceAll('#/definitions/', '#/components/schemas/'),
);
write(
  at('../dist/clients/schemas.json'),
  JSON.stringify({
    'openapi': '3.1.1',
    'info': document.info,
    'paths': {},
    'components': { schemas },
    // The types of the Python client name it: they are in the repository, and a test compares.
    'x-sha256': createHash('sha256').update(JSON.stringify(schemas)).digest('hex'),
  }),
);
write(
  at('typescript/src/generated/api.ts'),
  `${types}\n/** Every code that an endpoint may refuse with, and those of a newer service. */\nexport type ErrorCode =\n${codes.join('\n')}\n  | (string & {});\n`,
);
