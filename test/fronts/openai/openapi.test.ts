// Goal: the OpenAPI document of the OpenAI-compatible API has every endpoint, and what it says of answers is true.
// Method: its paths against the endpoints, both ways; answers of a whole service against its schemas.
import { expect } from 'chai';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { EDIT_ENDPOINTS } from '../../../apps/http/openai/edits.js';
import { IMAGE_ENDPOINTS } from '../../../apps/http/openai/images.js';
import { MODEL_ENDPOINTS } from '../../../apps/http/openai/models.js';
import { nameOf, OPERATIONS } from '../../../apps/http/openai/openapi.js';
import { VIDEO_ENDPOINTS } from '../../../apps/http/openai/videos.js';
import type { JsonObject } from '../../../core/json.js';
import { OpenAiHarness } from './openai-harness.js';

/** Served so that it is refused as a path that does not exist. */
const NOT_DESCRIBED = ['POST /videos/:video_id'];

describe('the OpenAPI document of the OpenAI-compatible API', () => {
  let api: OpenAiHarness;
  let document: JsonObject;
  before(async () => {
    api = await OpenAiHarness.open();
    await api.service.startWorker();
    document = (await api.send('/v1/openapi.json', { headers: { Authorization: undefined } })).body;
  });
  after(() => api.close());

  function expectToFit(schema: string, body: JsonObject): void {
    const components = document['components'] as { readonly schemas: Readonly<Record<string, JsonObject>> };
    // A validator of single schemas follows no references to others.
    const whole = JSON.parse(
      JSON.stringify(components.schemas[schema], (_, value: JsonObject) => {
        const name = typeof value === 'object' && value !== null ? value['$ref'] : undefined;
        return typeof name === 'string' ? components.schemas[name.split('/').at(-1) ?? ''] : value;
      }),
    ) as JsonObject;
    expect(new AjvJsonSchemas().check(whole, body).faults).to.deep.equal([]);
  }

  it('has every endpoint, and no other', () => {
    const endpoints = [...IMAGE_ENDPOINTS, ...EDIT_ENDPOINTS, ...VIDEO_ENDPOINTS, ...MODEL_ENDPOINTS].map(nameOf);
    const described = Object.keys(OPERATIONS);
    expect(described.sort()).to.deep.equal(endpoints.filter((name) => !NOT_DESCRIBED.includes(name)).sort());
    const paths = document['paths'] as Readonly<Record<string, object>>;
    expect(Object.values(paths).flatMap((methods) => Object.keys(methods))).to.have.length(described.length);
    expect(Object.keys(paths)).to.include.members(['/videos/{video_id}/content', '/models/{model}']);
  });

  it('describes pictures, models, videos and errors as they are sent', async () => {
    expectToFit('Images', (await api.create()).body);
    expectToFit('ModelList', (await api.send('/v1/models')).body);
    expectToFit('Model', (await api.send('/v1/models/picture')).body);
    expectToFit('VideoList', (await api.send('/v1/videos')).body);
    expectToFit('Error', (await api.send('/v1/videos/none')).body);
  });
});
