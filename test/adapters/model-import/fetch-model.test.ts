/**
 * Goal: what a vendor says about a model is read at the configured address alone, and whatever it answers in place of a model
 * ends in one sentence without the key.
 * Method: fakes of the vendors' APIs, and faults planned at them.
 */
import { expect } from 'chai';
import { fetchModel, type VendorModel } from '../../../adapters/model-import/fetch-model.js';
import { ImportRefused, type RecordedModel, type Vendor } from '../../../adapters/model-import/proposal.js';
import { schemaDigest } from '../../../adapters/model-import/schema-digest.js';
import type { JsonObject } from '../../../core/json.js';
import { CogFake } from '../../providers/fakes/cog-fake.js';
import { FalFake } from '../../providers/fakes/fal-fake.js';
import { OpenAiFake } from '../../providers/fakes/openai-fake.js';
import { ReplicateFake } from '../../providers/fakes/replicate-fake.js';
import type { VendorFake } from '../../providers/fakes/vendor-fake.js';
import { freePort } from '../../servers/free-port.js';
import { CONTAINER, falAnswer, PAINTER } from './vendor-answers.js';

const VERSION = 'b2'.repeat(32);
const TIMES = { connect_timeout_seconds: 5, answer_timeout_seconds: 5, idle_timeout_seconds: 5, max_connections: 4 };

interface Lane {
  readonly fake: VendorFake;
  readonly id: string;
  /** The options that name the fake. */
  readonly options: JsonObject;
  readonly expected: unknown;
}

describe('what a vendor says about a model', () => {
  const lanes = new Map<Vendor, Lane>();
  const key = 'id:secret-key';
  let fal: FalFake;
  before(async () => {
    fal = await FalFake.open(key);
    const [model] = PAINTER.document === null ? [] : (PAINTER.document as { models: [JsonObject] }).models;
    fal.describe(model ?? {}, { unit_price: 0.003, unit: 'megapixels', currency: 'USD' });
    const replicate = await ReplicateFake.open(key);
    const answer = { owner: 'acme', name: 'own', latest_version: { id: VERSION, openapi_schema: CONTAINER } };
    replicate.describe('acme', 'own', answer);
    const cog = await CogFake.open();
    cog.describe(CONTAINER);
    const openai = await OpenAiFake.open('openai', key);
    lanes.set('fal', {
      fake: fal,
      id: PAINTER.id,
      options: { platform_url: fal.platform },
      expected: { models: [model], next_cursor: null, has_more: false },
    });
    lanes.set('replicate', {
      fake: replicate,
      id: 'acme/own',
      options: { base_url: replicate.base },
      expected: answer,
    });
    lanes.set('cog', { fake: cog, id: cog.base, options: { base_url: cog.base }, expected: CONTAINER });
    lanes.set('openai', {
      fake: openai,
      id: 'gpt-image-2',
      options: { base_url: openai.base },
      expected: { id: 'gpt-image-2', object: 'model', created: 1_763_913_600, owned_by: 'system' },
    });
  });
  after(() => Promise.all([...lanes.values()].map(({ fake }) => fake.close())));

  function laneOf(vendor: Vendor): Lane {
    const lane = lanes.get(vendor);
    if (lane === undefined) throw new Error(`There is no fake of ${vendor}.`);
    return lane;
  }

  function modelOf(vendor: Vendor, more: JsonObject = { api_key: key }): VendorModel {
    const { id, options } = laneOf(vendor);
    return {
      vendor,
      id,
      instance: vendor,
      keyVariable: 'THE_KEY',
      needsPrice: true,
      options: { ...TIMES, proxy: 'none', ...options, ...more },
    };
  }

  function fetched(model: VendorModel): Promise<RecordedModel> {
    return fetchModel(model, AbortSignal.timeout(20_000));
  }

  /** The one sentence that it ends in. */
  async function refusalOf(model: VendorModel): Promise<string> {
    try {
      await fetched(model);
    } catch (error) {
      expect(error).to.be.instanceOf(ImportRefused);
      const { message } = error as Error;
      expect(message).to.match(/^[^\n]+[.?]$/);
      expect(message).not.to.include(key);
      return message;
    }
    throw new Error('It was not refused.');
  }

  for (const vendor of ['fal', 'replicate', 'cog', 'openai'] as const) {
    it(`is the whole answer of ${vendor}`, async () => {
      const { document, ...recorded } = await fetched(modelOf(vendor));
      expect(document).to.deep.equal(laneOf(vendor).expected);
      const price = { unitPrice: '0.003', unit: 'megapixels', currency: 'USD' };
      expect(recorded).to.deep.equal({ vendor, id: laneOf(vendor).id, ...(vendor === 'fal' ? { price } : {}) });
    });

    const FAULTS: readonly (readonly [status: number, sentence: RegExp])[] = [
      [401, /The key is refused at http.* \(status 401\): check THE_KEY, or api_key of the provider/],
      [403, /The key is refused/],
      [404, vendor === 'cog' ? /is it a container of Cog\?$/ : /has no model .*, or this key may not use it\.$/],
      [429, /takes no more requests for now \(status 429\); try again in 7 s\.$/],
      [500, /has a fault of its own \(status 500\); try again later\.$/],
      [503, /has a fault of its own/],
      [418, /refuses to describe .* \(status 418\)\.$/],
      // A redirect is an answer like any other: it is not followed.
      [302, /refuses to describe .* \(status 302\)\.$/],
    ];
    for (const [status, sentence] of FAULTS) {
      it(`ends in one sentence after the status ${status} of ${vendor}`, async () => {
        const headers = { 'retry-after': '7', 'location': 'http://127.0.0.1:1/' };
        laneOf(vendor).fake.server.plan({ type: 'status', status, headers, body: '<html>' });
        expect(await refusalOf(modelOf(vendor))).to.match(sentence);
      });
    }

    const BODIES: readonly (readonly [what: string, body: string, sentence: RegExp])[] = [
      [
        'a page',
        '<!doctype html><title>Sign in</title>',
        /answers with a page, not with JSON; check (?:platform|base)_url\.$/,
      ],
      ['no JSON', 'not found', /is not JSON\.$/],
      ['half a document', '{"models": [', /is not JSON\.$/],
      ['a deep document', `${'['.repeat(100)}${']'.repeat(100)}`, /must not be nested deeper than/],
      ['a large document', JSON.stringify(Array.from({ length: 60_000 }, () => 0)), /must have at most 50000 values/],
      ['too many bytes', `"${'x'.repeat(2 * 1024 * 1024)}"`, /has more than 2097152 bytes\.$/],
    ];
    for (const [what, body, sentence] of BODIES) {
      it(`ends in one sentence after ${what} from ${vendor}`, async () => {
        const headers = { 'content-type': 'application/json' };
        laneOf(vendor).fake.server.plan({ type: 'status', status: 200, headers, body });
        expect(await refusalOf(modelOf(vendor))).to.match(sentence);
      });
    }

    it(`ends in one sentence where nothing of ${vendor} listens, and after a cut answer`, async () => {
      const option = vendor === 'fal' ? 'platform_url' : 'base_url';
      const nowhere = { api_key: key, [option]: `http://127.0.0.1:${await freePort()}` };
      expect(await refusalOf(modelOf(vendor, nowhere))).to.match(/^Nothing answers at .* \(ECONNREFUSED\); check/);
      laneOf(vendor).fake.server.plan({ type: 'truncated' });
      expect(await refusalOf(modelOf(vendor))).to.match(/did not give a whole answer/);
    });
  }

  it('names the variable of a key that the vendor requires', async () => {
    for (const vendor of ['replicate', 'openai'] as const)
      expect(await refusalOf(modelOf(vendor, {}))).to.match(/asks for a key, and none is set: set THE_KEY\.$/);
  });

  it('is read of fal without a key, then without a price', async () => {
    expect(await fetched(modelOf('fal', {}))).not.to.have.property('price');
    expect(await refusalOf(modelOf('fal', { api_key: 'wrong' }))).to.match(/The key is refused/);
  });

  it('has no price of fal that cannot be read, is of another model, or is refused', async () => {
    for (const price of [{}, { unit_price: -1, unit: 'images', currency: 'USD' }, { unit_price: 1, currency: 'USD' }]) {
      fal.describe((falAnswer('fal-ai/other', { type: 'object', properties: {} })['models'] as [JsonObject])[0], price);
      expect(await fetched({ ...modelOf('fal'), id: 'fal-ai/other' })).not.to.have.property('price');
    }
    fal.server.plan({ type: 'status', status: 403 }, { path: /pricing$/ });
    expect(await fetched(modelOf('fal'))).not.to.have.property('price');
  });

  it('is of the version that is named, at Replicate', async () => {
    const { document } = await fetched({ ...modelOf('replicate'), id: `acme/own:${VERSION}` });
    expect(document).to.deep.equal({ id: VERSION, openapi_schema: CONTAINER });
    expect(await refusalOf({ ...modelOf('replicate'), id: `acme/own:${'c3'.repeat(32)}` })).to.match(/has no model/);
  });

  it('names an endpoint that fal does not have', async () => {
    expect(await refusalOf({ ...modelOf('fal'), id: 'fal-ai/none' })).to.equal(
      "fal has no endpoint fal-ai/none: compare the name with the address of the model's page.",
    );
  });
});

describe('the digest of a schema', () => {
  const digest = (document: JsonObject) => schemaDigest({ vendor: 'fal', id: PAINTER.id, document });
  const document = PAINTER.document as JsonObject;
  const changed = (from: RegExp, to: string) => JSON.parse(JSON.stringify(document).replace(from, to)) as JsonObject;

  it('differs where the input or the output does, and not by words about the model or the order of members', () => {
    expect(digest(document)).to.match(/^sha256:[0-9a-f]{64}$/);
    expect(digest(changed(/"maximum":4/, '"maximum":3'))).not.to.equal(digest(document));
    expect(digest(changed(/"has_nsfw_concepts"/, '"nsfw"'))).not.to.equal(digest(document));
    expect(digest(changed(/Paints quickly/, 'Paints slowly'))).to.equal(digest(document));
    const [model] = document['models'] as [JsonObject];
    expect(digest({ has_more: true, models: [{ openapi: model['openapi'] ?? null, endpoint_id: 'x' }] })).to.equal(
      digest(document),
    );
    expect(digest(model)).to.equal(digest(document));
    expect(digest({ models: [{ endpoint_id: 'fal-ai/other', openapi: {} }, model] })).to.equal(digest(document));
  });

  it('is one sentence for text that is not Unicode', () => {
    expect(() => digest(changed(/What to paint/, '\\ud800'))).to.throw(ImportRefused, 'not Unicode');
  });
});
