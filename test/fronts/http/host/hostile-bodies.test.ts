// Goal: no JSON body makes the front fail, a refused one leaves nothing behind, and no answer reveals whether an id
// belongs to another account or does not exist.
// Method: properties over arbitrary and nearly valid bodies, and over ids; failures print their seed.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../../core/json.js';
import { remains } from '../../../fixtures/remains.js';
import type { FrontRequest } from '../../vectors/play.js';
import { PICTURE, PNG_UPLOAD } from '../../vectors/vector.js';
import { expectConformity } from '../developer/conformity.js';
import { RestHarness, sendHttp } from './rest-client.js';
import { forAll } from '../../../harness/for-all.js';

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('__proto__', 'constructor', '\ud800', '\0', 'toString'),
);

/** A valid body with some of its fields replaced, or others added, at either level. */
function nearly(body: JsonObject): fc.Arbitrary<Json> {
  const names = fc.oneof(
    fc.constantFrom(...Object.keys(body), 'negative_prompt', 'client_trace_id', 'reference_upload_ids', 'sha256'),
    anyText,
  );
  const values = fc.oneof(json, anyText, fc.constantFrom<Json>('size', { size: '96x64' }, -0, 2 ** 53, 1e308, []));
  return fc.array(fc.tuple(names, values, fc.boolean()), { minLength: 1, maxLength: 3 }).map((edits) => {
    const entries = new Map<string, Json>(Object.entries(body));
    for (const [name, value, inner] of edits) {
      if (inner)
        entries.set(
          'parameters',
          Object.fromEntries([
            ['size', '96x64'],
            [name, value],
          ]),
        );
      else entries.set(name, value);
    }
    return Object.fromEntries(entries);
  });
}

describe('REST answers hostile bodies', () => {
  let rest: RestHarness;
  let keys = 0;

  before(async () => {
    rest = await RestHarness.open();
  });
  after(() => rest.close());

  /** An accepted request leaves what it should; a refused one leaves nothing. */
  async function expectOrderly(request: FrontRequest): Promise<void> {
    const credential = rest.fixture.secrets.get('stranger') as string;
    const before = await remains(rest.harness.context);
    keys += 1;
    const answer = await sendHttp(rest.origin, { ...request, credential, key: `k${keys}` });
    expect(answer.status, JSON.stringify(answer.envelope)).to.be.below(500);
    expectConformity(request.operation, answer);
    if (answer.code !== 'OK' || request.operation === 'estimateGeneration')
      expect(await remains(rest.harness.context)).to.deep.equal(before);
  }

  const bodies: readonly (readonly [FrontRequest['operation'], fc.Arbitrary<Json>])[] = [
    ['createGeneration', fc.oneof(json, nearly(PICTURE))],
    ['estimateGeneration', fc.oneof(json, nearly(PICTURE))],
    ['prepareUpload', fc.oneof(json, nearly({ ...PNG_UPLOAD, byte_size: 100 }))],
    ['completeUpload', fc.oneof(json, nearly({}))],
  ];
  for (const [operation, body] of bodies) {
    it(`${operation}: with any body`, () =>
      forAll(150, [body], async (value) =>
        expectOrderly({ operation, id: rest.fixture.ids.get('foreign-upload') as string, body: value }),
      ));
  }

  it("answers alike for another account's id and an unknown one, to the byte", async () => {
    const foreign = [
      'own-generation',
      'other-app-generation',
      'ready-upload',
      'prepared-upload',
      'void-generation',
      'expired-generation',
    ].map((name) => rest.fixture.ids.get(name) as string);
    const ids = fc.tuple(fc.constantFrom(...foreign), fc.oneof(fc.uuid(), fc.uuid({ version: 7 })), fc.boolean());
    const operations = ['getGeneration', 'cancelGeneration', 'completeUpload'] as const;
    await forAll(60, [ids, fc.constantFrom(...operations)], async ([theirs, nobodys, inCapitals], operation) => {
      const seen: string[] = [];
      for (const id of [theirs, nobodys]) {
        keys += 1;
        const { envelope, headers, status } = await sendHttp(rest.origin, {
          operation,
          credential: rest.fixture.secrets.get('stranger') as string,
          key: `k${keys}`,
          id: inCapitals ? id.toUpperCase() : id,
        });
        expect(status).to.be.within(400, 499);
        const comparable = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
        seen.push(JSON.stringify([status, { ...envelope, request_id: '' }, comparable]));
      }
      expect(seen[0]).to.equal(seen[1]);
    });
  });
});
