import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { ProviderCall } from '../../../core/ports/provider.js';
import type { FakeAnswer } from '../../providers/fakes/fake-answer.js';
import type { Fault } from '../../providers/fakes/fake-server.js';
import { WANTED } from '../provider.contract.js';
import { abortedAt, type Cases, failureOf, finished, outputOf, submittedWhole, turn } from './cases.js';
import type { RemoteProviderSubject, RemoteProviderSupports } from './subject.js';

/** Answers to a request for an output that have none of it, or not all. */
const BROKEN: readonly (readonly [name: string, fault: Fault])[] = [
  ['the answer is lost', { type: 'lose-answer' }],
  ['the connection is closed', { type: 'drop' }],
  ['the answer is truncated', { type: 'truncated' }],
  ['a page of HTML answers with status 200', { type: 'html', status: 200 }],
  ['a page of HTML answers with status 502', { type: 'html', status: 502 }],
  ['status 404 answers', { type: 'status', status: 404 }],
  ['status 403 answers', { type: 'status', status: 403 }],
  ['status 500 answers', { type: 'status', status: 500 }],
];

/** The same, of a provider that looks at the first bytes of a file. */
const NO_FILES: typeof BROKEN = [
  ['status 202 answers', { type: 'status', status: 202 }],
  ['status 429 answers', { type: 'status', status: 429, headers: { 'retry-after': '7' } }],
  ['status 200 answers without a body', { type: 'status', status: 200 }],
  [
    'an error in JSON answers with status 200',
    { type: 'status', status: 200, headers: { 'content-type': 'image/png' }, body: '{"error":"not ready"}' },
  ],
  [
    'a page answers as a file',
    { type: 'altered', alter: () => ({ headers: { 'content-type': 'video/mp4' }, body: '\n<html></html>' }) },
  ],
  [
    'a sentence answers as a file',
    {
      type: 'altered',
      alter: () => ({
        headers: { 'content-type': 'application/octet-stream' },
        body: 'The result is not ready yet. 请稍候',
      }),
    },
  ],
];

const TYPES = ['application/octet-stream', 'binary/octet-stream', 'text/plain', 'application/x-unknown', ''];

/** The bytes of an endless output that may be in flight beyond those that were read. */
const MAX_AHEAD_BYTES = 16 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

export function describeOutputs(proves: Cases, { followsRedirects, readsErrors }: RemoteProviderSupports): void {
  for (const [name, fault] of readsErrors === true ? [...BROKEN, ...NO_FILES] : BROKEN) {
    proves(`delivers no output, and not a part of one as if it were whole, when ${name}`, async (one) => {
      const reference = await finished(one);
      const honest = await outputOf(one, one.provider, reference);
      one.server.plan(fault, { of: 'output' });
      expect(await failureOf(outputOf(one, one.provider, reference)), 'it throws').to.be.instanceOf(Error);
      const again = await outputOf(one, one.provider, reference);
      expect(Buffer.from(again).equals(honest), 'it can be fetched again').to.equal(true);
    });
  }

  if (readsErrors === true)
    proves('delivers an output whatever type it declares', async (one) => {
      const reference = await finished(one);
      const honest = await outputOf(one, one.provider, reference);
      for (const type of TYPES) {
        one.server.plan({ type: 'altered', alter: (answer) => withType(answer, type) }, { of: 'output' });
        const output = await outputOf(one, one.provider, reference);
        expect(Buffer.from(output).equals(honest), type).to.equal(true);
      }
    });
  else it.skip('delivers an output whatever type it declares (skipped: this provider has rules of its own)');

  if (followsRedirects === true) describeRedirects(proves);
  else it.skip('follows the redirects of an output (skipped: it has no address of its own)');

  proves('follows no redirect of an output to a private address', async (one) => {
    const reference = await finished(one);
    const elsewhere = await one.elsewhere();
    one.server.plan({ type: 'redirect', to: `${elsewhere.url}/stolen`, status: 302 }, { of: 'output' });
    expect(await failureOf(outputOf(one, one.provider, reference))).to.be.instanceOf(Error);
    expect(elsewhere.requests).to.have.length(0);
  });

  for (const [name, fault] of [
    ['no answer comes', { type: 'hang' }],
    ['it trickles', { type: 'trickle', everyMs: 1, isEndless: true }],
  ] as const) {
    proves(`ends an output soon when it is aborted while ${name}, and closes the connection`, async (one) => {
      const reference = await finished(one);
      const read = (call: ProviderCall) => outputOf(one, one.provider, reference, { call });
      expect(await abortedAt(one, 'output', fault, read)).to.be.instanceOf(Error);
    });
  }

  proves('reads an output only as fast as it is wanted, and closes the connection when it is left', async (one) => {
    const reference = await finished(one);
    const planned = one.server.plan({ type: 'huge' }, { of: 'output' });
    let readBytes = 0;
    const work = (async () => {
      for await (const piece of await one.provider.output(reference, 0, one.settings, WANTED)) {
        readBytes += piece.byteLength;
        for (let turns = 0; turns < 20; turns += 1) await turn();
        expect(planned.sentBytes - readBytes, 'bytes that nobody has asked for').to.be.below(MAX_AHEAD_BYTES);
        if (readBytes > READ_BYTES) return;
      }
    })();
    const error = await failureOf(work);
    if (error !== undefined) one.seen.threw(error);
    // One whose bytes are within JSON has no more of them to give, and throws at its bounds.
    if (readBytes > READ_BYTES) expect(error).to.equal(undefined);
    await planned.left;
  });
}

function withType({ json, body = '', ...answer }: FakeAnswer, type: string): FakeAnswer {
  const { 'content-type': _, ...headers } = answer.headers ?? {};
  return {
    ...answer,
    headers: type === '' ? headers : { ...headers, 'content-type': type },
    body: json === undefined ? body : JSON.stringify(json),
  };
}

function describeRedirects(proves: Cases): void {
  // To the same address, with its query.
  const hop: Fault = { type: 'redirect', to: '#again', status: 302 };

  proves('follows up to three redirects of an output', async (one) => {
    const reference = await finished(one);
    const honest = await outputOf(one, one.provider, reference);
    // Some vendors redirect each request for a file themselves.
    const answers = one.server.requests.flatMap((request) => request.answers);
    const own = answers.filter(({ status = 200 }) => status >= 300 && status < 400).length;
    for (const hops of [1, 3 - own]) {
      for (let planned = 0; planned < hops; planned += 1) one.server.plan(hop, { of: 'output' });
      const output = await outputOf(one, one.provider, reference);
      expect(Buffer.from(output).equals(honest), `${hops} redirects`).to.equal(true);
    }
  });

  proves('throws for an output that redirects in a circle, and delivers it afterwards', async (one) => {
    const reference = await finished(one);
    const planned = Array.from({ length: 10 }, () => one.server.plan(hop, { of: 'output' }));
    expect(await failureOf(outputOf(one, one.provider, reference))).to.be.instanceOf(Error);
    one.server.forgetFaults(planned);
    expect((await outputOf(one, one.provider, reference)).byteLength).to.be.greaterThan(0);
    expect(one.server.posts).to.equal(1);
  });

  for (const location of [
    'ftp://127.0.0.1/x',
    'http://user:pass@127.0.0.1/',
    'https://169.254.169.254/',
    '\\',
    'data:,x',
  ])
    proves(`throws for an output that redirects to ${location}`, async (one) => {
      const reference = await finished(one);
      one.server.plan({ type: 'redirect', to: location, status: 302 }, { of: 'output' });
      expect(await failureOf(outputOf(one, one.provider, reference))).to.be.instanceOf(Error);
    });
}

/** Tests of a provider whose answer to a submission has the outputs of the finished task. */
export function describeImmediateOutputs(proves: Cases, { failures, partial, supports }: RemoteProviderSubject): void {
  proves('answers a submission with its outputs, which are read in their order', async (one) => {
    const { answer, outputs } = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    expect(outputs).to.not.have.length(0);
    for (const bytes of outputs) expect(bytes.byteLength).to.be.greaterThan(0);
    for (const { kind, mediaType } of answer.outputs)
      expect(mediaType.startsWith(`${kind}/`), mediaType).to.equal(true);
    if (supports.cost) expect(Object.keys(answer.cost ?? {}), 'its cost').to.not.have.length(0);
  });

  proves('ends soon when it is aborted before the first output is read', async (one) => {
    const planned = one.server.plan({ type: 'trickle', everyMs: 1, isEndless: true }, { of: 'submit' });
    const abort = new AbortController();
    const work = failureOf(
      (async () => {
        const answer = await one.provider.submit(one.quick(randomUUID()), abort);
        abort.abort();
        if ('outputs' in answer) for (const { bytes } of answer.outputs) for await (const _ of bytes) continue;
      })(),
    );
    await planned.met;
    abort.abort();
    expect(await work).to.be.instanceOf(Error);
    await planned.left;
  });

  proves('knows no task by a reference', async ({ provider, settings }) => {
    expect(await provider.poll('a-task', settings, WANTED)).to.deep.equal({ state: 'unknown' });
    expect(await failureOf(provider.output('a-task', 0, settings, WANTED))).to.be.instanceOf(Error);
    await provider.cancel('a-task', settings, WANTED);
  });

  for (const { name, code, task } of failures) {
    proves(`refuses as ${code} when ${name}`, async (one) => {
      const answer = await one.provider.submit(task(one.original, randomUUID()), WANTED);
      if (answer.accepted) throw new Error('The task was accepted.');
      expect(answer.failure.code).to.equal(code);
    });
  }

  if (partial === undefined) it.skip('has fewer outputs (skipped: this vendor delivers all or nothing)');
  else
    proves('has the outputs that were made when there are fewer than were asked for', async (one) => {
      const submission = partial.task(one.original, randomUUID());
      const { outputs } = await submittedWhole(one, one.provider, submission, WANTED);
      expect(outputs.length).to.equal(partial.outputs).and.below(submission.outputCount);
    });
}
