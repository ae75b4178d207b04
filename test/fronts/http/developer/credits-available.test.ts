import { expect } from 'chai';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { sendHttp, serve, type RunningServer } from '../host/rest-client.js';

/** A client that may read the balance need not ask for it after a refusal, and nobody else is told of it. */
describe('a refusal for lack of credits', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;

  before(async () => {
    harness = await openServiceHarness();
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness);
  });
  after(async () => {
    await running.server.close(100);
    await harness.close();
  });

  for (const operation of ['createGeneration', 'estimateGeneration'] as const)
    for (const [as, told] of [
      ['poor', '25'],
      ['poor-writer', null],
    ] as const)
      it(`of ${operation} as ${as} has ${told ?? 'nothing'} in Darkroom-Credits-Available`, async () => {
        const { status, headers } = await sendHttp(running.origin, {
          operation,
          credential: fixture.secrets.get(as) ?? '',
          ...(operation === 'createGeneration' ? { key: as } : {}),
          body: { ...PICTURE, parameters: { size: '96x64', n: 3 } },
        });
        expect([status, headers.get('darkroom-credits-available')]).to.deep.equal([402, told]);
      });
});
