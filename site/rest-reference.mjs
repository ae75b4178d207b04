/** The references of the REST and the OpenAI-compatible API, as Markdown made from their OpenAPI documents. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The pages by their path in the site. The program must be built. */
export async function restReferences(root) {
  const load = (path) => import(pathToFileURL(join(root, 'dist', path)).href);
  const { openApiDocument } = await load('apps/http/developer/openapi.js');
  const { ROUTES } = await load('apps/http/developer/routes.js');
  const { DEFAULT_SETTINGS } = await load('core/settings.js');
  const { openAiDocument } = await load('apps/http/openai/openapi.js');
  const endpoints = [];
  for (const [path, list] of [
    ['images', 'IMAGE_ENDPOINTS'],
    ['edits', 'EDIT_ENDPOINTS'],
    ['videos', 'VIDEO_ENDPOINTS'],
    ['models', 'MODEL_ENDPOINTS'],
  ])
    endpoints.push(...(await load(`apps/http/openai/${path}.js`))[list]);
  return {
    'reference/rest.md': page(
      'REST reference',
      'Every request of the API with its fields, from the OpenAPI document that a server has at `/openapi.json`. Limits are the defaults. A server shows the same at `/docs`, where you can try requests. [API](../api/index.md) explains them.',
      openApiDocument(ROUTES, DEFAULT_SETTINGS),
    ),
    'reference/openai.md': page(
      'OpenAI-compatible reference',
      'Every request of the OpenAI-compatible API, from the document that a server has at `/v1/openapi.json`. [OpenAI clients](../openai.md) explains them.',
      openAiDocument(endpoints),
    ),
  };
}

function page(title, about, document) {
  // Without functions and absent values.
  const { paths, components, servers } = JSON.parse(JSON.stringify(document));
  const start = servers[0].url.replace(/\/$/, '');
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path: start + path,
      method: method.toUpperCase(),
      operation,
    })),
  );
  const tags = [...new Set(operations.map(({ operation }) => tagOf(operation)))];
  return [
    `# ${title}`,
    about,
    ...tags.flatMap((tag) => [
      `## ${tag}`,
      ...operations
        .filter(({ operation }) => tagOf(operation) === tag)
        .flatMap((one) => operationText(one, components)),
    ]),
    '## Schemas',
    ...Object.entries(components.schemas).flatMap(([name, schema]) => [`### ${name}`, ...schemaText(schema)]),
    '',
  ].join('\n\n');
}

function tagOf({ tags = ['Requests'] }) {
  return capital(tags[0]);
}

function operationText({ path, method, operation }, components) {
  const parameters = (operation.parameters ?? []).map((one) => resolved(one, components));
  const bodies = Object.entries(operation.requestBody?.content ?? {});
  return [
    `### ${operation.summary.replace(/\.$/, '')}`,
    `\`\`\`http\n${method} ${path}\n\`\`\``,
    operation.description ?? '',
    table(
      ['Parameter', 'In', 'Type', 'Description'],
      parameters.map((one) => [
        `\`${one.name}\`${one.required ? ' (required)' : ''}`,
        one.in,
        typeOf(one.schema ?? {}),
        one.description ?? one.schema?.description ?? '',
      ]),
    ),
    ...bodies.flatMap(([type, { schema, example }]) => [
      `Body, \`${type}\`: ${typeOf(schema)}`,
      schema.$ref === undefined ? fieldTable(schema) : '',
      example === undefined ? '' : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
    ]),
    table(
      ['Status', 'Response', 'Body'],
      Object.entries(operation.responses).map(([status, response]) => {
        const { description, content = {} } = resolved(response, components);
        return [
          status,
          description,
          Object.values(content)
            .map(({ schema }) => responseType(schema))
            .join(' or '),
        ];
      }),
    ),
  ].filter((text) => text !== '');
}

/** Without the envelope, which every response has. */
function responseType(schema = {}) {
  const { data } = schema.properties ?? {};
  if (data !== undefined) return `data: ${typeOf(data)}`;
  return schema.allOf?.length === 1 ? typeOf(schema.allOf[0]) : typeOf(schema);
}

function schemaText(schema) {
  const fields = fieldTable(schema);
  return [schema.description ?? '', fields === '' ? typeOf(schema) : fields].filter((text) => text !== '');
}

function fieldTable(schema) {
  return table(['Field', 'Type', 'Description'], fieldsOf(schema, ''));
}

/** A row for each field, those of inner objects by their path. */
function fieldsOf(schema, prefix) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = (schema.required ?? []).includes(name);
    const inner = field.items?.properties === undefined ? [field, ''] : [field.items, '[]'];
    return [
      [`\`${path}\`${isRequired ? ' (required)' : ''}`, typeOf(field), field.description ?? ''],
      ...fieldsOf(inner[0], `${path}${inner[1]}.`),
    ];
  });
}

/** The type in words, with a link where it is a schema of the page. */
function typeOf(schema) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' or ');
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(' and ');
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}${boundsOf(schema)}`;
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return `${types}${schema.format === undefined ? '' : ` (${schema.format})`}${boundsOf(schema)}`;
}

function boundsOf(schema) {
  const bounds = [
    ['at least', schema.minimum ?? schema.minLength ?? schema.minItems],
    ['at most', schema.maximum ?? schema.maxLength ?? schema.maxItems],
    ['default', schema.default === undefined ? undefined : code(schema.default)],
  ].filter(([, value]) => value !== undefined);
  return bounds.map(([word, value]) => `, ${word} ${value}`).join('');
}

function code(value) {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function resolved(object, components) {
  if (object.$ref === undefined) return object;
  const [, , kind, name] = object.$ref.split('/');
  return components[kind][name];
}

function table(columns, rows) {
  if (rows.length === 0) return '';
  const line = (cells) =>
    `| ${cells
      .map((cell) =>
        String(cell)
          .replaceAll('|', '\\|')
          .replace(/\s*\n\s*/g, ' '),
      )
      .join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

function capital(word) {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
