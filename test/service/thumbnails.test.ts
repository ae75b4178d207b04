// Goal: on every set of stores a thumbnail is stored beside its output, counts in the storage of its account, and goes with a
// deletion and with an erasure.
// Method: the compiled server on each set; thumbnails fetched from the addresses that it lists; the object store read beside it.
import { expect } from 'chai';
import type { JsonObject } from '../../core/json.js';
import { type Generation, THUMBNAIL_SIDES_PX } from '../../core/generation/generation.js';
import { thumbnailKeysOf } from '../../core/generation/thumbnails.js';
import { until } from '../fixtures/clocks.js';
import { sizeOf } from '../harness/run-sizes.js';
import { LANES } from './lanes.js';
import { LiveService, type Tenant } from './live-service.js';

for (const lane of LANES.slice(0, sizeOf('searchLanes'))) {
  describe(`thumbnails on ${lane.name}`, () => {
    let service: LiveService;
    let tenant: Tenant;
    before(async function () {
      service = await LiveService.start({ lane: await lane.open(this) });
      tenant = await service.tenant(1_000);
    });
    after(() => service?.remove());

    /** A generation whose thumbnails have all been fetched. */
    async function shown(key: string): Promise<Generation> {
      const client = service.client(tenant.secret);
      const { data } = await client.create(key, 'sandbox-image', {}, { client_trace_id: key });
      const generationId = data['generation_id'] as string;
      await client.until(generationId, ['succeeded']);
      const listed = (await client.request('GET', `/generations/${generationId}/thumbnails`)).data;
      const [{ thumbnails } = { thumbnails: [] }] = listed['outputs'] as unknown as readonly {
        readonly thumbnails: readonly { readonly url: string }[];
      }[];
      expect(thumbnails).to.have.length(THUMBNAIL_SIDES_PX.length);
      let bytes = 0;
      for (const { url } of thumbnails) {
        const response = await fetch(url);
        expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
        bytes += (await response.arrayBuffer()).byteLength;
      }
      expect(await counted()).to.deep.equal({ generations: 1, bytes });
      const record = await service.tool(({ context }) => context.generations.read(generationId));
      return record as Generation;
    }
    const counted = async (): Promise<unknown> => {
      const { stdout } = await service.run('accounts', 'show', tenant.accountId, '--json');
      return (JSON.parse(stdout) as { readonly storage: JsonObject }).storage['thumbnails'];
    };
    /** How many objects there are of the output and its thumbnails. */
    const stored = ({ outputs }: Generation): Promise<number> =>
      service.tool(async ({ context: { objects } }) => {
        const keys = outputs.flatMap(({ objectKey }) => [objectKey, ...thumbnailKeysOf(objectKey)]);
        const found = await Promise.all(keys.map((key) => objects.stat(key)));
        return found.filter((one) => one !== null).length;
      });

    it('are removed with their generation', async () => {
      const generation = await shown('deleted');
      expect(await stored(generation)).to.equal(4);
      const address = `${service.url}/api/v1/developer/generations/${generation.generationId}`;
      await fetch(address, { method: 'DELETE', headers: { Authorization: `Bearer ${tenant.secret}` } });
      expect(await stored(generation)).to.equal(0);
      expect(await counted()).to.deep.equal({ generations: 0, bytes: 0 });
    });

    it('are removed by an erasure', async () => {
      const generation = await shown('erased');
      expect(await stored(generation)).to.equal(4);
      const { code } = await service.run('accounts', 'erase-trace', tenant.accountId, 'erased', '--yes');
      expect(code).to.equal(0);
      await until(async () => (await stored(generation)) === 0);
      expect(await counted()).to.deep.equal({ generations: 0, bytes: 0 });
    });
  });
}
