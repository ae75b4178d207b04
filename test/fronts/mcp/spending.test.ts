import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import type { Model } from '../../../core/catalog/model.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { Ports } from '../../../core/ports/ports.js';
import { image } from '../../fixtures/images.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { catalogOf, MODELS } from '../../fixtures/models.js';
import {
  asText,
  codeOf,
  McpHarness,
  modernMessage,
  type Person,
  picture,
  REVISIONS,
  sayingNo,
  sayingYes,
  type TestClient,
  textOf,
} from './mcp-harness.js';

/*
 * Goal: a generate tool waits as long as requested and no longer, reports progress meanwhile, shows the outputs within
 * the size that clients accept, and pays once for each key.
 * Method: clients of both eras on a whole service in this process, with a worker or without one.
 */

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

    it('reports progress while it waits, and then the state', async () => {
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

    it('ends its wait when the client has disconnected, and the generation continues', async () => {
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

      it('refuses a file that is not a picture, another type than declared and a role that the model does not take', async () => {
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

/*
 * Goal: above the operator's threshold nothing is reserved without a person's yes to that price, a cap applies where no
 * person can be asked, and a yes is valid only for the request that it was given for.
 * Method: clients of both eras whose person answers as each test says; the account checked after every refusal; for the
 * newest era, answers as an attacker would compose them.
 */

const THRESHOLD = 15;
const DEAR = { parameters: { size: '96x64', n: 2 } };

/** A catalog whose prices a test may change. */
class Prices {
  factor = 1;
  readonly catalog = catalogOf(() =>
    MODELS.map((model): Model => ({
      ...model,
      price: { ...model.price, microcreditsPerUnit: (model.price.microcreditsPerUnit ?? 0) * this.factor },
    })),
  );
}

describe('spending over MCP', () => {
  let mcp: McpHarness;
  let secret: string;
  const prices = new Prices();
  beforeEach(async () => {
    prices.factor = 1;
    mcp = await McpHarness.open({ mcp: { confirmAboveCredits: THRESHOLD } }, { ports: { catalog: prices.catalog } });
    secret = await mcp.key();
  });
  afterEach(() => mcp.close());

  const reserved = async (): Promise<number> => {
    const account = await mcp.service.context.accounts.read(mcp.owner.accountId);
    return [...(account?.holds.values() ?? [])].reduce((sum, { credits }) => sum + credits, 0);
  };

  for (const revision of REVISIONS)
    describe(`in ${revision}`, () => {
      const generate = async (args: JsonObject, person?: Person, credential = secret) =>
        (await mcp.connect(revision, credential, person)).call('generate_image', args);

      it('asks nobody up to the threshold', async () => {
        let asked = 0;
        const answer = await generate(picture('cheap'), () => {
          asked += 1;
          return sayingYes({});
        });
        expect([codeOf(answer), asked, await reserved()]).to.deep.equal(['OK', 0, 10]);
      });

      it('asks a person above it, with the price, and continues with a yes', async () => {
        const forms: JsonObject[] = [];
        const answer = await generate(picture('dear', DEAR), async (form) => {
          forms.push(form);
          expect(await reserved()).to.equal(0);
          return sayingYes(form);
        });
        expect([codeOf(answer), await reserved()]).to.deep.equal(['OK', 20]);
        expect(forms).to.have.length(1);
        expect(forms[0]?.['message']).to.equal(
          'Spend up to 20 credits for "picture"? The amount is reserved now; what is not used is released.',
        );
      });

      const NOES: Readonly<Record<string, Person>> = {
        'a no': sayingNo,
        'a question that was closed': () => Promise.resolve({ action: 'cancel' }),
        'a yes with the box not ticked': () => Promise.resolve({ action: 'accept', content: { confirm: false } }),
      };
      for (const [what, person] of Object.entries(NOES))
        it(`reserves nothing after ${what}, and keeps no key`, async () => {
          const answer = await generate(picture('no', DEAR), person);
          expect([codeOf(answer), await reserved()]).to.deep.equal(['SPENDING_NOT_CONFIRMED', 0]);
          expect(textOf(answer)).to.include('This would reserve 20 credits, and the person who was asked said no');
          expect(codeOf(await generate(picture('no')))).to.equal('OK');
        });

      it('refuses with the price where nobody can be asked and there is no cap', async () => {
        const answer = await generate(picture('alone', DEAR));
        expect([codeOf(answer), await reserved()]).to.deep.equal(['SPENDING_NOT_CONFIRMED', 0]);
        expect(textOf(answer)).to.include('This would reserve 20 credits, and more than 15 need');
      });

      it('continues up to the cap where nobody can be asked', async () => {
        const capped = [await mcp.key(undefined, { monthlyCap: 30 }), await mcp.token('mcp', 30)];
        for (const credential of capped) {
          expect(codeOf(await generate(picture('capped', DEAR), undefined, credential))).to.equal('OK');
          const beyond = await generate(picture('beyond', DEAR), undefined, credential);
          expect(textOf(beyond)).to.match(/^CREDITS_INSUFFICIENT: .* spending cap of 30 credits/);
        }
      });

      it('asks also where there is a cap', async () => {
        const credential = await mcp.key(undefined, { monthlyCap: 30 });
        expect(codeOf(await generate(picture('asked', DEAR), sayingNo, credential))).to.equal('SPENDING_NOT_CONFIRMED');
      });

      it('asks nobody about what would be refused anyway', async () => {
        const asked: JsonObject[] = [];
        const credential = await mcp.key(undefined, { monthlyCap: 18 });
        const answer = await generate(
          picture('poor', DEAR),
          (form) => {
            asked.push(form);
            return sayingYes(form);
          },
          credential,
        );
        expect([codeOf(answer), asked.length]).to.deep.equal(['CREDITS_INSUFFICIENT', 0]);
      });

      it('asks nobody about a request that was accepted before', async () => {
        const first = await generate(picture('again', DEAR), sayingYes);
        const again = await generate(picture('again', DEAR), sayingNo);
        expect(again.structuredContent?.['generation_id']).to.equal(first.structuredContent?.['generation_id']);
        expect(await reserved()).to.equal(20);
      });

      it('asks again when the price rose while the person thought, and stops asking some time', async () => {
        const messages: unknown[] = [];
        const rising: Person = (form) => {
          messages.push(form['message']);
          if (messages.length === 1) prices.factor = 2;
          return sayingYes(form);
        };
        expect(codeOf(await generate(picture('rising', DEAR), rising))).to.equal('OK');
        expect(messages.map((message) => /\d+/.exec(asText(message))?.[0])).to.deep.equal(['20', '40']);
        expect(await reserved()).to.equal(40);
      });
    });

  it('keeps no process from stopping while a person thinks, nor while a call waits', async () => {
    const other = await McpHarness.open({ mcp: { confirmAboveCredits: THRESHOLD } });
    const credential = await other.key();
    let asked: (() => void) | undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const thinking = await other.connect('2025-11-25', credential, () => {
      asked?.();
      return new Promise(() => undefined);
    });
    const question = thinking.call('generate_image', picture('asked', DEAR));
    let begun: (() => void) | undefined;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const waiting = (await other.connect('2026-07-28', credential)).call(
      'generate_image',
      picture('waiting', { wait_seconds: 50 }),
      { onprogress: () => begun?.() },
    );
    await Promise.all([isAsked, hasBegun]);
    const stopped = other.stop(60_000);
    expect(codeOf(await question)).to.equal('SPENDING_NOT_CONFIRMED');
    expect((await waiting).structuredContent).to.include({ status: 'queued' });
    await stopped;
    await other.close();
  });

  describe('with answers that a client composes', () => {
    const send = async (credential: string, args: JsonObject, given: JsonObject = {}): Promise<JsonObject> => {
      const { body, headers } = modernMessage(
        'tools/call',
        { name: 'generate_image', arguments: args, ...given },
        {
          elicitation: { form: {} },
        },
      );
      const response = await mcp.post(body, { ...headers, Authorization: `Bearer ${credential}` });
      return ((await response.json()) as JsonObject)['result'] as JsonObject;
    };
    const YES = { inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } };
    const stateFor = async (args: JsonObject, credential = secret): Promise<string> =>
      asText((await send(credential, args))['requestState']);

    it('takes the yes to this very request', async () => {
      const requestState = await stateFor(picture('own', DEAR));
      const result = await send(secret, picture('own', DEAR), { ...YES, requestState });
      expect(result['structuredContent']).to.include({ reserved_credits: 20 });
    });

    it('asks again for a yes without the question, with a made-up one and with one that was changed', async () => {
      const requestState = await stateFor(picture('own', DEAR));
      for (const state of [
        undefined,
        'x',
        '20.9999999999999.00',
        requestState.replace('20.', '99.'),
        `${requestState}0`,
      ]) {
        const given = state === undefined ? YES : { ...YES, requestState: state };
        const result = await send(secret, picture('own', DEAR), given);
        expect(result['resultType'], state).to.equal('input_required');
      }
      expect(await reserved()).to.equal(0);
    });

    it('ignores a yes for another request, key, price or credential', async () => {
      const requestState = await stateFor(picture('own', DEAR));
      const given = { ...YES, requestState };
      const others: readonly (readonly [string, JsonObject])[] = [
        [secret, picture('own', { ...DEAR, prompt: 'something else' })],
        [secret, picture('other', DEAR)],
        [secret, picture('own', { parameters: { size: '96x64', n: 3 } })],
        [await mcp.key(), picture('own', DEAR)],
      ];
      for (const [credential, args] of others)
        expect((await send(credential, args, given))['resultType']).to.equal('input_required');
      expect(await reserved()).to.equal(0);
    });

    it('ignores a yes after ten minutes', async () => {
      const requestState = await stateFor(picture('own', DEAR));
      mcp.service.clock.advance(600_000);
      const result = await send(secret, picture('own', DEAR), { ...YES, requestState });
      expect(result['resultType']).to.equal('input_required');
    });

    it('ignores answers to the question of another credential, with streams', async () => {
      let answered: (() => void) | undefined;
      const thinking = new Promise<void>((resolve) => (answered = resolve));
      let asked: (() => void) | undefined;
      const isAsked = new Promise<void>((resolve) => (asked = resolve));
      const person: Person = async (form) => {
        asked?.();
        await thinking;
        return sayingNo(form);
      };
      const client = await mcp.connect('2025-11-25', secret, person);
      const calling = client.call('generate_image', picture('stolen', DEAR));
      await isAsked;
      const stranger = { Authorization: `Bearer ${await mcp.key()}` };
      for (const id of [0, 1, 'x', crypto.randomUUID()]) {
        const response = await mcp.post({ jsonrpc: '2.0', id, result: YES.inputResponses.confirm }, stranger);
        expect(response.status).to.equal(202);
      }
      answered?.();
      expect(codeOf(await calling)).to.equal('SPENDING_NOT_CONFIRMED');
      expect(await reserved()).to.equal(0);
    });
  });

  it('keeps asking after clients that left before they were asked', async () => {
    await mcp.close();
    const options = { ports: { catalog: prices.catalog }, around: withSlowClaims };
    mcp = await McpHarness.open({ mcp: { confirmAboveCredits: THRESHOLD } }, options);
    secret = await mcp.key();
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'generate_image', arguments: picture('left', DEAR) },
    };
    for (let calls = 0; calls < 20; calls += 1) {
      const leaving = new AbortController();
      const called = fetch(mcp.url, {
        method: 'POST',
        signal: leaving.signal,
        headers: {
          'Authorization': `Bearer ${secret}`,
          'Accept': 'application/json, text/event-stream',
          'Content-Type': 'application/json',
          'Mcp-Session-Id': 'asks-x',
          'MCP-Protocol-Version': '2025-11-25',
        },
        body: JSON.stringify(message),
      }).catch(() => undefined);
      await sleep(CLAIM_MS / 2);
      leaving.abort();
      await called;
    }
    await sleep(2 * CLAIM_MS);
    const client = await mcp.connect('2025-11-25', secret, sayingYes);
    const { structuredContent } = await client.call('generate_image', { ...picture('stays', DEAR), wait_seconds: 0 });
    expect(structuredContent).to.include({ status: 'queued' });
  });
});

const CLAIM_MS = 40;

/** Claims that take so long that a client can leave meanwhile. */
function withSlowClaims(ports: Ports): Ports {
  const insert = ports.claims.insert.bind(ports.claims);
  const claims = Object.assign(Object.create(ports.claims) as Ports['claims'], {
    insert: async (...given: Parameters<typeof insert>) => {
      await sleep(CLAIM_MS);
      return insert(...given);
    },
  });
  return { ...ports, claims };
}
