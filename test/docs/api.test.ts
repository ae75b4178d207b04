/**
 * Goal: the pages in docs/api describe the endpoints that are served, and show requests and answers that could really be.
 * Method: compare their table, headings and refusals with the route table, both ways; check every example against the
 * schema of its operation, with no field beyond it.
 */
import { expect } from 'chai';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import type { Route } from '../../apps/http/developer/operation.js';
import { ROUTES } from '../../apps/http/developer/routes.js';
import { MAX_BODY_BYTES } from '../../apps/http/host/http-context.js';
import { MAX_REFERENCE_UPLOADS } from '../../core/generation/quote.js';
import type { Json, JsonObject } from '../../core/json.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { DEFAULT_REST_LIMITS } from '../harness/http-fronts.js';
import { type CodeBlock, pagesUnder, plain, tablesOf } from './pages.js';

const pages = pagesUnder('docs/api');
const schemas = new AjvJsonSchemas();

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

interface Section {
  readonly prose: string;
  readonly blocks: readonly CodeBlock[];
}

/** The section under a heading of the second level, which one of the pages has. */
function sectionUnder(heading: string): Section {
  const page = pages.find(({ headings }) => headings.some(({ level, text }) => level === 2 && text === heading));
  if (page === undefined) return { prose: '', blocks: [] };
  const lines = page.prose.split('\n');
  const from = lines.indexOf(`## ${heading}`);
  const after = lines.findIndex((line, index) => index > from && line.startsWith('## '));
  const to = after === -1 ? lines.length : after;
  return {
    prose: lines.slice(from, to).join('\n'),
    blocks: page.blocks.filter(({ line }) => from !== -1 && line > from && line <= to),
  };
}

/** The rows of the one table that has this column in this place. */
function rowsUnder(column: string, place: number): readonly (readonly string[])[] {
  return pages.flatMap(tablesOf).find(({ columns }) => columns[place] === column)?.rows ?? [];
}

describe('the pages in docs/api', () => {
  it('have the route table, and no other', () => {
    const rows = rowsUnder('Endpoint', 0);
    const served = ROUTES.map((route) => [
      nameOf(route),
      route.scope ?? 'none, public',
      route.operation.headers?.includes('IdempotencyKey') === true ? 'yes' : 'no',
      route.scope === undefined ? 'nothing' : `a ${route.rate.slice(0, -1)}`,
      String(route.operation.status),
    ]);
    expect(rows.map((row) => row.map(plain))).to.deep.equal(served);
  });

  it('have a section for each endpoint, and no other', () => {
    const headings = pages
      .flatMap((page) => page.headings)
      .map(({ text }) => text)
      .filter((text) => /^(?:GET|POST|PATCH|DELETE) /.test(text));
    expect(headings.sort()).to.deep.equal(ROUTES.map(nameOf).sort());
  });

  it('give limits as they are by default', () => {
    const limits = Object.fromEntries(rowsUnder('Limit', 1).map(([what = '', limit = '']) => [what, limit]));
    const { readsPerMinute, writesPerMinute } = DEFAULT_REST_LIMITS;
    const { maxOpenGenerationsPerAccount, maxUploadBytes, maxUploadPixels, maxUploadDecodeBytes } = DEFAULT_SETTINGS;
    expect(limits['Body of a request']).to.match(new RegExp(`^${MAX_BODY_BYTES / 1024} KiB, `));
    expect(limits['Reads of one key']).to.match(new RegExp(`^${readsPerMinute.toLocaleString('en')} a minute`));
    expect(limits['Writes of one key']).to.match(new RegExp(`^${writesPerMinute.toLocaleString('en')} a minute`));
    expect(limits['Open generations of one account']).to.equal(maxOpenGenerationsPerAccount.toLocaleString('en'));
    expect(limits['Reference files']).to.equal(
      `${MAX_REFERENCE_UPLOADS} a generation, or what the model says; PNG, JPEG or WebP; ${maxUploadBytes / 1024 ** 2} MiB; ` +
        `${maxUploadPixels / 1e6} megapixels; ${maxUploadDecodeBytes / 1024 ** 2} MiB of memory to decode`,
    );
  });

  for (const route of ROUTES) {
    it(`list the refusals of ${nameOf(route)}`, () => {
      const sentence = /^Refuses with ([^.]+)\.$/m.exec(sectionUnder(nameOf(route)).prose)?.[1] ?? '';
      expect([...sentence.matchAll(/`(\w+)`/g)].map(([, code = '']) => code).sort()).to.deep.equal(
        [...route.operation.errors].sort(),
      );
    });

    it(`show requests and answers of ${nameOf(route)} that could be`, () => {
      const { prose, blocks } = sectionUnder(nameOf(route));
      const { operation } = route;
      const { body } = operation;
      expect(blocks.map(({ info }) => info)).to.deep.equal([
        ...(body ? ['json request'] : []),
        ...answerBlocks(operation.mediaType, prose),
      ]);
      for (const { info, text } of blocks.filter((block) => block.info !== '')) {
        const example = JSON.parse(text) as JsonObject;
        const answered = info === 'json event' ? operation.data : envelopeOf(operation.data);
        const schema = info === 'json request' ? (body as { schema: JsonObject }).schema : answered;
        expect(schemas.check(closed(schema) as JsonObject, example).faults, info).to.deep.equal([]);
      }
    });
  }
});

/** The blocks that show an answer. A section may name another one that shows the same. */
function answerBlocks(mediaType: string | undefined, prose: string): readonly string[] {
  if (mediaType === 'text/event-stream') return ['', 'json event'];
  return /^Returns .* as \[.*\]\(#.*\) does\b/m.test(prose) ? [] : ['json response'];
}

function envelopeOf(data: JsonObject): JsonObject {
  return {
    type: 'object',
    required: ['success', 'code', 'message', 'request_id', 'data'],
    properties: {
      success: { const: true },
      code: { const: 'OK' },
      message: { type: 'string' },
      request_id: { type: 'string' },
      data,
    },
  };
}

const TIMESTAMP = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' };

/** The same schema, taking no field that it does not name; times as we write them. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== 'object') return schema;
  if (schema['format'] === 'date-time') return TIMESTAMP;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}
