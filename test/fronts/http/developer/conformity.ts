import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { openApiDocument } from '../../../../apps/http/developer/openapi.js';
import { ROUTES } from '../../../../apps/http/developer/routes.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { DEFAULT_SETTINGS } from '../../../../core/settings.js';
import type { HttpAnswer } from '../host/rest-client.js';

const DOCUMENT = openApiDocument(ROUTES, DEFAULT_SETTINGS);
const DOCUMENT_ID = 'https://example.com/openapi.json';

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  formats: {
    'uuid': /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  },
});
ajv.addSchema({ ...(closed(DOCUMENT) as JsonObject), $id: DOCUMENT_ID });
const validators = new Map<string, ValidateFunction>();

/** The document says nothing against new fields; our own answers have none that it does not name. */
function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed);
  if (value === null || typeof value !== 'object') return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, closed(item)]));
  const isOpen =
    copy['type'] === 'object' && copy['properties'] !== undefined && copy['additionalProperties'] === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

/** The answer has a status, a code and a shape that the document gives this operation. */
export function expectConformity(
  operationId: string,
  { status, envelope, headers }: Pick<HttpAnswer, 'status' | 'envelope' | 'headers'>,
): void {
  // A stream has no schema in the document, and its client makes an envelope of the first event.
  if (['watchGeneration', 'watchEvents'].includes(operationId) && status === 200) return;
  const name = `${operationId} ${status}`;
  let validate = validators.get(name);
  if (!validate) {
    const pointer = pointerTo(operationId, status);
    validate = ajv.compile({ $ref: `${DOCUMENT_ID}#${pointer}` });
    validators.set(name, validate);
  }
  validate(envelope);
  expect(validate.errors ?? [], `${name}: ${JSON.stringify(envelope)}`).to.deep.equal([]);
  expect(headers.get('x-request-id')).to.equal(envelope['request_id']);
  expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
}

/** The data of an event of a stream is as the document says. */
export function expectEvent(data: JsonObject): void {
  const validate = ajv.compile({ $ref: `${DOCUMENT_ID}#/components/schemas/GenerationEvent` });
  validate(data);
  expect(validate.errors ?? [], JSON.stringify(data)).to.deep.equal([]);
}

function pointerTo(operationId: string, status: number): string {
  for (const [path, item] of Object.entries(DOCUMENT['paths'] as JsonObject)) {
    for (const [method, operation] of Object.entries(item as JsonObject)) {
      if ((operation as JsonObject)['operationId'] !== operationId) continue;
      expect(
        (operation as { responses: JsonObject }).responses,
        `documented statuses of ${operationId}`,
      ).to.have.property(String(status));
      const token = path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
      return `/paths/${token}/${method}/responses/${status}/content/application~1json/schema`;
    }
  }
  throw new Error(`The document has no operation ${operationId}.`);
}
