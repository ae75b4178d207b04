/*
 * Goal: the fake of sd-server answers as the real one does, so that tests with the fake also hold for the real one.
 * Method: the same requests to both; each answer is compared with one recorded from the real server, byte for byte
 * except ids, times, pictures and the text of its parser. Only the fake is tested for behaviour that takes time.
 */
import { expect } from 'chai';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { sizeOf } from '../../harness/run-sizes.js';
import { ServerProcess } from '../../servers/server-process.js';
import { orSkip } from '../../servers/servers.js';
import {
  ACCEPTED,
  FULL,
  HELD_STEPS,
  JOB,
  marked,
  NOT_CANCELLED,
  REFUSALS,
  SdcppFake,
  SMALL,
  TAKEN_ANYWAY,
} from './sdcpp-fake.js';

interface Subject {
  readonly url: string;
  restart(): Promise<void>;
  close(): Promise<void>;
}

const SUBJECTS = [
  ['the fake', () => openFake()],
  ['the real server', () => startReal()],
] as const;

for (const [name, start] of SUBJECTS.slice(0, 1 + sizeOf('modelServers'))) {
  describe(`the routes of sd-server: ${name}`, () => {
    let subject: Subject;

    before(async function () {
      subject = await orSkip(this, start());
    });
    after(() => subject?.close());

    const send = (method: string, path: string, body?: string) => exchange(subject.url, method, path, body);
    const submit = async (fields: object): Promise<string> => {
      const answer = await send('POST', '/sdcpp/v1/img_gen', JSON.stringify({ ...SMALL, ...fields }));
      expect({ ...answer, text: marked(answer.text) }).to.deep.equal(ACCEPTED);
      return (JSON.parse(answer.text) as { readonly poll_url: string }).poll_url;
    };
    const ended = async (path: string): Promise<string> => {
      for (;;) {
        const { text } = await send('GET', path);
        if (!/"status":"(queued|generating)"/.test(text)) return text;
        await sleep(10);
      }
    };

    for (const { name: what, method, path, body, answer } of REFUSALS) {
      it(`answers ${what}`, async () => {
        const came = await send(method, path, body);
        expect({ ...came, text: marked(came.text) }).to.deep.equal(answer);
      });
    }

    it('makes a picture', async () => {
      expect(marked(await ended(await submit({})))).to.equal(JOB.completed);
    });

    it('makes as many pictures as it is asked for, in another format, from a picture that is given', async () => {
      const first = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
        .png()
        .toBuffer();
      const wanted = { batch_count: 2, output_format: 'webp', init_image: first.toString('base64') };
      const { result } = JSON.parse(await ended(await submit(wanted))) as Completed;
      expect(result.images.map(({ index }) => index)).to.deep.equal([0, 1]);
      expect(result.output_format).to.equal('webp');
      for (const { b64_json: picture } of result.images)
        expect(await sharp(Buffer.from(picture, 'base64')).metadata()).to.include({ format: 'webp', width: 64 });
    });

    it('takes values that are wrong, and makes a picture of the size that it likes', async () => {
      const { result } = JSON.parse(await ended(await submit(TAKEN_ANYWAY))) as Completed;
      const picture = Buffer.from(result.images[0]?.b64_json ?? '', 'base64');
      expect(await sharp(picture).metadata()).to.include({ width: 128, height: 64 });
    });

    it('refuses a request that ends within its body', async () => {
      const before = numberOf(await submit({}));
      await sendHalf(subject.url, JSON.stringify(SMALL));
      expect(numberOf(await submit({}))).to.equal(before + 1);
    });

    it('cancels what waits, not what runs, and takes 64 jobs', async () => {
      const running = await submit({ width: 512, height: 512, sample_params: { sample_steps: HELD_STEPS } });
      while (marked((await send('GET', running)).text) !== JOB.generating) await sleep(10);
      const first = await submit({});
      expect(marked((await send('GET', first)).text)).to.equal(JOB.queued);
      const waiting = [first];
      while (waiting.length < 63) waiting.push(await submit({}));

      expect(await send('POST', '/sdcpp/v1/img_gen', JSON.stringify(SMALL))).to.deep.equal({
        ...JSON_409,
        status: 429,
        text: FULL,
      });
      expect(await send('POST', `${running}/cancel`)).to.deep.equal({ ...JSON_409, text: NOT_CANCELLED });
      for (const path of waiting)
        expect(marked((await send('POST', `${path}/cancel`)).text), 'a job that waited').to.equal(JOB.cancelled);
      expect(marked((await send('POST', `${first}/cancel`)).text), 'once more').to.equal(JOB.cancelled);
      expect(marked((await send('GET', first)).text)).to.equal(JOB.cancelled);
      expect(marked((await send('GET', running)).text)).to.equal(JOB.generating);
    });

    it('forgets its jobs after a restart', async () => {
      const path = await submit({});
      await subject.restart();
      expect(await send('GET', path)).to.include({ status: 404, text: '{"error":"job not found"}' });
    });
  });
}

describe('the fake of sd-server', () => {
  let fake: SdcppFake;

  beforeEach(async () => void (fake = await SdcppFake.open()));
  afterEach(() => fake.close());

  it('forgets a job ten minutes after its end, and that there was one ten minutes later', async () => {
    const { text } = await exchange(fake.url, 'POST', '/sdcpp/v1/img_gen', JSON.stringify(SMALL));
    const { poll_url: path } = JSON.parse(text) as { readonly poll_url: string };
    while (!(await exchange(fake.url, 'GET', path)).text.includes('"status":"completed"')) await sleep(10);
    fake.jobs.advance(600);
    expect(await exchange(fake.url, 'GET', path)).to.include({ status: 410, text: '{"error":"job expired"}' });
    fake.jobs.advance(600);
    expect(await exchange(fake.url, 'GET', path)).to.include({ status: 404, text: '{"error":"job not found"}' });
  });

  it('takes a request whose answer is lost, and none that is cut', async () => {
    for (const [fault, jobs] of [
      ['cut-body', 0],
      ['lose-answer', 1],
    ] as const) {
      fake.jobs.forget();
      fake.server.plan({ type: fault });
      const answer = exchange(fake.url, 'POST', '/sdcpp/v1/img_gen', JSON.stringify(SMALL));
      expect(await answer.catch((error: unknown) => error)).to.be.instanceOf(Error);
      expect(fake.jobs.size).to.equal(jobs);
    }
    expect(fake.server.posts).to.equal(2);
  });
});

const JSON_409 = { status: 409, type: 'application/json' };

interface Completed {
  readonly result: {
    readonly output_format: string;
    readonly images: readonly { readonly index: number; readonly b64_json: string }[];
  };
}

async function openFake(): Promise<Subject> {
  const fake = await SdcppFake.open();
  return { url: fake.url, restart: async () => fake.jobs.forget(), close: () => fake.close() };
}

async function startReal(): Promise<Subject> {
  const server = await ServerProcess.start('sd-server');
  const restart = async () => {
    await server.kill();
    await server.restart();
  };
  return { url: server.url, restart, close: () => server.stop() };
}

/** Jobs are numbered in the order in which they were taken. */
function numberOf(path: string): number {
  return Number.parseInt(path.slice(-8), 16);
}

/** Sends the first half of a submission, and closes the connection when the server has had it. */
async function sendHalf(url: string, body: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = `POST /sdcpp/v1/img_gen HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.end(head + body.slice(0, body.length / 2));
  socket.resume();
  socket.on('error', () => undefined);
  await once(socket, 'close');
}

async function exchange(
  url: string,
  method: string,
  path: string,
  body?: string,
): Promise<{ readonly status: number; readonly type?: string; readonly text: string }> {
  const response = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body }) });
  const type = response.headers.get('content-type');
  return { status: response.status, ...(type === null ? {} : { type }), text: await response.text() };
}
