import { expect } from 'chai';
import { MODELS, catalogOf } from '../../fixtures/models.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, ConsoleClient } from './console-harness.js';

// Goal: the page gets each model of the API, with its examples and whether it is for tests, and nothing else of the catalog.
// Method: a catalog of which one model has examples, read by the page and over REST.

const EXAMPLE = { title: 'Kite', prompt: 'a red kite', parameters: { size: '96x64' } };
const [PICTURE, HELD] = MODELS as [(typeof MODELS)[number], (typeof MODELS)[number]];
const CATALOG = catalogOf(() => [
  { ...PICTURE, examples: [EXAMPLE, { prompt: 'a kite' }] },
  { ...HELD, isTest: true },
]);

describe('models of the account page', () => {
  let service: OAuthHarness;

  before(async () => {
    service = await OAuthHarness.open({}, { ports: { catalog: CATALOG } });
  });

  after(() => service.close());

  it('are those of the API, with examples and whether they are for tests', async () => {
    const client = await clientOf(service, service.person);
    const { status, data } = await client.get('/models');
    expect(status).to.equal(200);
    const models = data['models'] as Record<string, unknown>[];
    const response = await fetch(`${service.origin}/api/v1/developer/models`);
    const { data: published } = (await response.json()) as { data: { models: object[] } };
    expect(models.map(({ examples: _e, is_test: _t, ...same }) => same)).to.deep.equal(published.models);
    expect(models.map(({ examples }) => examples)).to.deep.equal([
      [EXAMPLE, { title: null, prompt: 'a kite', parameters: {} }],
      [],
    ]);
    expect(models.map(({ is_test: isTest }) => isTest)).to.deep.equal([false, true]);
  });

  it('are for people who are signed in', async () => {
    expect((await new ConsoleClient(service.origin, '').get('/models')).status).to.equal(401);
  });
});
