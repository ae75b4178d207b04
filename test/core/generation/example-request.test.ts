/*
 * Goal: the example request that people are shown is one that the catalog takes, with whatever parameters a model needs.
 * Method: catalogs of a few models, in memory.
 */
import { expect } from 'chai';
import type { Model } from '../../../core/catalog/model.js';
import { exampleRequest } from '../../../core/generation/quote.js';
import { catalogOf } from '../../fixtures/catalog-of.js';
import { MODELS } from '../../fixtures/models.js';
import { openServiceHarness } from '../../harness/service-harness.js';

const CALLER = { accountId: 'a', appId: 'b', credentialId: 'c', scopes: [] };

async function exampleOf(models: readonly Model[]): Promise<object | undefined> {
  const harness = await openServiceHarness({ ports: { catalog: catalogOf(() => models) } });
  const example = await exampleRequest(harness.context, CALLER);
  await harness.close();
  return example;
}

describe('the example request', () => {
  const picture = MODELS.find(({ operations }) => operations.includes('image_generation')) as Model;
  const withParameters = (required: string[], properties: Model['inputSchema']): Model => ({
    ...picture,
    modelKey: 'another',
    inputSchema: { type: 'object', additionalProperties: false, required, properties },
    price: { ...picture.price, unit: 'task' },
  });

  it('names the first model that makes a picture of a text, and each parameter that it needs', async () => {
    expect(await exampleOf(MODELS)).to.deep.equal({
      model_key: picture.modelKey,
      operation: 'image_generation',
      prompt: 'a lighthouse at dusk',
      parameters: { size: '96x64' },
    });
  });

  it('has no parameters where none are needed', async () => {
    const example = await exampleOf([withParameters([], { steps: { type: 'integer', minimum: 1 } })]);
    expect(example).not.to.have.property('parameters');
  });

  it('passes over a model that needs what nobody can guess, and says so when there is no other', async () => {
    const unknown = withParameters(['motto'], { motto: { type: 'string', minLength: 1 } });
    expect(await exampleOf([unknown, picture])).to.include({ model_key: picture.modelKey });
    expect(await exampleOf([unknown])).to.equal(undefined);
    expect(await exampleOf([])).to.equal(undefined);
  });
});
