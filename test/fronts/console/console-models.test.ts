import { expect } from 'chai';
import { catalogOf, MODELS } from '../../fixtures/models.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, ConsoleClient } from './console-harness.js';

// Goal: the page gets each model of the API, with its examples and whether it is for tests, its usual time and a
// sample of the account, and nothing else of the catalog.
// Method: a catalog of which one model has examples, read by the page and over REST.

const EXAMPLE = { title: 'Kite', prompt: 'a red kite', parameters: { size: '96x64' } };
const [PICTURE, HELD] = MODELS as [(typeof MODELS)[number], (typeof MODELS)[number]];
const CATALOG = catalogOf(() => [
  { ...PICTURE, examples: [EXAMPLE, { prompt: 'a kite' }] },
  { ...HELD, isTest: true },
]);

interface Sample {
  readonly output: Readonly<Record<string, unknown>>;
  readonly thumbnails: Readonly<Record<string, string>> | null;
}

function sampleOf(model: Readonly<Record<string, unknown>> | undefined): Sample {
  return model?.['sample'] as Sample;
}

describe('models of the account page', () => {
  let service: OAuthHarness;

  before(async () => {
    service = await OAuthHarness.open({}, { ports: { catalog: CATALOG } });
  });

  after(() => service.close());

  it('have the usual time of three results or more, and a sample of the account', async () => {
    const { context } = service.harness;
    const { accountId } = service.person;
    const shared = { status: 'succeeded', createdAt: 1_000, completedAt: 4_000 } as const;
    for (let made = 0; made < 3; made += 1)
      context.outcomeCounts.settled(aGeneration(made, { ...shared, modelKey: 'picture' }));
    await context.generations.insert(aGeneration(21, { ...shared, accountId, modelKey: 'picture' }));
    await context.generations.insert(aGeneration(22, { ...shared, accountId, modelKey: 'picture', status: 'failed' }));
    // This one belongs to another account.
    await context.generations.insert(aGeneration(23, { ...shared, modelKey: 'picture-held' }));
    const { data } = await (await clientOf(service, service.person)).get('/models');
    const [picture, held] = data['models'] as Record<string, unknown>[];
    expect(Math.abs(Number(picture?.['usual_ms']) - 3_000)).to.be.at.most(150);
    const { output, thumbnails } = sampleOf(picture);
    expect(output).to.include({ media_id: uuidAt(4), media_type: 'image', width: 2, height: 3 });
    const sides = { small: 320, medium: 640, large: 1_280 };
    expect(Object.keys(thumbnails ?? {})).to.deep.equal(['media_id', ...Object.keys(sides)]);
    for (const [name, side] of Object.entries(sides))
      expect(thumbnails?.[name])
        .to.match(/^\/thumbnails\//)
        .and.to.include(`/thumbnails/${uuidAt(21)}/${uuidAt(4)}/${side}?`);
    expect([held?.['usual_ms'], held?.['sample']]).to.deep.equal([null, null]);
  });

  it('have a video as the sample where it has no thumbnails', async () => {
    const { context } = service.harness;
    const { accountId } = service.person;
    const [image] = aGeneration(0).outputs;
    const video = { ...image!, kind: 'video', contentType: 'video/mp4', objectKey: 'out/video' } as const;
    const made = { status: 'succeeded', createdAt: 2_000, modelKey: 'picture-held', outputs: [video] } as const;
    await context.generations.insert(aGeneration(31, { ...made, accountId }));
    await context.generations.insert(
      aGeneration(32, { ...made, accountId, createdAt: 3_000, outputsRemovedAt: 4_000 }),
    );
    const { data } = await (await clientOf(service, service.person)).get('/models');
    const [, held] = data['models'] as Record<string, unknown>[];
    const { output, thumbnails } = sampleOf(held);
    expect(thumbnails).to.equal(null);
    expect(output).to.include({ media_id: uuidAt(4), media_type: 'video' });
    expect(output['url']).to.be.a('string').that.includes('out/video');
  });

  it('are those of the API, with examples and whether they are for tests', async () => {
    const client = await clientOf(service, service.person);
    const { status, data } = await client.get('/models');
    expect(status).to.equal(200);
    const models = data['models'] as Record<string, unknown>[];
    const response = await fetch(`${service.origin}/api/v1/developer/models`);
    const { data: published } = (await response.json()) as { data: { models: object[] } };
    const same = models.map(
      ({ examples: _e, is_test: _t, usual_ms: _u, sample: _s, prompt_rule: _p, max_prompt_characters: _m, ...one }) =>
        one,
    );
    expect(same).to.deep.equal(published.models);
    expect(models[0]).to.include({ prompt_rule: 'required', max_prompt_characters: 8_000 });
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
