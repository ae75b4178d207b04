/**
 * Goal: the reference has everything that the OpenAPI documents have, loads nothing from elsewhere, and all its links lead
 * somewhere.
 * Method: the built pages as text, compared with the documents.
 */
import { expect } from 'chai';
import { openApiDocument } from '../../apps/http/developer/openapi.js';
import { ROUTES } from '../../apps/http/developer/routes.js';
import { EDIT_ENDPOINTS } from '../../apps/http/openai/edits.js';
import { IMAGE_ENDPOINTS } from '../../apps/http/openai/images.js';
import { MODEL_ENDPOINTS } from '../../apps/http/openai/models.js';
import { openAiDocument } from '../../apps/http/openai/openapi.js';
import { VIDEO_ENDPOINTS } from '../../apps/http/openai/videos.js';
import { readDocument } from '../../apps/reference/document.js';
import { isObject, type Json, type JsonObject } from '../../core/json.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { builtPages, samplesOn, textOf } from './built-pages.js';

const DEVELOPER = readDocument(openApiDocument(ROUTES, DEFAULT_SETTINGS));
const OPENAI = readDocument(
  openAiDocument([...IMAGE_ENDPOINTS, ...EDIT_ENDPOINTS, ...VIDEO_ENDPOINTS, ...MODEL_ENDPOINTS]),
);

/** The address of `to`, a link on the page `from`, as a path of a service. */
function resolved(from: string, to: string): string {
  return new URL(to, `http://host/${from === 'index' ? 'docs' : `docs/${from}`}`).pathname;
}

/** The name of the page that a path leads to; any other path is returned unchanged. */
function nameAt(path: string): string {
  return path === '/docs' ? 'index' : path.replace(/^\/docs\/(?=.)/, '');
}

/** The names of all properties in a schema, at any depth. */
function propertiesIn(schema: Json): string[] {
  if (Array.isArray(schema)) return schema.flatMap(propertiesIn);
  if (!isObject(schema)) return [];
  const { properties = {}, default: _default, example: _example, ...others } = schema;
  const own = Object.entries(properties as JsonObject);
  return [
    ...own.map(([name]) => name),
    ...own.flatMap(([, one]) => propertiesIn(one)),
    ...propertiesIn(Object.values(others)),
  ];
}

describe('the pages of the reference', () => {
  const pages = builtPages();
  const page = (name: string): string => pages.get(name) ?? '';
  const idsOn = (name: string): string[] => [...page(name).matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => textOf(id));

  const documented = [
    ...DEVELOPER.operations.map((operation) => [operation.resource, operation] as const),
    ...OPENAI.operations.map((operation) => ['openai', operation] as const),
  ];

  it('have every operation with its method, path, summary, description and scope', () => {
    for (const [name, { operationId, method, path, summary, description, scope }] of documented) {
      const [, section = ''] = page(name).split(`<section class="operation" id="${operationId}"`);
      const text = textOf(section.split('</section>')[0] ?? '').replaceAll(/\s+/g, ' ');
      expect(text, operationId).to.include(`${method} ${path}`);
      expect(text, operationId).to.include(summary);
      expect(text, operationId).to.include(description.replaceAll('`', ''));
      if (scope !== undefined) expect(text, operationId).to.include(`Needs the scope ${scope}.`);
    }
    expect(documented).to.have.lengthOf.above(30);
  });

  it('have every parameter and every field of bodies and responses', () => {
    const envelope = ['success', 'code', 'message', 'request_id', 'data'];
    for (const [name, { operationId, parameters, bodies, responses }] of documented) {
      const ids = idsOn(name).filter((id) => id.startsWith(`${operationId}.`));
      const fields = ids.map((id) => id.split('.').at(-1) ?? '');
      expect(ids, operationId).to.include.members(parameters.map((one) => `${operationId}.${one.in}.${one.name}`));
      expect(fields, operationId).to.include.members(propertiesIn(bodies.map(({ schema }) => schema)));
      for (const { status, headers, contents } of responses) {
        expect(ids).to.include.members(headers.map((one) => `${operationId}.${status}.headers.${one.name}`));
        const named = propertiesIn(contents.map(({ schema }) => schema));
        const isEnvelope = name !== 'openai' && named.includes('request_id');
        expect(fields).to.include.members(isEnvelope ? named.filter((one) => !envelope.includes(one)) : named);
      }
    }
  });

  it('have every error code of every operation, with a link to its meaning', () => {
    const explained = idsOn('errors');
    for (const [name, { operationId, errors }] of documented) {
      const [, section = ''] = page(name).split(`<section class="operation" id="${operationId}"`);
      const shown = [...(section.split('</section>')[0] ?? '').matchAll(/href="errors#([A-Z_]+)"/g)];
      expect(
        shown.map(([, code]) => code),
        operationId,
      ).to.have.members(errors.map(({ code }) => code));
      expect(explained).to.include.members(errors.map(({ code }) => code));
    }
  });

  it('have a sample for curl of every operation', () => {
    for (const name of new Set(documented.map(([at]) => at)))
      expect(samplesOn(page(name)).flatMap(({ operationId, language }) => (language === 'curl' ? [operationId] : [])))
        .to // In order.
        .deep.equal(documented.flatMap(([at, { operationId }]) => (at === name ? [operationId] : [])));
  });

  it('say of the limits that an operator can change that they can be changed', () => {
    const [, field = ''] = page('uploads').split('id="prepareUpload.body.byte_size"');
    expect(textOf(field.split('</li>')[0] ?? '')).to.include('The operator can change this limit');
  });

  it('link to pages of the service and to anchors that exist', () => {
    const ids = new Map([...pages.keys()].map((name) => [name, new Set(idsOn(name))]));
    const broken = [...pages].flatMap(([name, text]) =>
      [...text.matchAll(/<a\s[^>]*?href="([^"]*)"/g)]
        .map(([, link = '']) => textOf(link))
        .filter((link) => !/^[a-z]+:/.test(link))
        .filter((link) => {
          const [path = '', anchor] = link.split('#');
          const to = path === '' ? name : nameAt(resolved(name, path));
          if (['/', '/openapi.json', '/v1/openapi.json'].includes(to)) return false;
          return ids.get(to) === undefined || (anchor !== undefined && !ids.get(to)?.has(anchor));
        })
        .map((link) => `${name}: ${link}`),
    );
    expect(broken).to.deep.equal([]);
  });

  it('have each anchor once', () => {
    for (const name of pages.keys()) {
      const ids = idsOn(name);
      expect(
        ids.filter((id, index) => ids.indexOf(id) !== index),
        name,
      ).to.deep.equal([]);
    }
  });

  it('load nothing from elsewhere, and nothing that a strict content security policy forbids', () => {
    for (const [name, text] of pages) {
      expect(text, name).to.not.match(/<style|\sstyle=|\son\w+=|<script(?![^>]* src="[^":]+")/);
      const loaded = [...text.matchAll(/<(?:link|script|img|source|iframe)\s[^>]*(?:href|src)="([^"]+)"/g)];
      expect(loaded, name).to.have.lengthOf(4);
      expect(loaded.map(([, link]) => link).filter((link) => /^(?!data:)[a-z]+:|^\/\//.test(link ?? ''))).to.deep.equal(
        [],
      );
    }
  });

  it('show HTML in descriptions as text', () => {
    expect(textOf(page('guides/api-conventions'))).to.include('Bearer <key>');
    expect([...pages.values()].join('')).to.not.match(/<key>|<checkout>/);
  });
});
