import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../core/json.js';
import type { Provider, ProviderCall, ProviderReport, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { collected } from '../../fixtures/byte-streams.js';
import { type CallKind, FakeServer, type Fault, type PlannedFault } from '../../providers/fakes/fake-server.js';
import { reportsUntilOver, submitted } from '../provider.contract.js';
import type { OpenedRemoteProvider, RemoteProviderSubject } from './subject.js';
import { Seen } from './watched-provider.js';

/** The fixture of one test, in which everything that a provider returns or throws is recorded. */
export interface Case extends Omit<OpenedRemoteProvider, 'reopened' | 'openedAt' | 'openedWithKey'> {
  /** The settings of the tasks that `quick` returns. */
  readonly settings: JsonObject;
  readonly seen: Seen;
  readonly original: OpenedRemoteProvider;
  readonly reopened: () => Promise<Provider>;
  readonly openedAt: (origin: string) => Promise<Provider>;
  /** Another server, at an unconfigured address; it has no routes. */
  readonly elsewhere: () => Promise<FakeServer>;
}

export type Cases = (name: string, body: (one: Case) => Promise<void>) => void;

/**
 * Defines tests that each open the subject afresh, and that fail where an answer breaks what holds for every one: no
 * key in it, sentences fit for clients, bounded references, whole costs.
 */
export function casesOf(subject: RemoteProviderSubject): Cases {
  return (name, body) => {
    it(name, async function () {
      const opened = await subject.open();
      const others: FakeServer[] = [];
      const seen = new Seen();
      try {
        await body(caseOf(opened, seen, others));
        seen.noted(opened.logged?.() ?? '');
        seen.expectRight(
          opened.secret,
          opened.server.requests.flatMap(({ answers }) => answers.map(({ json }) => json)),
        );
      } catch (error) {
        if (!(error instanceof NotApplicable) || this.test === undefined) throw error;
        this.test.title += ` (skipped: ${error.message})`;
        this.skip();
      } finally {
        seen.closeAnswers();
        await Promise.all(others.map((other) => other.close()));
        await subject.close(opened);
      }
    });
  };
}

/** The test does not apply to this subject; the message says why. */
export class NotApplicable extends Error {}

function caseOf(opened: OpenedRemoteProvider, seen: Seen, others: FakeServer[]): Case {
  return {
    ...opened,
    seen,
    original: opened,
    provider: seen.watched(opened.provider),
    settings: opened.quick('00000000-0000-4000-8000-000000000000').settings,
    reopened: async () => seen.watched(await opened.reopened()),
    openedAt: async (origin) => seen.watched(await opened.openedAt(origin)),
    elsewhere: async () => {
      const other = await FakeServer.open([]);
      others.push(other);
      return other;
    },
  };
}

/** Submits, and reads what the answer delivers to its end. */
export async function submittedWhole(
  { seen }: Case,
  provider: Provider,
  submission: Submission,
  call: ProviderCall,
): Promise<{ readonly answer: SubmitAnswer; readonly outputs: readonly Uint8Array[] }> {
  const answer = await provider.submit(submission, call);
  const outputs: Uint8Array[] = [];
  if ('outputs' in answer)
    for (const { bytes } of answer.outputs) outputs.push(await collected(bytes).catch(noted(seen)));
  return { answer, outputs };
}

/** The bytes of one output, read to its end. */
export async function outputOf(
  { seen, settings }: Case,
  provider: Provider,
  reference: string,
  { index = 0, call = { signal: new AbortController().signal } }: { index?: number; call?: ProviderCall } = {},
): Promise<Uint8Array> {
  return collected(await provider.output(reference, index, settings, call)).catch(noted(seen));
}

/** Submits a task, polls it until it is over, and gives its reference and its last report. */
export async function ended(
  { provider }: Pick<Case, 'provider'>,
  submission: Submission,
): Promise<{ readonly reference: string; readonly last: ProviderReport }> {
  const reference = await submitted(provider, submission);
  return { reference, last: (await reportsUntilOver(provider, reference, submission)).at(-1)! };
}

/** The reference of a small task that has succeeded. */
export async function finished(one: Pick<Case, 'provider' | 'quick'>): Promise<string> {
  const { reference, last } = await ended(one, one.quick(randomUUID()));
  if (last.state !== 'succeeded') throw new Error(`The task ended ${last.state}.`);
  return reference;
}

/** Aborts the work while its request meets a fault, and gives its error; the connection must be closed then. */
export async function abortedAt(
  { server }: Case,
  of: CallKind,
  fault: Fault,
  work: (call: ProviderCall) => Promise<unknown>,
): Promise<unknown> {
  const planned = server.plan(fault, { of });
  const abort = new AbortController();
  const failure = failureOf(work(abort));
  await planned.met;
  abort.abort();
  const error = await failure;
  await planned.left;
  return error;
}

/** The error that the work threw; undefined if it threw none. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error ?? new Error('Something empty was thrown.');
  }
}

const MEBIBYTE = 1024 * 1024;
/** The additional memory that reading an endless answer may take, including garbage that is not collected yet. */
const MAX_GROWTH_BYTES = 128 * MEBIBYTE;
const LOOK_AGAIN_MS = 2;

/** Aborts work once it has taken more of an endless answer, or more memory, than it may; rejects with `TakesTooMuch` then. */
export async function withinBytes<T>(
  planned: PlannedFault,
  maxBytes: number,
  work: (call: ProviderCall) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const before = memoryBytes();
  const running = { hasEnded: false };
  const done = work({ signal: abort.signal }).finally(() => {
    running.hasEnded = true;
  });
  const settled = done.catch(() => undefined);
  await Promise.race([planned.met, settled]);
  while (!running.hasEnded) {
    const [sent, grown] = [planned.sentBytes, memoryBytes() - before];
    if (sent > maxBytes || grown > MAX_GROWTH_BYTES) {
      // It may ignore the abort; the end of the test closes its connection.
      abort.abort();
      throw new TakesTooMuch(`It took ${sent} bytes of an endless answer, and ${grown} bytes of memory.`);
    }
    await sleep(LOOK_AGAIN_MS);
  }
  return done;
}

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The provider takes more than its bound. */
export class TakesTooMuch extends Error {}

/** Lets everything happen that is ready to. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function noted(seen: Seen): (error: unknown) => never {
  return (error) => {
    seen.threw(error);
    throw error;
  };
}
