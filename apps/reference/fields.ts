/** The fields of a JSON Schema as a list: name, type, bounds, choices and description, inner objects folded below theirs. */
import { html } from 'hono/html';
import type { Json, JsonObject } from '../../core/json.js';
import { CONFIGURABLE } from './document.js';
import { type Html, inline } from './markup.js';

/** One entry of a list of fields; parameters have the same form. */
export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonObject;
  readonly description?: string | undefined;
  readonly example?: Json | undefined;
}

/** The fields of an object, or of the objects in an array. */
export function fieldsOf(schema: JsonObject): readonly Field[] {
  const of = objectIn(schema);
  const required = (of?.['required'] ?? []) as readonly string[];
  return Object.entries((of?.['properties'] ?? {}) as Record<string, JsonObject>).map(([name, field]) => ({
    name,
    required: required.includes(name),
    schema: field,
  }));
}

/** `places` are the names of the fields around these ones: they make the anchors. */
export function fieldList(fields: readonly Field[], places: readonly string[]): Html {
  const isShort = fields.length <= 3;
  return html`<ul class="fields">
    ${fields.map((field) => fieldItem(field, [...places, field.name], isShort))}
  </ul>`;
}

function fieldItem({ name, required, schema, description, example }: Field, places: string[], isOpen: boolean): Html {
  const id = places.join('.');
  const about = description ?? (schema['description'] as string | undefined) ?? '';
  const inner = fieldsOf(schema);
  const choices = choicesOf(schema);
  const bounds = boundsOf(schema);
  return html`<li id="${id}">
    <p class="field">
      <a class="name" href="#${id}"><code>${name}</code></a>
      <span class="type">${typeOf(schema)}</span>
      ${required ? html`<span class="required">required</span>` : ''}
    </p>
    ${about === '' ? '' : html`<p class="about">${inline(about)}</p>`}
    ${choices.length === 0 ? '' : html`<p class="note">One of ${codes(choices)}</p>`}
    ${
      bounds.length === 0 && example === undefined
        ? ''
        : html`<p class="note">
            ${bounds.map((bound, index) => html`${index === 0 ? '' : ' · '}${bound}`)}${
              example === undefined ? '' : html`${bounds.length === 0 ? '' : ' · '}Example ${code(example)}`
            }
          </p>`
    }
    ${
      schema[CONFIGURABLE] === true
        ? html`<p class="note">The operator can change this limit; <code>/openapi.json</code> has the current one.</p>`
        : ''
    }
    ${
      inner.length === 0
        ? ''
        : html`<details ${isOpen ? 'open' : ''}>
            <summary>${inner.length === 1 ? '1 field' : `${inner.length} fields`} of <code>${name}</code></summary>
            ${fieldList(inner, places)}
          </details>`
    }
  </li>`;
}

/** The object that a schema is, holds as items, or has among its choices. */
function objectIn(schema: JsonObject): JsonObject | undefined {
  if (schema['properties'] !== undefined) return schema;
  const items = schema['items'] as JsonObject | undefined;
  if (items !== undefined) return objectIn(items);
  const choices = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? []) as readonly JsonObject[];
  for (const choice of choices) {
    const found = objectIn(choice);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The type in words: `string (uuid) or null`, `array of string`. */
export function typeOf(schema: JsonObject): string {
  const choices = (schema['oneOf'] ?? schema['anyOf']) as readonly JsonObject[] | undefined;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' or ');
  const types = [schema['type'] ?? typesOf(constantsOf(schema))].flat() as readonly string[];
  return types
    .map((type) => (type === 'array' ? `array of ${itemsOf(schema)}` : withFormat(type, schema)))
    .join(' or ');
}

function itemsOf(schema: JsonObject): string {
  const items = (schema['items'] ?? {}) as JsonObject;
  return typeOf(items).replace(/^(object|string|integer|number)$/, '$1s');
}

function withFormat(type: string, { format }: JsonObject): string {
  return type === 'string' && format !== undefined ? `string (${format as string})` : type;
}

function typesOf(values: readonly Json[]): string[] {
  const found = values.map((value) => (value === null ? 'null' : typeof value));
  return found.length === 0 ? ['any'] : [...new Set(found)];
}

function constantsOf(schema: JsonObject): readonly Json[] {
  if (schema['const'] !== undefined) return [schema['const']];
  return (schema['enum'] ?? []) as readonly Json[];
}

/** The values of a schema, or of the items of an array. */
function choicesOf(schema: JsonObject): readonly Json[] {
  const own = constantsOf(schema);
  return own.length > 0 || schema['items'] === undefined ? own : choicesOf(schema['items'] as JsonObject);
}

const UNITS: readonly (readonly [least: string, most: string, unit: string])[] = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
];

function boundsOf(schema: JsonObject): readonly Html[] {
  const { pattern, default: otherwise, uniqueItems, additionalProperties } = schema;
  const ranges = UNITS.flatMap(([least, most, unit]) => rangeOf(schema[least], schema[most], unit));
  return [
    ...ranges.map((text) => html`${text}`),
    ...(pattern === undefined ? [] : [html`matches ${code(pattern)}`]),
    ...(uniqueItems === true ? [html`without repetition`] : []),
    ...(otherwise === undefined ? [] : [html`default ${code(otherwise)}`]),
    ...(additionalProperties === true || typeof additionalProperties === 'object' ? [html`any names`] : []),
  ];
}

function rangeOf(least: Json | undefined, most: Json | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${number(least)} to ${number(most)}${unit}`];
  if (least !== undefined) return [`at least ${number(least)}${unit}`];
  return most === undefined ? [] : [`at most ${number(most)}${unit}`];
}

function number(value: Json): string {
  return typeof value === 'number' ? value.toLocaleString('en') : JSON.stringify(value);
}

function codes(values: readonly Json[]): Html {
  return html`${values.map((value, index) => html`${index === 0 ? '' : ', '}${code(value)}`)}`;
}

/** A value, or a pattern, as code. */
export function code(value: Json): Html {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;
}
