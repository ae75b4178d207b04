import { createServer, type AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Provider, ProviderCall, SubmitAnswer } from '../../../core/ports/provider.js';
import type { Fault } from '../../providers/fakes/fake-server.js';
import { jsonFault } from '../../providers/fakes/faults.js';
import { WANTED } from '../provider.contract.js';
import {
  abortedAt,
  failureOf,
  submittedWhole,
  TakesTooMuch,
  turn,
  withinBytes,
  type Case,
  type Cases,
} from './cases.js';
import { otherShapes } from './hostile.js';
import type { RemoteProviderSupports } from './subject.js';

/** Faults that leave open whether the task was taken. */
const UNCERTAIN: readonly (readonly [name: string, fault: Fault])[] = [
  ['its answer is lost', { type: 'lose-answer' }],
  ['the connection is closed within its body', { type: 'cut-body' }],
  ['the connection is closed before its body is read', { type: 'drop' }],
  ['its answer is truncated', { type: 'truncated' }],
  ['a page of HTML answers with status 200', { type: 'html', status: 200 }],
  ['a page of HTML answers with status 502', { type: 'html', status: 502 }],
  ['a page of HTML answers with status 504', { type: 'html', status: 504 }],
  ['status 500 answers without a body', { type: 'status', status: 500, isHandled: true }],
  ['status 502 answers without a body', { type: 'status', status: 502, isHandled: true }],
  ['status 408 answers', { type: 'status', status: 408, isHandled: true }],
  ['status 425 answers', { type: 'status', status: 425, isHandled: true }],
  ...otherShapes(),
];

export function describeSubmissions(
  proves: Cases,
  { maxAnswerBytes = 16 * 1024 * 1024, readsErrors, capabilities }: RemoteProviderSupports,
): void {
  proves('sends one request for one task, on the first try', async (one) => {
    const { answer } = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    expect(answer.accepted).to.equal(true);
    await expectPosts(one, { posts: 1, handled: 1 });
  });

  for (const [name, fault] of UNCERTAIN) {
    proves(`sends a task once and does not know whether it was taken when ${name}`, async (one) => {
      one.server.plan(fault, { of: 'submit' });
      const error = await failureOf(submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED));
      expect(error, 'an unknown outcome is thrown').to.be.instanceOf(Error);
      await expectPosts(one, { posts: 1 });
    });
  }

  proves('sends a task once and gives up its answer when that has no end, within its bounds', async (one) => {
    const planned = one.server.plan({ type: 'huge' }, { of: 'submit' });
    const submission = one.quick(randomUUID());
    const work = withinBytes(planned, maxAnswerBytes, (call) => submittedWhole(one, one.provider, submission, call));
    const error = await failureOf(work);
    expect(error).to.be.instanceOf(Error).and.not.instanceOf(TakesTooMuch);
    await planned.left;
    await expectPosts(one, { posts: 1 });
  });

  proves('follows no redirect of a task', async (one) => {
    const elsewhere = await one.elsewhere();
    one.server.plan({ type: 'redirect', to: `${elsewhere.url}/stolen`, isHandled: true }, { of: 'submit' });
    const outcome = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED).catch(() => undefined);
    expect(outcome?.answer.accepted ?? false, 'accepted').to.equal(false);
    expect(elsewhere.requests).to.have.length(0);
    await expectPosts(one, { posts: 1 });
  });

  proves('sends a task once when a proxy on the way delivers it twice', async (one) => {
    one.server.plan({ type: 'twice' }, { of: 'submit' });
    await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    await expectPosts(one, { posts: 1, handled: 2 });
  });

  proves('waits for a slow answer', async (one) => {
    const planned = one.server.plan({ type: 'slow-answer' }, { of: 'submit' });
    const work = submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    await planned.met;
    await planned.release();
    expect((await work).answer.accepted).to.equal(true);
    await expectPosts(one, { posts: 1, handled: 1 });
  });

  proves('reads an answer that comes byte by byte', async (one) => {
    one.server.plan({ type: 'trickle', everyMs: 0 }, { of: 'submit' });
    const { answer } = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    expect(answer.accepted).to.equal(true);
    await expectPosts(one, { posts: 1, handled: 1 });
  });

  proves('submits on a connection of its own', async (one) => {
    await one.provider.poll('no-such-task', one.settings, WANTED);
    const before = one.server.connections;
    await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    expect(one.server.connections - before).to.be.at.least(1);
    await expectPosts(one, { posts: 1, handled: 1 });
  });

  describeForms(proves);
  if (readsErrors === true) describeErrors(proves, capabilities.isPaid);
  else it.skip('reads errors whatever their status (skipped: this provider has rules of its own)');
  describeSubmissionAborts(proves);
  describeUnreachable(proves);
}

/** Variants of a server's JSON: text around it, and forms that Python writes. */
const FORMS: readonly (readonly [name: string, of: (json: string) => string])[] = [
  ['is one line', (json) => `${json}\n`],
  ['has white space around it', (json) => `${' \r\n'.repeat(100)}${json} `],
  ['has a byte order mark', (json) => `\ufeff${json}`],
  ['has NaN and Infinity in it', (json) => json.replace('{', '{"x_loss":NaN,"x_bounds":[-Infinity,Infinity,null],')],
];
const TYPES = ['application/x-ndjson', 'application/octet-stream', 'text/plain; charset=utf-8', 'text/html', ''];

function describeForms(proves: Cases): void {
  const altered = (contentType: string, of: (json: string) => string): Fault => ({
    type: 'altered',
    alter: ({ status = 200, headers = {}, json }) => ({
      status,
      headers: { ...headers, ...(contentType === '' ? {} : { 'content-type': contentType }) },
      body: of(JSON.stringify(json)),
    }),
  });

  for (const [name, of] of FORMS)
    proves(`takes an answer in JSON that ${name}, whatever type it declares`, async (one) => {
      for (const type of TYPES) {
        one.server.plan(altered(type, of), { of: 'submit' });
        const { answer } = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
        expect(answer.accepted, type).to.equal(true);
      }
      await expectPosts(one, { posts: TYPES.length });
    });

  proves('takes an answer after responses of 1xx', async (one) => {
    one.server.plan({ type: 'informed' }, { of: 'submit' });
    const { answer } = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    expect(answer.accepted).to.equal(true);
  });

  proves('takes an answer whose headers come before the task is done', async (one) => {
    const planned = one.server.plan({ type: 'early-headers' }, { of: 'submit' });
    const work = submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    await planned.met;
    for (let turns = 0; turns < 20; turns += 1) await turn();
    await planned.release();
    expect((await work).answer.accepted).to.equal(true);
    await expectPosts(one, { posts: 1, handled: 1 });
  });
}

function describeErrors(proves: Cases, isPaid: boolean): void {
  const answered = (status: number, body: object, spaces = ''): Fault => {
    const fault = jsonFault(status, body);
    return { ...fault, isHandled: true, body: `${spaces}${fault.body}` };
  };
  // More than was read of a refusal once: an error that repeats its input.
  const input = {
    image: `data:image/png;base64,${'QUJD'.repeat(60_000)}`,
    prompt: 'x',
    numbers: Array(30_000).fill(1),
  };
  const policy = {
    input,
    error: { code: 'content_policy_violation', type: 'image_generation_user_error', message: 'Words of the server.' },
    detail: [{ input, loc: ['body', 'prompt'], type: 'content_policy_violation', msg: 'Words of the server.' }],
  };

  for (const status of [200, 400, 403, 422, 500])
    proves(
      `refuses once for the content policy that an answer of ${status} names, with the input in it`,
      async (one) => {
        one.server.plan(answered(status, policy, status === 200 ? '   ' : ''), { of: 'submit' });
        const answer = await one.provider.submit(one.quick(randomUUID()), WANTED);
        expect(refusalOf(answer)).to.deep.equal({ code: 'CONTENT_REJECTED_INPUT', mayRetry: false });
        await expectPosts(one, { posts: 1 });
      },
    );

  if (isPaid)
    proves(
      'does not know whether a task was taken when an answer of success has an error of another kind',
      async (one) => {
        one.server.plan(answered(200, { error: { code: 'server_error', message: 'Words.' } }), { of: 'submit' });
        expect(await failureOf(one.provider.submit(one.quick(randomUUID()), WANTED))).to.be.instanceOf(Error);
        await expectPosts(one, { posts: 1 });
      },
    );
}

function describeSubmissionAborts(proves: Cases): void {
  proves('sends nothing with a signal that is aborted before', async (one) => {
    const call = { signal: AbortSignal.abort() };
    expect(await failureOf(one.provider.submit(one.quick(randomUUID()), call))).to.be.instanceOf(Error);
    await expectPosts(one, { posts: 0 });
  });

  for (const [when, fault] of [
    ['while no answer comes', { type: 'hang' }],
    ['within an answer that trickles', { type: 'trickle', everyMs: 1, isEndless: true }],
  ] as const)
    proves(`ends soon when it is aborted ${when}, and closes the connection`, async (one) => {
      const submit = (call: ProviderCall) => submittedWhole(one, one.provider, one.quick(randomUUID()), call);
      expect(await abortedAt(one, 'submit', fault, submit)).to.be.instanceOf(Error);
      await expectPosts(one, { posts: 1 });
    });
}

/** Without a connection the provider cannot have accepted anything: another provider may get the task at once. */
function describeUnreachable(proves: Cases): void {
  const expectUnreachable = async (one: Case, provider: Provider) => {
    const answer = await provider.submit(one.quick(randomUUID()), WANTED);
    expect(refusalOf(answer)).to.deep.equal({ code: 'PROVIDER_UNAVAILABLE', because: 'capacity', mayRetry: true });
    await expectPosts(one, { posts: 0 });
  };

  proves('refuses for capacity when nothing listens', async (one) => {
    const closed = await one.elsewhere();
    await closed.close();
    await expectUnreachable(one, await one.openedAt(closed.url));
  });

  proves('refuses for capacity when the name of the server has no address', async (one) => {
    await expectUnreachable(one, await one.openedAt(`https://nothing.invalid:${one.server.port}`));
  });

  proves('refuses for capacity when the server does not speak TLS', async (one) => {
    await expectUnreachable(one, await one.openedAt(`https://127.0.0.1:${one.server.port}`));
  });

  proves('refuses for capacity when the connection is not made in time', async (one) => {
    const silent = createServer(() => undefined);
    const sockets = new Set<{ destroy(): void }>();
    silent.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    try {
      // TLS belongs to the connection, and this server never answers its first message.
      const { port } = silent.address() as AddressInfo;
      await expectUnreachable(one, await one.openedAt(`https://127.0.0.1:${port}`));
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });
}

/** How a refusal is acted on, without its sentence. */
export function refusalOf(answer: SubmitAnswer) {
  if (answer.accepted) throw new Error('The task was accepted.');
  const {
    because,
    failure: { code, mayRetry },
  } = answer;
  return { code, mayRetry, ...(because === undefined ? {} : { because }) };
}

export async function expectPosts(
  one: Case,
  { posts, handled }: { readonly posts: number; readonly handled?: number },
): Promise<void> {
  await arrived(one);
  expect(one.server.posts, 'submissions sent').to.equal(posts);
  if (handled !== undefined) expect(one.server.handledPosts, 'submissions handled').to.equal(handled);
}

/** Resolves when the fake has seen all that was sent to it before. */
export async function arrived({ server }: Case): Promise<void> {
  await fetch(`${server.url}/of-the-contract/are-you-there`).then((answer) => answer.arrayBuffer());
  await server.settled();
}
