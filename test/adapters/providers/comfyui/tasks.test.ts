import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AnswerUnreadable, jobOf, jobOfHistory } from '../../../../adapters/providers/comfyui/job.js';
import { bytesOf, reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import { failureOf } from '../vendor-subject.js';
import { openStudio, postsTo, type Studio, task } from './opened-comfyui.js';
import { LONG_SETTINGS, PROMPT, STILL_SETTINGS, WORKFLOWS } from './workflows.js';

/*
 * Goal: a task reaches one server once, is found wherever it is, and delivers its own files only, whatever the servers do.
 * Method: the provider on fakes of servers; the requests they received are compared with the expected ones.
 */

describe('tasks on ComfyUI servers', () => {
  let studio: Studio;
  const more: ComfyUiFake[] = [];
  beforeEach(async () => void (studio = await openStudio()));
  afterEach(async () => {
    await studio.close();
    await Promise.all(more.splice(0).map((fake) => fake.close()));
  });

  async function another(version = '0.33.0'): Promise<ComfyUiFake> {
    const fake = await ComfyUiFake.open({ version });
    more.push(fake);
    return fake;
  }

  /** Submits a task of the studio, and polls it until it is over. */
  async function ended(wish: Parameters<typeof task>[0] = {}, { provider }: Pick<Studio, 'provider'> = studio) {
    const submission = task(wish);
    const taken = await submitted(provider, submission);
    return { submission, taken, last: (await reportsUntilOver(provider, taken, submission)).at(-1)! };
  }

  it('are submitted with their token as id, an own client, and the nodes to run', async () => {
    const { provider, fake } = studio;
    const submission = task();
    expect(await submitted(provider, submission)).to.equal(`${submission.token}@${fake.url}`);
    const [sent] = postsTo(fake.server, '/prompt');
    expect(sent).to.include({ prompt_id: submission.token });
    expect(sent).to.have.property('partial_execution_targets').that.deep.equals(['4']);
    expect(Object.keys(sent!).sort()).to.deep.equal(['client_id', 'partial_execution_targets', 'prompt', 'prompt_id']);
  });

  it('are sent with every digit of the file, with NaN, and with a seed that fits the schema of the model', async () => {
    const { provider, fake, folder } = studio;
    const file = `{"input": {"workflow": {
      "1": {"class_type": "EmptyImage", "inputs": {"width": 64, "height": 48, "batch_size": 1, "color": 0, "seed": 18446744073709551615, "shift": NaN}},
      "2": {"class_type": "PrimitiveStringMultiline", "inputs": {"value": ""}},
      "4": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "x"}}}}}`;
    writeFileSync(join(folder, 'exact.json'), file);
    const seed = { type: 'integer', minimum: 3, maximum: 5 };
    const submission = task({
      settings: { workflow: 'exact.json', inputs: { prompt: PROMPT, seed: [{ node: '1', input: 'color' }] } },
      inputSchema: { type: 'object', properties: { seed } },
    });
    await submitted(provider, submission);
    const [sent] = fake.server.requests.filter(({ method, path }) => method === 'POST' && path === '/prompt');
    const text = sent!.body.toString();
    expect(text).to.include('"seed":18446744073709551615,"shift":NaN');
    expect(Number(/"color":(\d+)/.exec(text)?.[1])).to.be.within(3, 5);
  });

  for (const version of ['0.33.0', '0.3.64'])
    it(`are found in a history of version ${version} that has NaN in it`, async () => {
      await studio.close();
      studio = await openStudio({ version });
      const still = WORKFLOWS['still.json'];
      writeFileSync(
        join(studio.folder, 'new.json'),
        JSON.stringify({ ...still, 2: { class_type: 'AlwaysNewText', inputs: { value: 'a text' } } }),
      );
      const { last } = await ended({ settings: { ...STILL_SETTINGS, workflow: 'new.json' } });
      expect(last.state).to.equal('succeeded');
    });

  it('are refused with one sentence where a text would load a file of the server, and nothing is sent', async () => {
    const { provider, fake } = studio;
    const answer = await provider.submit(task({ prompt: 'a lighthouse, embedding:film' }), WANTED);
    const message = 'A text must not contain "embedding:" or "<lora:": this provider would load a file.';
    expect(answer).to.deep.equal({ accepted: false, failure: { code: 'INPUT_INVALID', message, mayRetry: false } });
    expect(fake.server.requests).to.have.length(0);
  });

  it('go to the server with the shortest queue, and say which it was', async () => {
    const [busy, idle] = [studio.fake, await another()];
    busy.queue.occupy();
    const provider = studio.another({ servers: [busy.url, idle.url] });
    const submission = task();
    const taken = await submitted(provider, submission);
    expect(taken).to.equal(`${submission.token}@${idle.url}`);
    expect([busy.server.posts, idle.server.posts]).to.deep.equal([0, 1]);
    const elsewhere = studio.another({ servers: [idle.url, busy.url] });
    expect((await reportsUntilOver(elsewhere, taken, submission)).at(-1)!.state).to.equal('succeeded');
  });

  it('pass over a server that is down or too old', async () => {
    const [down, old, good] = [await another(), await another('0.3.56'), await another()];
    await down.close();
    const provider = studio.another({ servers: [down.url, old.url, good.url] });
    expect(await submitted(provider, task())).to.match(new RegExp(`@${good.url}$`));
    expect(studio.log.lines.map(([, { because, server }]) => [because, server])).to.deep.equal([
      ['unreachable', down.url],
      ['too old', old.url],
    ]);
  });

  it('do not wait for a server that hangs', async () => {
    const [hanging, good] = [studio.fake, await another()];
    hanging.server.plan({ type: 'hang' }, { path: /^\/prompt$/, method: 'GET' });
    const servers = [hanging.url, good.url];
    const provider = studio.another({ servers, options: { answer_timeout_seconds: 0.2 } });
    expect(await submitted(provider, task())).to.match(new RegExp(`@${good.url}$`));
  });

  it('are refused where all servers are full, or all are too old', async () => {
    const old = await another('0.3.44');
    studio.fake.queue.occupy();
    const full = studio.another({ options: { max_queue: 1 } });
    expect(await full.submit(task(), WANTED)).to.include({ accepted: false, because: 'capacity' });
    const answer = await studio.another({ servers: [old.url] }).submit(task(), WANTED);
    expect(answer).to.include({ accepted: false, because: 'not-here' });
    expect(studio.fake.server.posts + old.server.posts).to.equal(0);
  });

  it('are found on the server that has them, and are missed only when all servers say so', async () => {
    const [first, second] = [studio.fake, await another()];
    const provider = studio.another({ servers: [first.url, second.url] });
    const submission = task();
    second.server.plan({ type: 'lose-answer' }, { of: 'submit' });
    first.queue.occupy();
    await provider.submit(submission, WANTED).catch(() => undefined);
    const found = { found: true, reference: `${submission.token}@${second.url}` };
    expect(await provider.recover(submission.token, submission.settings, WANTED)).to.deep.equal(found);
    const unknown = randomUUID();
    expect(await provider.recover(unknown, submission.settings, WANTED)).to.deep.equal({ found: false });
    await first.close();
    expect(await provider.recover(submission.token, submission.settings, WANTED)).to.deep.equal(found);
    expect(await failureOf(provider.recover(unknown, submission.settings, WANTED))).to.be.instanceOf(Error);
  });

  it('count as unknown on a server that is no longer listed', async () => {
    const submission = task();
    const taken = await submitted(studio.provider, submission);
    const moved = studio.another({ servers: [(await another()).url] });
    expect(await moved.poll(taken, submission.settings, WANTED)).to.deep.equal({ state: 'unknown' });
  });

  it('are stopped by their id alone, first in the queue and then in progress', async () => {
    const { provider, fake } = studio;
    const submission = task({ settings: LONG_SETTINGS });
    const taken = await submitted(provider, submission);
    await provider.cancel(taken, submission.settings, WANTED);
    const posts = fake.server.requests.filter(({ method, path }) => method === 'POST' && path !== '/prompt');
    expect(posts.map(({ path, body }) => [path, JSON.parse(body.toString())])).to.deep.equal([
      ['/queue', { delete: [submission.token] }],
      ['/interrupt', { prompt_id: submission.token }],
    ]);
  });

  it('are not stopped in progress by a server that would stop whatever runs', async () => {
    const old = await another('0.3.56');
    const provider = studio.another({ servers: [old.url] });
    await provider.cancel(`${randomUUID()}@${old.url}`, STILL_SETTINGS, WANTED);
    expect(old.server.requests.filter(({ path }) => path === '/interrupt')).to.have.length(0);
  });

  for (const version of ['0.33.0', '0.3.64'])
    it(`deliver their files after a restart of a server of version ${version}, and are lost where there are none`, async () => {
      const older = await openStudio({ version });
      const { provider, fake } = older;
      const waiting = task();
      const { submission: done, taken, last: before } = await ended({ parameters: { n: 2 } }, older);
      const bytes = await bytesOf(provider.output(taken, 1, done.settings, WANTED));
      fake.queue.isHeld = true;
      const lost = await submitted(provider, waiting);
      fake.queue.restart();
      expect(await provider.poll(taken, done.settings, WANTED)).to.deep.equal(before);
      expect((await bytesOf(provider.output(taken, 1, done.settings, WANTED))).equals(bytes)).to.equal(true);
      expect(await provider.recover(done.token, done.settings, WANTED)).to.deep.equal({
        found: true,
        reference: taken,
      });
      expect(await provider.poll(lost, waiting.settings, WANTED)).to.deep.equal({ state: 'unknown' });
      expect(await provider.recover(waiting.token, waiting.settings, WANTED)).to.deep.equal({ found: false });
      await older.close();
    });

  const PAGE = { 'content-type': 'text/html; charset=utf-8' };
  const OF_PROXIES = [
    { type: 'status', status: 404, headers: PAGE, body: '<html>404</html>' },
    jsonFault(404, { message: 'no Route matched with those values' }),
    jsonFault(404, { error: 'Not found' }),
    { type: 'status', status: 404, headers: { 'content-type': 'text/plain' }, body: 'default backend - 404' },
  ] as const;

  it('are not missed because of the 404 of a proxy, whichever route it answers', async () => {
    const { provider, fake } = studio;
    fake.queue.isHeld = true;
    const submission = task();
    const taken = await submitted(provider, submission);
    for (const fault of OF_PROXIES) {
      fake.server.plan(fault, { path: /^\/api\/jobs/ });
      expect(await failureOf(provider.poll(taken, submission.settings, WANTED))).to.be.instanceOf(Error);
      expect(await provider.poll(taken, submission.settings, WANTED)).to.deep.equal({ state: 'running' });
    }
  });

  it('are found by queue and history where a proxy has a page for a route that an older server lacks', async () => {
    const older = await openStudio({ version: '0.3.64' });
    const { provider, fake } = older;
    const { submission, taken } = await ended({}, older);
    for (const fault of OF_PROXIES) {
      fake.server.plan(fault, { path: /^\/api\/jobs/ });
      const other = older.another();
      expect(await other.poll(taken, submission.settings, WANTED)).to.have.property('state', 'succeeded');
    }
    for (const path of [/^\/queue$/, /^\/history/])
      for (const body of ['{"error":"Bad gateway"}', '[]', 'null', '<html>']) {
        fake.server.plan({ type: 'status', status: 200, headers: PAGE, body }, { path, method: 'GET' });
        expect(await failureOf(provider.poll(taken, submission.settings, WANTED)), body).to.be.instanceOf(Error);
      }
    await older.close();
  });

  it('are not missed, and have no files, because of a page in the place of their files after a restart', async () => {
    const { provider, fake } = studio;
    const { submission, taken, last: before } = await ended();
    fake.queue.restart();
    for (const status of [200, 404, 401]) {
      fake.server.plan({ type: 'status', status, headers: PAGE }, { method: 'HEAD' });
      expect(await failureOf(provider.poll(taken, submission.settings, WANTED)), String(status)).to.be.instanceOf(
        Error,
      );
      expect(await provider.poll(taken, submission.settings, WANTED)).to.deep.equal(before);
    }
  });

  it('are refused once where a gateway says so with a status of success, and are unknown for other errors', async () => {
    const { provider, fake } = studio;
    const saying = (body: object) =>
      fake.server.plan({ type: 'status', status: 200, headers: PAGE, body: JSON.stringify(body) }, { of: 'submit' });
    saying({ error: { status: 429, message: 'Slow down' } });
    expect(await provider.submit(task(), WANTED)).to.include({ accepted: false, because: 'capacity' });
    saying({ error: { code: 401, message: 'No' } });
    expect(await provider.submit(task(), WANTED)).to.have.nested.property('failure.code', 'PROVIDER_REJECTED');
    for (const body of [{ error: { code: 500 } }, { error: 'no' }, { prompt_id: randomUUID() }, {}]) {
      saying(body);
      expect(await failureOf(provider.submit(task(), WANTED)), JSON.stringify(body)).to.be.instanceOf(Error);
    }
    expect(fake.server.posts).to.equal(6);
  });

  it('deliver no file of another task, no preview, and nothing outside their folder', async () => {
    const { provider, fake } = studio;
    const other = task();
    const { submission, taken } = await ended();
    const entry = fake.queue.history.get(submission.token)!;
    const own = `darkroom/${submission.token}`;
    const listed = [
      { filename: '1_00001_.png', subfolder: `darkroom/${other.token}`, type: 'output' },
      { filename: '1_00001_.png', subfolder: `${own}/../${other.token}`, type: 'output' },
      { filename: '../1_00001_.png', subfolder: own, type: 'output' },
      { filename: '1_00001_.png', subfolder: own, type: 'temp' },
      { filename: '1_00001_.webm', subfolder: own, type: 'output' },
      { filename: 'other.png', subfolder: own, type: 'output' },
      { filename: '1_00001_.png', subfolder: `${own}/other`, type: 'output' },
      { filename: '2_00001_.webp', subfolder: own.replace('/', '\\'), type: 'output' },
      { filename: '1_00001_.png', subfolder: own, type: 'output' },
      '1_00001_.png',
      null,
    ];
    fake.queue.history.set(submission.token, { ...entry, outputs: { 4: { images: listed } } });
    expect(await provider.poll(taken, submission.settings, WANTED)).to.deep.equal({
      state: 'succeeded',
      outputs: [
        { kind: 'image', mediaType: 'image/png' },
        { kind: 'image', mediaType: 'image/webp' },
      ],
    });
  });

  it('deliver the files they made, though the workflow was changed since', async () => {
    const { provider, folder } = studio;
    const { submission, taken, last: before } = await ended();
    writeFileSync(join(folder, 'still.json'), JSON.stringify(WORKFLOWS['edit.json']));
    expect(await provider.poll(taken, submission.settings, WANTED)).to.deep.equal(before);
    expect((await bytesOf(provider.output(taken, 0, submission.settings, WANTED))).byteLength).to.be.greaterThan(0);
  });

  it('are refused when their workflow is gone, and the log says what is wrong', async () => {
    const { provider, folder, log, fake } = studio;
    rmSync(join(folder, 'still.json'));
    expect(await provider.submit(task(), WANTED)).to.have.nested.property('failure.code', 'MODEL_UNAVAILABLE');
    const reason = `There is no file still.json in ${folder}.`;
    const about = { provider: 'comfyui', because: 'settings', model: 'still', reason };
    expect(log.lines).to.deep.equal([['provider refused a task', about]]);
    expect(fake.server.requests).to.have.length(0);
  });

  it('are refused for a node that the server does not have, which the log names', async () => {
    const { provider, folder, log } = studio;
    const lacking = JSON.stringify(WORKFLOWS['still.json']).replace('"PreviewAny"', '"PreviewAll"');
    writeFileSync(join(folder, 'still.json'), lacking);
    expect(await provider.submit(task(), WANTED)).to.have.nested.property('failure.code', 'MODEL_UNAVAILABLE');
    expect(log.lines.map(([, { faults }]) => faults)).to.deep.equal([['invalid_prompt at node 3 (PreviewAll)']]);
  });

  it('with a parameter that goes nowhere are refused, so that nobody pays for it', async () => {
    const { provider, fake } = studio;
    const answer = await provider.submit(task({ parameters: { style: 'oil' } }), WANTED);
    expect(answer).to.have.nested.property('failure.code', 'MODEL_UNAVAILABLE');
    expect(fake.server.requests).to.have.length(0);
  });

  it('of unknown faults are distinguished in the log by known names only', async () => {
    const { fake, log } = studio;
    for (const exceptionType of ['torch.OutOfMemoryError', '/root/secret token=abc']) {
      fake.queue.breakage = { node: '1', exceptionType };
      await ended();
    }
    expect(log.lines.map(([, { code, at }]) => [code, at])).to.deep.equal([
      ['torch.OutOfMemoryError', 'node 1 (EmptyImage)'],
      [null, 'node 1 (EmptyImage)'],
    ]);
  });

  it('of two that are equal are made from the workflow and own prefixes', async () => {
    const settings = { workflow: 'still.json', inputs: { prompt: PROMPT } };
    const made = [(await ended({ settings })).last, (await ended({ settings })).last];
    expect(made[1]).to.deep.equal(made[0]).and.to.have.property('outputs').with.length(1);
  });
});

/*
 * Goal: a server's answer about a task is interpreted correctly, and anything else is an error and never a state.
 * Method: answers as real servers were seen to give them, and arbitrary JSON.
 */

const TOKEN = '0199f0d2-8e60-4b21-9f0e-c2a4d8e6b170';
const FILE = { filename: '1_00001_.png', subfolder: `darkroom/${TOKEN}`, type: 'output' };
const READ = { filename: FILE.filename, subfolder: FILE.subfolder };
const OUTPUTS = { 4: { images: [FILE] }, 3: { text: ['a lighthouse'] }, 5: { images: [{ ...FILE, type: 'temp' }] } };
const EMPTY_QUEUE = { queue_running: [], queue_pending: [] };
const itemOf = (id: string) => [0, id, {}, {}, ['4']];

describe('a job of a ComfyUI server', () => {
  const read = (job: object) => jobOf(TOKEN, { id: TOKEN, ...job });

  it('is read from the route for jobs', () => {
    const execution_error = { node_id: '8', exception_type: 'ValueError' };
    for (const [job, expected] of [
      [{ status: 'pending' }, { state: 'queued' }],
      [{ status: 'in_progress' }, { state: 'running' }],
      [
        { status: 'completed', outputs: OUTPUTS },
        { state: 'completed', files: [READ] },
      ],
      [
        { status: 'cancelled', outputs: {} },
        { state: 'cancelled', files: [] },
      ],
      [
        { status: 'failed', execution_error },
        { state: 'failed', error: { node: '8', exceptionType: 'ValueError' } },
      ],
      [{ status: 'failed' }, { state: 'failed', error: {} }],
    ] as const)
      expect(read(job), JSON.stringify(job)).to.deep.equal(expected);
  });

  it('runs where its status is not known, and has no status in the answer about something else', () => {
    expect(read({ status: 'waiting_for_gpu' })).to.deep.equal({ state: 'running', unknownStatus: 'waiting_for_gpu' });
    for (const other of [
      { status: 'failed' },
      { id: 'another', status: 'completed' },
      { status: 'error', error: 'No upstream' },
      { id: TOKEN },
      { id: TOKEN, status: '' },
      { id: TOKEN, status: 404 },
    ])
      expect(() => jobOf(TOKEN, other), JSON.stringify(other)).to.throw(AnswerUnreadable);
  });

  it('is missed only where the queue and an empty history say so', () => {
    expect(jobOfHistory(TOKEN, EMPTY_QUEUE, {})).to.deep.equal({ state: 'unknown' });
    for (const [queue, history] of [
      [EMPTY_QUEUE, { error: 'Bad gateway' }],
      [EMPTY_QUEUE, { another: { outputs: {} } }],
      [EMPTY_QUEUE, []],
      [{ error: 'Bad gateway' }, {}],
      [{}, {}],
      [{ queue_running: [] }, {}],
    ] as const)
      expect(() => jobOfHistory(TOKEN, queue, history), JSON.stringify([queue, history])).to.throw(AnswerUnreadable);
  });

  it('is read from the queue and the history, which has the last word', () => {
    const running = { queue_running: [itemOf(TOKEN)], queue_pending: [] };
    const pending = { queue_running: [itemOf('other')], queue_pending: [itemOf('another'), itemOf(TOKEN)] };
    const history = (status: object) => ({ [TOKEN]: { outputs: OUTPUTS, status } });
    const error = (event: string, of: object) =>
      history({
        status_str: 'error',
        messages: [
          ['execution_start', {}],
          [event, of],
        ],
      });
    for (const [queue, entries, expected] of [
      [running, {}, { state: 'running' }],
      [pending, {}, { state: 'queued' }],
      [running, history({ status_str: 'success' }), { state: 'completed', files: [READ] }],
      [EMPTY_QUEUE, error('execution_interrupted', {}), { state: 'cancelled', files: [READ] }],
      [EMPTY_QUEUE, error('execution_error', { node_id: 8 }), { state: 'failed', error: { node: '8' } }],
    ] as const)
      expect(jobOfHistory(TOKEN, queue, entries)).to.deep.equal(expected);
  });

  it('is never made up from another answer', () => {
    const isState = (look: () => unknown) => {
      try {
        return look();
      } catch (error) {
        expect(error).to.be.instanceOf(AnswerUnreadable);
        return undefined;
      }
    };
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(isState(() => jobOf(TOKEN, one))).to.equal(undefined);
        expect(isState(() => jobOfHistory(TOKEN, one, other))).to.equal(undefined);
      }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom('completed', 'cancelled', 'failed'),
        fc.jsonValue(),
        fc.jsonValue(),
        (status, outputs, error) => {
          isState(() => read({ status, outputs, execution_error: error }));
          isState(() => jobOfHistory(TOKEN, EMPTY_QUEUE, { [TOKEN]: { outputs, status: error } }));
        },
      ),
    );
  });

  it('has no more files than any task', () => {
    const images = Array.from({ length: 1_001 }, () => FILE);
    expect(() => read({ status: 'completed', outputs: { 4: { images } } })).to.throw(
      AnswerUnreadable,
      'more than 1000 files',
    );
  });
});
