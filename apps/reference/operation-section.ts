/** One operation of a document as a section: what it takes and answers, with samples beside it. */
import { html } from 'hono/html';
import type { JsonObject } from '../../core/json.js';
import type { ApiDocument, Body, Operation, Parameter, RefusedWith, Response } from './document.js';
import { type Field, fieldList, fieldsOf, typeOf } from './fields.js';
import { anchor, codeBlock, type Html, inline } from './markup.js';
import { samplesOf } from './samples.js';

export interface SectionParts {
  /** The codes that any request of the document may be refused with. */
  readonly common: ReadonlySet<string>;
  /** The address that explains an error code. */
  readonly errorLink: (code: string) => string;
}

/** The codes that every operation with a key may be refused with. */
export function commonCodes({ operations }: ApiDocument): ReadonlySet<string> {
  const [first, ...others] = operations
    .filter(({ isPublic }) => !isPublic)
    .map(({ errors }) => new Set(errors.map(({ code }) => code)));
  return new Set([...(first ?? [])].filter((code) => others.every((codes) => codes.has(code))));
}

export function operationSection(operation: Operation, parts: SectionParts): Html {
  const { operationId, summary, description, method, path } = operation;
  return html`<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
    <div class="about-operation">
      <h2 id="${operationId}-title">${summary} ${anchor(operationId, summary)}</h2>
      <p class="route"><span class="method">${method}</span> <code>${pathText(path)}</code></p>
      ${description === '' ? '' : html`<p>${inline(description)}</p>`}
      <p class="note">${accessOf(operation)}</p>
      ${parametersOf(operation, 'path', 'Path')} ${parametersOf(operation, 'query', 'Query')}
      ${operation.bodies.map((body) => bodyOf(operationId, body))} ${parametersOf(operation, 'header', 'Headers')}
      ${operation.responses.map((response) => responseOf(operationId, response))} ${errorsOf(operation, parts)}
    </div>
    <div class="samples">${samplesBlock(operation)}</div>
  </section>`;
}

/** A path that may be broken behind its slashes. */
export function pathText(path: string): Html {
  return html`${path.split(/(?<=\/)/).map((part, index) => html`${index === 0 ? '' : html`<wbr />`}${part}`)}`;
}

function accessOf({ isPublic, scope }: Operation): Html {
  if (isPublic) return html`Needs no API key.`;
  return scope === undefined ? html`Any API key.` : html`Needs the scope <code>${scope}</code>.`;
}

function parametersOf({ operationId, parameters }: Operation, place: Parameter['in'], title: string): Html | '' {
  const fields = parameters.filter((parameter) => parameter.in === place);
  if (fields.length === 0) return '';
  return html`<h3>${title}</h3>
    ${fieldList(fields, [operationId, place])}`;
}

function bodyOf(operationId: string, { mediaType, schema }: Body): Html {
  const { description } = schema;
  return html`<h3>Body <code>${mediaType}</code></h3>
    ${description === undefined ? '' : html`<p>${inline(description as string)}</p>`}
    ${fieldList(fieldsOf(schema), [operationId, mediaType === 'multipart/form-data' ? 'form' : 'body'])}`;
}

function responseOf(operationId: string, { status, description, headers, contents }: Response): Html {
  const title = status === 'default' ? 'Refusal' : 'Response';
  const fields = headers.map((header): Field => ({ ...header, required: false }));
  return html`<h3>${title} ${status === 'default' ? '' : html`<code>${status}</code>`}</h3>
    ${description === 'Success.' ? '' : html`<p>${inline(description)}</p>`}
    ${contents.map(({ mediaType, schema }) => contentOf([operationId, status], mediaType, schema))}
    ${
      headers.length === 0
        ? ''
        : html`<details class="panel">
            <summary>Response headers</summary>
            ${fieldList(fields, [operationId, status, 'headers'])}
          </details>`
    }`;
}

/** The body of a response. An envelope is shown by its `data`, as its other fields are the same everywhere. */
function contentOf(places: readonly string[], mediaType: string, schema: JsonObject): Html {
  const data = (schema['properties'] as Record<string, JsonObject> | undefined)?.['data'];
  const isEnvelope = data !== undefined && 'request_id' in (schema['properties'] as JsonObject);
  const shown = isEnvelope ? data : schema;
  const fields = fieldsOf(shown);
  const name = shown['title'] as string | undefined;
  const what = isEnvelope ? html`, in <code>data</code>` : '';
  return html`<p class="note">
      <code>${mediaType}</code
      >${name === undefined ? (fields.length === 0 ? html`: ${typeOf(shown)}` : '') : html`: ${name}`}${what}
    </p>
    ${fields.length === 0 ? '' : fieldList(fields, [...places, ...(name === undefined ? [] : [name])])}`;
}

function errorsOf({ errors }: Operation, { common, errorLink }: SectionParts): Html | '' {
  if (errors.length === 0) return '';
  const own = errors.filter(({ code }) => !common.has(code));
  const others = errors.filter(({ code }) => common.has(code));
  return html`<h3>Errors</h3>
    ${own.length === 0 ? '' : errorTable(own, errorLink)}
    ${
      others.length === 0
        ? ''
        : html`<details class="panel">
            <summary>Errors of every request</summary>
            ${errorTable(others, errorLink)}
          </details>`
    }`;
}

function errorTable(errors: readonly RefusedWith[], errorLink: SectionParts['errorLink']): Html {
  return html`<table class="errors">
    <thead>
      <tr>
        <th scope="col">Status</th>
        <th scope="col">Code</th>
      </tr>
    </thead>
    <tbody>
      ${errors.map(
        ({ status, code, message }) =>
          html`<tr>
            <td>${status}</td>
            <td>
              <a href="${errorLink(code)}"><code>${code}</code></a
              ><br />${inline(message)}
            </td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

/** The languages are radio buttons, so that the choice works without a script. */
function samplesBlock(operation: Operation): Html {
  const { operationId } = operation;
  return html`<fieldset class="sample">
    <legend class="visually-hidden">Sample in</legend>
    <div class="languages">
      ${samplesOf(operation).map(
        ({ language, label }, index) =>
          html`<label
            ><input type="radio" name="language-${operationId}" value="${language}" ${index === 0 ? 'checked' : ''} />
            ${label}</label
          >`,
      )}
    </div>
    ${samplesOf(operation).map(
      ({ language, code }) => html`<div class="of" data-language="${language}">${codeBlock(code, language)}</div>`,
    )}
  </fieldset>`;
}
