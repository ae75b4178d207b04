/*
 * Goal: a generate tool waits as long as it was asked to and no longer, says meanwhile that it goes on, shows what was
 * made within the size that clients take, and pays once for each key.
 * Method: clients of both eras on a whole service in this process, with a worker or without one.
 */
import { expect } from 'chai';
import sharp from 'sharp';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { image } from '../../fixtures/images.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { asText, codeOf, McpHarness, picture, REVISIONS, type TestClient, textOf } from './mcp-harness.js';

for (const revision of REVISIONS)
  describe(`generating over MCP in ${revision}`, () => {
    let mcp: McpHarness;
    let secret: string;
    let client: TestClient;
    before(async () => {
      mcp = await McpHarness.open();
      await mcp.service.startWorker();
      secret = await mcp.key();
      client = await mcp.connect(revision, secret);
    });
    after(() => mcp.close());

    it('waits for the result and shows a preview of each picture with a link to the file', async () => {
      const args = picture('shown', { wait_seconds: 50, parameters: { size: '96x64', n: 2 } });
      const answer = await client.call('generate_image', args);
      expect(answer.structuredContent).to.include({ status: 'succeeded', charged_credits: 20 });
      expect(answer.content.map(({ type }) => type)).to.deep.equal([
        'text',
        'image',
        'image',
        'resource_link',
        'resource_link',
      ]);
      expect(textOf(answer)).to.match(/ succeeded with 2 images for 20 credits\. The links .* 60 minutes/);
      const [, preview, , link] = answer.content;
      expect(preview).to.include({ mimeType: 'image/jpeg' });
      const shown = await sharp(Buffer.from(asText(preview?.['data']), 'base64')).metadata();
      expect([shown.format, shown.width, shown.height]).to.deep.equal(['jpeg', 96, 64]);
      expect(link).to.include({ mimeType: 'image/png', description: 'The full image: 96x64 pixels.' });
      expect(link?.['name']).to.match(/^[0-9a-f-]{36}-1\.png$/);
    });

    it('answers at once with 0 seconds, and waits with get_generation', async () => {
      const created = await client.call('generate_image', picture('later'));
      const id = asText(created.structuredContent?.['generation_id']);
      const ended = await client.call('get_generation', { generation_id: id });
      expect(ended.structuredContent).to.include({ generation_id: id, status: 'succeeded' });
    });

    it('pays once for a key, however often the call is repeated, and refuses other arguments under it', async () => {
      const first = await client.call('generate_image', picture('once'));
      const again = await client.call('generate_image', picture('once', { wait_seconds: 1 }));
      expect(again.structuredContent?.['generation_id']).to.equal(first.structuredContent?.['generation_id']);
      const other = await client.call('generate_image', picture('once', { prompt: 'something else' }));
      expect(textOf(other)).to.equal(
        'IDEMPOTENCY_PAYLOAD_MISMATCH: This idempotency_key was first used with different arguments.',
      );
    });

    it('says why a generation failed, and shows its task', async () => {
      const answer = await client.call(
        'generate_image',
        picture('refused', { model_key: 'picture-refused', wait_seconds: 50 }),
      );
      expect(answer.structuredContent).to.include({ status: 'failed', charged_credits: 0 });
      expect(textOf(answer)).to.match(/ failed and cost 0 credits: CONTENT_REJECTED_INPUT: The prompt was refused/);
    });

    it('says that it goes on while it waits, and then how it stands', async () => {
      const told: (string | undefined)[] = [];
      const onprogress = ({ message }: { readonly message?: string | undefined }): number => told.push(message);
      const args = picture('held', { model_key: 'picture-held', wait_seconds: 1 });
      let answer = await client.call('generate_image', args, { onprogress });
      const id = asText(answer.structuredContent?.['generation_id']);
      while (!told.includes('running'))
        answer = await client.call('get_generation', { generation_id: id, wait_seconds: 1 }, { onprogress });
      expect(answer.structuredContent?.['status']).to.equal('running');
      expect(textOf(answer)).to.include('is running; 10 credits are reserved for it. Call get_generation');
      expect(mcp.service.context.generationWatch.followed).to.equal(0);
    });

    it('ends its wait when the client has gone, and the generation goes on', async () => {
      const gone = new AbortController();
      const other = await mcp.connect(revision, secret);
      const args = picture('left', { model_key: 'picture-held', wait_seconds: 50 });
      const calling = other
        .call('generate_image', args, { signal: gone.signal, onprogress: () => gone.abort(new Error('gone')) })
        .catch((error: unknown) => error);
      expect(await calling).to.be.instanceOf(Error);
      await other.close();
      while (mcp.service.context.generationWatch.followed > 0) await new Promise(setImmediate);
      const replay = await client.call('generate_image', picture('left', { model_key: 'picture-held' }));
      expect(replay.structuredContent?.['status']).to.be.oneOf(['queued', 'running']);
    });

    describe('with reference pictures', () => {
      const withPicture = async (key: string, more: JsonObject = {}): Promise<JsonObject> =>
        picture(key, {
          reference_pictures: [
            { data: Buffer.from(await image('png')).toString('base64'), media_type: 'image/png', ...more },
          ],
        });

      it('keeps them as uploads, and the same again for a repeated call', async () => {
        const first = await client.call('generate_image', await withPicture('reference'));
        expect(codeOf(first), textOf(first)).to.equal('OK');
        const again = await client.call('generate_image', await withPicture('reference'));
        expect(again.structuredContent?.['generation_id']).to.equal(first.structuredContent?.['generation_id']);
        const record = await mcp.service.context.generations.read(asText(first.structuredContent?.['generation_id']));
        expect(record?.kind === 'generation' && record.references.map(({ role }) => role)).to.deep.equal([
          'reference_image',
        ]);
      });

      it('refuses what is no picture, another type than was said and a role that the model does not take', async () => {
        const text = Buffer.from('no picture').toString('base64');
        const refusals = await Promise.all([
          withPicture('r1', { data: text }),
          withPicture('r2', { media_type: 'image/webp' }),
          withPicture('r3', { role: 'start_frame' }),
          withPicture('r4', { data: 'not base64!' }),
          withPicture('r5', { data: 'data:image/png;base64,AAAA' }),
        ]);
        for (const args of refusals) {
          const answer = await client.call('generate_image', args);
          expect(codeOf(answer), textOf(answer)).to.equal('FIELD_INVALID');
        }
      });
    });
  });

describe('the size of an answer of the MCP server', () => {
  it('stays below a million characters for the largest pictures, which are shrunk once', async () => {
    const noise = await image('png', 2_000, 1_500);
    const mcp = await McpHarness.open();
    await mcp.service.startWorker();
    try {
      const client = await mcp.connect('2025-11-25', await mcp.key());
      const created = await client.call('generate_image', picture('large', { parameters: { size: '96x64', n: 4 } }));
      const id = asText(created.structuredContent?.['generation_id']);
      const record = await endOf(mcp, id);
      const keys = record.outputs.map(({ objectKey }) => objectKey);
      const resized = record.outputs.map((output) => ({ ...output, byteSize: noise.byteLength }));
      await mcp.service.context.generations.replace(
        { ...record, outputs: resized, version: record.version + 1 },
        record.version,
      );
      for (const key of keys)
        await mcp.service.objects.write(key, whole(noise), { mediaType: 'image/png', maxBytes: noise.byteLength });
      const large = await client.call('get_generation', { generation_id: id });
      expect(large.content.filter(({ type }) => type === 'image')).to.have.length(4);
      expect(JSON.stringify(large).length).to.be.within(100_000, 999_999);
      for (const key of keys) await mcp.service.objects.remove(key);
      const again = await client.call('get_generation', { generation_id: id });
      expect(again.content.filter(({ type }) => type === 'image')).to.deep.equal(
        large.content.filter(({ type }) => type === 'image'),
      );
    } finally {
      await mcp.close();
    }
  });

  it('is not lost with a preview that cannot be made', async () => {
    const mcp = await McpHarness.open(
      {},
      {
        around: (ports) => ({
          ...ports,
          previews: intercepted('previews', ports.previews, () => Promise.reject(new StoreUnavailable('not now'))),
        }),
      },
    );
    await mcp.service.startWorker();
    try {
      const client = await mcp.connect('2026-07-28', await mcp.key());
      const answer = await client.call('generate_image', picture('unread', { wait_seconds: 50 }));
      expect(answer.structuredContent?.['status']).to.equal('succeeded');
      expect(answer.content.map(({ type }) => type)).to.deep.equal(['text', 'resource_link']);
    } finally {
      await mcp.close();
    }
  });
});

async function endOf(mcp: McpHarness, id: string): Promise<Generation> {
  for (;;) {
    const record = await mcp.service.context.generations.read(id);
    if (record?.kind === 'generation' && record.settledAt !== undefined) return record;
    await new Promise(setImmediate);
  }
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
