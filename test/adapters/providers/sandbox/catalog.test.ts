/*
 * Goal: what the catalog offers of the sandbox is what the sandbox can do.
 * Method: the delivered catalog is loaded, then read as plain YAML, and every value of every enum in it is tried on the plan reader.
 */
import { expect } from 'chai';
import { PROVIDER_ERRORS } from '../../../../core/generation/generation.js';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { loadCatalog } from '../../../../adapters/catalog-file/file-catalog.js';
import { BEHAVIOURS, readPlan } from '../../../../adapters/providers/sandbox/plan.js';
import { AjvJsonSchemas } from '../../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../../adapters/system/check-schema.js';
import type { Json, JsonObject } from '../../../../core/json.js';

interface Property {
  readonly enum?: Json[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: Json;
}
interface Entry {
  readonly model_key: string;
  readonly provider: string;
  readonly provider_settings: JsonObject;
  readonly input_schema: { readonly properties: Record<string, Property> };
}

describe('Sandbox models of the catalog', () => {
  let models: Entry[];
  before(async () => {
    const { models: all } = parse(await readFile('config/catalog.yaml', 'utf8')) as { models: Entry[] };
    models = all.filter((model) => model.provider === 'sandbox');
  });

  it('is a catalog that the service starts with', async () => {
    const catalog = await loadCatalog('config/catalog.yaml', { jsonSchemas: new AjvJsonSchemas(), checkSchema });
    expect(catalog.models().map((model) => model.modelKey)).to.include.members([
      'sandbox-image',
      'sandbox-video',
      'sandbox-noop',
      'sandbox-test',
    ]);
  });

  it('offers a picture, a video, a no-op and a test model', () => {
    expect(models.map((model) => model.provider_settings['painter'])).to.deep.equal(['image', 'video', 'noop', 'test']);
  });

  it('offers nothing that the sandbox refuses', () => {
    for (const model of models) {
      for (const [name, property] of Object.entries(model.input_schema.properties)) {
        const values = [...(property.enum ?? []), property.minimum, property.maximum, property.default].filter(
          (value) => value !== undefined,
        );
        expect(values, `${model.model_key} ${name}`).to.not.have.length(0);
        for (const value of values) readPlan(model.provider_settings, { [name]: value });
      }
    }
  });

  it('has the defaults that the sandbox would take by itself', () => {
    for (const model of models) {
      const defaults: JsonObject = {};
      for (const [name, property] of Object.entries(model.input_schema.properties)) {
        if (property.default !== undefined) defaults[name] = property.default;
      }
      expect(readPlan(model.provider_settings, defaults)).to.deep.equal(readPlan(model.provider_settings, {}));
    }
  });

  it('offers every behaviour and every error of the test model', () => {
    const { properties } = models.find((model) => model.provider_settings['painter'] === 'test')!.input_schema;
    expect(properties['behaviour']!.enum).to.deep.equal([...BEHAVIOURS]);
    expect(properties['error_code']!.enum).to.deep.equal([...PROVIDER_ERRORS]);
  });
});
