import { expect } from 'chai';
import fc from 'fast-check';
import { type Caller, SCOPES } from '../../../core/access/credential.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { cancelGeneration, deleteGeneration } from '../../../core/generation/end-generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { Ports } from '../../../core/ports/ports.js';
import { MemoryObjectStore } from '../../adapters/memory/object-store.js';
import { ShiftedClock, until } from '../../fixtures/clocks.js';
import { Gate } from '../../fixtures/intercepted.js';
import { forAll } from '../../harness/for-all.js';
import {
  type ApiAnswer,
  type FetchInit,
  GENERATIONS,
  OpenAiHarness,
  PICTURE,
  type Sent,
  SHORT_WAITS,
} from './openai-harness.js';

// Goal: a client that repeats a request silently pays once and gets what it paid for, and two honest equal requests are
// two generations; with an idempotency key a request is the first one under it.
// Method: requests over real connections, which clients cut before the head, after it and in the middle of the pictures;
// the generations that exist, what was paid and what was delivered are compared after each. A property plays random
// sequences against a model of the rule.

const RETRY: Sent = { 'x-stainless-retry-count': '1' };
const HELD: JsonObject = { ...PICTURE, model: 'picture-held' };

/** An object store whose reads of outputs can be made to stop after their first piece. */
class StallingObjects extends MemoryObjectStore {
  isStalled = false;

  override async read(...of: Parameters<MemoryObjectStore['read']>): ReturnType<MemoryObjectStore['read']> {
    const bytes = await super.read(...of);
    // The worker reads its output before it is one.
    const isOutput = async () =>
      (await api.generations()).some(({ outputs }) => outputs.some(({ objectKey }) => objectKey === of[0]));
    return bytes !== null && this.isStalled && (await isOutput()) ? this.stalling(bytes) : bytes;
  }

  private async *stalling(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      yield chunk.subarray(0, 3);
      await until(() => !this.isStalled);
      yield chunk.subarray(3);
    }
  }
}

let api: OpenAiHarness;
let objects: StallingObjects;
let underWay: number;
let waits: number;

async function open(silentMs: number): Promise<void> {
  objects = new StallingObjects({ clock: new ShiftedClock() });
  underWay = 0;
  const observer = { started: () => (underWay += 1), ended: () => (underWay -= 1), refused: () => undefined };
  api = await OpenAiHarness.open(
    { openAiWaits: { ...SHORT_WAITS, silentMs, mostMs: 60_000 }, observer },
    { ports: { objects }, around: countingWaits },
  );
}

/** Has `waits` tell how many requests the record that was written last waits for. */
function countingWaits(ports: Ports): Ports {
  const { fingerprints } = ports;
  const replace = fingerprints.replace.bind(fingerprints);
  fingerprints.replace = async (next, version) => {
    const outcome = await replace(next, version);
    waits = next.creates.reduce((sum, create) => sum + create.waits.length, 0);
    return outcome;
  };
  return ports;
}

const caller = (): Caller => ({ ...api.owner, credentialId: 'x', scopes: SCOPES });
const idOf = ({ body, headers }: ApiAnswer): unknown =>
  (body['darkroom'] as JsonObject | undefined)?.['generation_id'] ?? headers.get('darkroom-generation-id');
const count = async () => (await api.generations()).length;

/** Sends a request and disconnects once `isTime` says so; returns when the server has noticed. */
async function sendAndLeave(
  isTime: () => boolean | Promise<boolean>,
  body = PICTURE,
  headers: Sent = {},
): Promise<void> {
  const gone = new AbortController();
  const init: FetchInit = { method: 'POST', headers, body: JSON.stringify(body), signal: gone.signal };
  let hasHead = false;
  const answer = api.fetch(GENERATIONS, init).then(
    () => (hasHead = true),
    () => undefined,
  );
  await until(async () => hasHead || (await isTime()));
  gone.abort();
  await answer;
  await until(() => waits === 0);
  objects.isStalled = false;
  await until(() => underWay === 0);
}

/** Sends a request and disconnects in the middle of its answer. */
async function sendAndCut(headers: Sent = {}): Promise<void> {
  objects.isStalled = true;
  await sendAndLeave(() => false, PICTURE, headers);
}

describe('a request that is repeated silently', () => {
  afterEach(() => api.close());

  for (const [how, headers] of [
    ['with the header', RETRY],
    ['without a header', {}],
  ] as const) {
    it(`${how} takes the generation of a request that was cut before its head`, async () => {
      await open(60_000);
      await sendAndLeave(async () => (await count()) === 1);
      await api.service.startWorker();
      expect((await api.create(PICTURE, headers)).status).to.equal(200);
      expect(await count()).to.equal(1);
      await api.expectPaid(10);
    });

    it(`${how} takes the generation of a request that was cut after its head, while it runs`, async () => {
      await open(0);
      await sendAndLeave(() => false);
      const again = api.create(PICTURE, headers);
      await until(() => underWay === 1);
      await api.service.startWorker();
      expect((await again).body).to.have.property('data');
      expect(await count()).to.equal(1);
      await api.expectPaid(10);
    });

    it(`${how} takes the pictures of a request that was cut in the middle of them`, async () => {
      await open(60_000);
      await api.service.startWorker();
      await sendAndCut();
      await api.expectPaid(10);
      expect((await api.create(PICTURE, headers)).status).to.equal(200);
      expect(await count()).to.equal(1);
      await api.expectPaid(10);
    });

    it(`${how} gets the reason of a failure that nobody has heard`, async () => {
      await open(60_000);
      await sendAndLeave(async () => (await count()) === 1, HELD);
      await cancelGeneration(api.context, caller(), (await api.generations())[0]?.generationId ?? '');
      const { status, error } = await api.create(HELD, headers);
      expect([status, error['code']]).to.deep.equal([400, 'generation_cancelled']);
      expect(await count()).to.equal(1);
    });

    it(`${how} is a new one after a refusal, which leaves nothing`, async () => {
      await open(60_000);
      await api.service.startWorker();
      const { accountId } = api.ownerOf('poor');
      const asPoor = { ...headers, Authorization: `Bearer ${api.secret('poor')}` };
      const three = { ...PICTURE, n: 3 };
      expect((await api.create(three, asPoor)).status).to.equal(402);
      expect((await api.create(three, asPoor)).status).to.equal(402);
      await grantCredits(api.context, { accountId, credits: 10, reason: 'a test', operationId: 'more' });
      expect((await api.create(three, asPoor)).status).to.equal(200);
    });

    it(`${how} creates again after a failure that its client received`, async () => {
      await open(60_000);
      await api.service.startWorker();
      for (let times = 1; times <= 2; times += 1) {
        expect((await api.create({ ...PICTURE, model: 'picture-refused' }, headers)).status).to.equal(400);
        expect(await count()).to.equal(times);
      }
    });
  }

  it('buys nothing for a client that left before its create', async () => {
    await open(60_000);
    const gate = new Gate();
    const { fingerprints } = api.context;
    const replace = fingerprints.replace.bind(fingerprints);
    fingerprints.replace = async (...of) => {
      const outcome = await replace(...of);
      if (!gate.reached) await gate.wait();
      return outcome;
    };
    let isLeaving = false;
    const left = sendAndLeave(() => (isLeaving = gate.reached));
    await until(() => isLeaving);
    // The server notices the end of one connection before it has answered later requests on another.
    for (let times = 0; times < 3; times += 1) await api.send('/v1/models');
    gate.open();
    await left;
    expect(await count()).to.equal(0);
    await api.service.startWorker();
    expect((await api.create()).status).to.equal(200);
    await api.expectPaid(10);
  });

  it('with the header joins one that waits, and both are answered', async () => {
    await open(60_000);
    const first = api.create();
    await until(async () => (await count()) === 1);
    const second = api.create(PICTURE, RETRY);
    await until(() => underWay === 2);
    await api.service.startWorker();
    expect(idOf(await first)).to.equal(idOf(await second));
    await api.expectPaid(10);
  });

  it('with the header is given what was delivered last, again and again', async () => {
    await open(60_000);
    await api.service.startWorker();
    await api.create();
    const last = await api.create();
    for (let times = 0; times < 3; times += 1) {
      const again = await api.create(PICTURE, RETRY);
      expect([idOf(again), again.body['data']]).to.deep.equal([idOf(last), last.body['data']]);
    }
    await api.expectPaid(20);
  });

  it('is matched where a text of it ends with half a character', async () => {
    await open(60_000);
    await api.service.startWorker();
    const half = { ...PICTURE, user: 'anna \ud83c' };
    const first = await api.create(half);
    expect(idOf(await api.create(half, RETRY))).to.equal(idOf(first));
    expect(idOf(await api.create({ ...half, user: 'anna \ud83d' }, RETRY))).not.to.equal(idOf(first));
    await api.expectPaid(20);
  });

  it('is two generations where two honest requests are equal, at once and in turn', async () => {
    await open(60_000);
    await api.service.startWorker();
    const answers = await Promise.all([
      api.create(),
      api.create(),
      api.create(PICTURE, { 'x-stainless-retry-count': '0' }),
    ]);
    answers.push(await api.create());
    expect(new Set(answers.map(idOf)).size).to.equal(4);
    await api.expectPaid(40);
  });

  it('is another one where a field or the credential differs', async () => {
    await open(60_000);
    await sendAndLeave(async () => (await count()) === 1);
    await api.service.startWorker();
    await api.create({ ...PICTURE, seed: 1 }, RETRY);
    expect(await count()).to.equal(2);
    const stranger = await api.create(PICTURE, { ...RETRY, Authorization: `Bearer ${api.secret('stranger')}` });
    expect(stranger.status).to.equal(200);
    expect((await api.generations()).map(({ generationId }) => generationId)).not.to.include(idOf(stranger));
    expect((await api.create(PICTURE, RETRY)).status, 'and the first is still there to be taken').to.equal(200);
    await api.expectPaid(20);
  });

  it('is a new one where the generation was deleted', async () => {
    await open(60_000);
    await api.service.startWorker();
    await sendAndCut();
    await api.expectPaid(10);
    const [first] = await api.generations();
    await deleteGeneration(api.context, caller(), first?.generationId ?? '');
    expect(idOf(await api.create(PICTURE, RETRY))).not.to.equal(first?.generationId);
    await api.expectPaid(20);
  });
});

describe('a request with an idempotency key', () => {
  beforeEach(() => open(60_000));
  afterEach(() => api.close());
  const key = (value: string): Sent => ({ 'Idempotency-Key': value });

  it('is answered like the first one under the key, which is waited for while it is in progress', async () => {
    const first = api.create(PICTURE, key('k'));
    await until(async () => (await count()) === 1);
    const second = api.create(PICTURE, key('k'));
    await until(() => underWay === 2);
    await api.service.startWorker();
    const answers = [await first, await second, await api.create(PICTURE, key('k'))];
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect(new Set(answers.map(idOf)).size).to.equal(1);
    await api.expectPaid(10);
  });

  it('is refused where the first one was different', async () => {
    await api.service.startWorker();
    await api.create(PICTURE, key('k'));
    const { status, error } = await api.create({ ...PICTURE, seed: 2 }, key('k'));
    expect([status, error['type'], error['code']]).to.deep.equal([
      422,
      'invalid_request_error',
      'idempotency_key_reused',
    ]);
    await api.expectPaid(10);
  });

  it('has keys of its own, beside those of the other interface', async () => {
    await api.service.startWorker();
    const other = await api.send('/api/v1/developer/generations', {
      method: 'POST',
      headers: key('k'),
      body: JSON.stringify({
        model_key: 'picture',
        operation: 'image_generation',
        prompt: 'x',
        parameters: { size: '96x64' },
      }),
    });
    expect(other.status).to.equal(202);
    expect((await api.create(PICTURE, key('k'))).status).to.equal(200);
    expect(await count()).to.equal(2);
    await api.expectPaid(20);
  });

  it('is a generation apart from equal requests without the key', async () => {
    await api.service.startWorker();
    await api.create(PICTURE, key('k'));
    await api.create(PICTURE, RETRY);
    await api.create(PICTURE, key('l'));
    expect(await count()).to.equal(3);
    await api.expectPaid(30);
  });
});

/** One request of a client, after which the next one comes. */
interface Step {
  readonly isRetry: boolean;
  readonly isCut: boolean;
}

/** The rule again, for requests in turn: what was made, which of it nobody has, and what was delivered last. */
class Model {
  made = 0;
  private readonly unheard: number[] = [];
  private last: number | undefined;

  play({ isRetry, isCut }: Step): number {
    const taken = this.unheard.shift() ?? (isRetry ? this.last : undefined) ?? this.made++;
    if (!isCut) this.last = taken;
    else if (taken !== this.last && !this.heard.has(taken)) this.unheard.unshift(taken);
    if (!isCut) this.heard.add(taken);
    return taken;
  }

  private readonly heard = new Set<number>();
}

describe('requests of clients that repeat and give up', () => {
  it('pay for what the rule says and nothing else, and nobody gets more pictures than were paid for', async () => {
    const steps = fc.array(fc.record({ isRetry: fc.boolean(), isCut: fc.boolean() }), { minLength: 1, maxLength: 8 });
    await forAll(6, [steps], async (played) => {
      await open(60_000);
      try {
        await api.service.startWorker();
        const model = new Model();
        const delivered = new Set<unknown>();
        for (const step of played) {
          const headers = step.isRetry ? RETRY : {};
          const expected = model.play(step);
          if (step.isCut) await sendAndCut(headers);
          else {
            const answer = await api.create(PICTURE, headers);
            expect(idOf(answer)).to.equal((await api.generations())[expected]?.generationId);
            delivered.add(idOf(answer));
          }
          expect(await count()).to.equal(model.made);
          await api.expectPaid(10 * model.made);
          expect(delivered.size).to.be.at.most(model.made);
        }
      } finally {
        await api.close();
      }
    });
  }).timeout(60_000);
});
