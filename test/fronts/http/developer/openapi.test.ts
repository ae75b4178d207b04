// Goal: the OpenAPI document is a valid 3.1 one and says exactly what the front does.
// Method: its structure walked; every schema compiled, every reference followed; compared with the route table, the
// statuses and the error catalogue.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { errorCodesOf, openApiDocument } from '../../../../apps/http/developer/openapi.js';
import { BASE } from '../../../../apps/http/developer/operation.js';
import { ROUTES } from '../../../../apps/http/developer/routes.js';
import { STATUSES } from '../../../../apps/http/host/errors.js';
import { type ErrorCode, ERRORS } from '../../../../core/errors.js';
import { GENERATION_REQUEST_SCHEMA } from '../../../../core/generation/quote.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { DEFAULT_SETTINGS } from '../../../../core/settings.js';
import { COMPLETE_REQUEST_SCHEMA, PREPARE_REQUEST_SCHEMA } from '../../../../core/uploads/prepare-upload.js';

const MAX_UPLOAD_BYTES = 12_345;
const DOCUMENT = JSON.parse(
  JSON.stringify(openApiDocument(ROUTES, { ...DEFAULT_SETTINGS, maxUploadBytes: MAX_UPLOAD_BYTES })),
) as JsonObject;
const at = (value: Json | undefined, ...names: string[]): JsonObject =>
  names.reduce((inner, name) => (inner as JsonObject)?.[name] as Json, value as Json) as JsonObject;
const operations = Object.entries(at(DOCUMENT, 'paths')).flatMap(([path, item]) =>
  Object.entries(item as JsonObject).map(([method, operation]) => ({
    path,
    method,
    operation: operation as JsonObject,
  })),
);

function* nodes(value: Json): Generator<JsonObject> {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) yield value;
  for (const item of Object.values(value)) yield* nodes(item);
}

describe('the OpenAPI document', () => {
  it('is a 3.1 document with all required fields', () => {
    expect(DOCUMENT['openapi']).to.match(/^3\.1\.\d+$/);
    expect(at(DOCUMENT, 'info')).to.include.keys('title', 'version');
    const allowed = [
      'openapi',
      'info',
      'jsonSchemaDialect',
      'servers',
      'paths',
      'webhooks',
      'components',
      'security',
      'tags',
      'externalDocs',
    ];
    expect(allowed).to.include.members(Object.keys(DOCUMENT));
    for (const { operation } of operations) {
      expect(operation).to.include.keys('operationId', 'summary', 'responses');
      for (const [status, response] of Object.entries(at(operation, 'responses'))) {
        expect(status).to.match(/^[1-5]\d\d$/);
        expect((response as JsonObject)['description'])
          .to.be.a('string')
          .that.is.not.equal('');
      }
    }
    expect(new Set(operations.map(({ operation }) => operation['operationId'])).size).to.equal(operations.length);
  });

  it('resolves every reference', () => {
    for (const node of nodes(DOCUMENT)) {
      const reference = node['$ref'];
      if (typeof reference !== 'string') continue;
      expect(reference).to.match(/^#\/components\//);
      expect(at(DOCUMENT, ...reference.slice(2).split('/')), reference).to.be.an('object');
    }
  });

  it('links what creates something to every operation on it', () => {
    for (const { path, method, operation } of operations.filter((one) => /\{\w+_id\}/.test(one.path))) {
      const [id = ''] = [...path.matchAll(/\{(\w+_id)\}/g)].map(([, name]) => name ?? '').slice(-1);
      // No request creates deliveries.
      if (id === 'delivery_id') continue;
      const from = operations.find(
        (one) => one.method === 'post' && !one.path.includes('{') && one.path.endsWith(`/${id.replace('_id', 's')}`),
      );
      const [response] = Object.entries(at(from?.operation, 'responses')).filter(([status]) => status.startsWith('2'));
      const link = at(response?.[1], 'links', operation['operationId'] as string);
      expect(link, `${method} ${path}`).to.deep.equal({
        operationId: operation['operationId'],
        parameters: { [id]: `$response.body#/data/${id}` },
      });
    }
  });

  it('has schemas that compile, strictly', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, formats: { 'uuid': true, 'date-time': true } });
    for (const [name, schema] of Object.entries(at(DOCUMENT, 'components', 'schemas'))) {
      expect(() => ajv.compile(schema as JsonObject), name).to.not.throw();
    }
  });

  it('has the routes of the table and no others, with their parameters', () => {
    const documented = operations.map(
      ({ method, path, operation }) => `${method} ${path} ${operation['operationId'] as string}`,
    );
    const served = ROUTES.map(
      ({ method, path, operation }) =>
        `${method.toLowerCase()} ${BASE}${path.replaceAll(/:(\w+)/g, '{$1}')} ${operation.operationId}`,
    );
    expect(documented).to.have.members(served);
    for (const { path, operation } of operations) {
      const inPath = (operation['parameters'] as JsonObject[])
        .filter((parameter) => parameter['in'] === 'path')
        .map(({ name }) => name);
      expect(inPath).to.deep.equal([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  it('describes the query parameters of a route that has some', () => {
    const [route] = ROUTES.filter(({ operation }) => operation.operationId === 'getCredits');
    if (route?.scope === undefined) throw new Error('There is no such route.');
    const query = { limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many.' } };
    const document = openApiDocument([{ ...route, operation: { ...route.operation, query } }], DEFAULT_SETTINGS);
    expect(at(document, 'paths', `${BASE}/credits`, 'get')['parameters']).to.deep.include({
      name: 'limit',
      in: 'query',
      required: false,
      description: 'How many.',
      schema: { type: 'integer', minimum: 1, maximum: 100 },
    });
  });

  it('documents every code of a route under its status, and for every code of the catalogue a client can meet, a route', () => {
    const met = new Set<ErrorCode>(['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED']);
    for (const route of ROUTES) {
      const { operation } = operations.find((one) => one.operation['operationId'] === route.operation.operationId) as {
        operation: JsonObject;
      };
      for (const code of errorCodesOf(route)) {
        met.add(code);
        const schema = at(operation, 'responses', String(STATUSES[code]), 'content', 'application/json', 'schema');
        expect(at(schema, 'properties', 'code')['enum'], `${route.operation.operationId} ${code}`).to.include(code);
      }
    }
    const elsewhere: ErrorCode[] = [
      'ORIGIN_REFUSED',
      'SESSION_REQUIRED',
      'OPERATOR_REQUIRED',
      'PASSKEY_SIGN_IN_REQUIRED',
      'RECENT_SIGN_IN_REQUIRED',
      'PASSKEY_REFUSED',
      'SPENDING_NOT_CONFIRMED',
    ];
    expect([...met, ...elsewhere]).to.have.members(Object.keys(ERRORS));
  });

  it('shows examples that match their schema', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, formats: { 'uuid': true, 'date-time': true } });
    const shown = operations.flatMap(({ operation }) => {
      const content = at(operation, 'requestBody', 'content', 'application/json') as JsonObject | undefined;
      return content?.['example'] === undefined
        ? []
        : [
            {
              name: operation['operationId'] as string,
              reference: at(content, 'schema')['$ref'] as string,
              example: content['example'],
            },
          ];
    });
    expect(shown.map(({ name }) => name)).to.include.members(['createGeneration', 'estimateGeneration']);
    for (const { name, reference, example } of shown) {
      const validate = ajv.compile(at(DOCUMENT, ...reference.slice(2).split('/')));
      expect(validate(example), name).to.equal(true);
    }
  });

  it('shows the same schema that create requests are checked against, with null beside the type of what may be left out', () => {
    const expected = JSON.parse(JSON.stringify(GENERATION_REQUEST_SCHEMA)) as JsonObject;
    for (const name of ['negative_prompt', 'client_trace_id'])
      at(expected, 'properties', name)['type'] = ['string', 'null'];
    at(expected, 'properties', 'parameters')['type'] = ['object', 'null'];
    at(expected, 'properties', 'reference_upload_ids')['type'] = ['array', 'null'];
    expect(at(DOCUMENT, 'components', 'schemas')['GenerationRequest']).to.deep.equal(expected);
  });

  it('accepts null in the fields of a body that may be left out, and in no other', () => {
    const id = '01900000-0000-7000-8000-000000000000';
    const bodies: Readonly<Record<string, JsonObject>> = {
      GenerationRequest: {
        model_key: 'm',
        operation: 'image_generation',
        prompt: 'p',
        negative_prompt: '',
        parameters: {},
        reference_upload_ids: [id],
        client_trace_id: 'x',
      },
      PrepareUploadRequest: {
        filename: 'a',
        media_type: 'image/png',
        byte_size: 1,
        role: 'end_frame',
        sha256: '0'.repeat(64),
      },
      CompleteUploadRequest: { sha256: '0'.repeat(64) },
    };
    const ajv = new Ajv2020({ strict: true, strictRequired: false, formats: { uuid: true } });
    const checked = {
      GenerationRequest: GENERATION_REQUEST_SCHEMA,
      PrepareUploadRequest: PREPARE_REQUEST_SCHEMA,
      CompleteUploadRequest: COMPLETE_REQUEST_SCHEMA,
    };
    for (const [name, schema] of Object.entries<JsonObject>(checked)) {
      const validate = ajv.compile(at(DOCUMENT, 'components', 'schemas', name));
      const body = bodies[name] as JsonObject;
      expect(Object.keys(body), name).to.have.members(Object.keys(schema['properties'] as JsonObject));
      expect(validate(body), name).to.equal(true);
      const required = (schema['required'] ?? []) as readonly string[];
      for (const field of Object.keys(body))
        expect(validate({ ...body, [field]: null }), `${name} ${field}`).to.equal(!required.includes(field));
    }
  });

  it('shows the types and the largest size of uploads here, which are refused with codes of their own', () => {
    const { media_type: mediaType, byte_size: byteSize } = at(
      DOCUMENT,
      'components',
      'schemas',
      'PrepareUploadRequest',
      'properties',
    ) as { media_type: JsonObject; byte_size: JsonObject };
    expect(mediaType['enum']).to.deep.equal(['image/png', 'image/jpeg', 'image/webp']);
    expect(byteSize).to.include({ minimum: 1, maximum: MAX_UPLOAD_BYTES });
    expect(at(DOCUMENT, 'paths', '/api/v1/developer/uploads', 'post', 'responses')).to.include.keys(
      '413',
      '415',
      '422',
    );
  });

  it('does not restrict X-Request-Id, since any is accepted', () => {
    expect(at(DOCUMENT, 'components', 'parameters', 'RequestId')).to.include({ in: 'header', required: false });
    expect(at(DOCUMENT, 'components', 'parameters', 'RequestId', 'schema')).to.deep.equal({ type: 'string' });
  });
});
