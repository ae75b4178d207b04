import { expect } from 'chai';
import type { ProviderDriver } from '../../../adapters/driver.js';
import type { ReferenceRole, TaskErrorCode } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Log } from '../../../core/log.js';
import type {
  Provider,
  ProviderCapabilities,
  ProviderReference,
  ProviderReport,
  RefusedBecause,
  Submission,
  SubmitAnswer,
  SubmittedOutput,
} from '../../../core/ports/provider.js';
import { providerContract, reportsUntilOver, submitted, WANTED } from '../../contracts/provider.contract.js';
import {
  type FailureCase,
  type OpenedRemoteProvider,
  type RefusalCase,
  remoteProviderContract,
  type RemoteProviderSubject,
} from '../../contracts/remote-provider.contract.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { IMAGE_PLACE } from '../../fixtures/settings-place.js';
import type { VendorFake } from '../../providers/fakes/vendor-fake.js';

/** A log, and all that was written to it as JSON. */
export function recordingLog(): { readonly log: Log; readonly logged: () => string } {
  const lines: string[] = [];
  const note = (event: string, about: object) => void lines.push(JSON.stringify({ event, ...about }));
  return { log: { info: note, warn: note }, logged: () => lines.join('\n') };
}

type Instance = Provider & { close(): Promise<void> };

/** A vendor whose fake and instances the contracts open. */
export interface Vendor<Fake extends VendorFake> {
  readonly openFake: () => Promise<Fake>;
  readonly providerAt: (base: string, options: JsonObject, log: Log) => Instance;
  readonly tasksOf: (fake: Fake) => number;
  readonly task: (wish: Partial<Submission>) => Submission;
  /** The vendor's key; absent if the vendor has none. */
  readonly key?: string;
  /** The key in its form with another word; the word itself when absent. */
  readonly keyOf?: (word: string) => string;
  /** The input of a task that does not end; the prompt "endless" when absent. */
  readonly endless?: Partial<Submission>;
  /** The input of a task that waits until it is cancelled; absent if the vendor has no such tasks. */
  readonly queued?: (fake: Fake) => Partial<Submission>;
  /** The further input of a task with a reference, if it needs any. */
  readonly withReference?: (reference: ProviderReference) => Partial<Submission>;
}

/** A task with this prompt waits at the vendor. */
export const QUEUED = () => ({ prompt: 'queued' });

/** How the contracts open and close instances of a vendor, each on its own fake, and the fake of an opened one. */
export function vendorSubject<Fake extends VendorFake>(
  vendor: Vendor<Fake>,
): Pick<RemoteProviderSubject, 'open' | 'close'> & { readonly fakeOf: (opened: OpenedRemoteProvider) => Fake } {
  const fakes = new WeakMap<OpenedRemoteProvider, Fake>();
  const closers = new WeakMap<OpenedRemoteProvider, () => Promise<unknown>>();
  return {
    fakeOf: (opened) => fakes.get(opened)!,
    async open() {
      const fake = await vendor.openFake();
      const { opened, close } = openedAt(vendor, fake);
      fakes.set(opened, fake);
      closers.set(opened, close);
      return opened;
    },
    async close(opened) {
      await closers.get(opened)?.();
      await fakes.get(opened)?.close();
    },
  };
}

function openedAt<Fake extends VendorFake>(
  {
    providerAt,
    tasksOf,
    task,
    key,
    keyOf = (word) => word,
    endless = { prompt: 'endless' },
    queued,
    withReference = (reference) => ({ references: [reference] }),
  }: Vendor<Fake>,
  fake: Fake,
): { readonly opened: OpenedRemoteProvider; readonly close: () => Promise<unknown> } {
  const { log, logged } = recordingLog();
  const made: Instance[] = [];
  const own: JsonObject = { ...(key === undefined ? {} : { api_key: key }), connect_timeout_seconds: 1 };
  const connected = (base = fake.base, options: JsonObject = {}) => {
    const provider = providerAt(base, { ...own, ...options }, log);
    made.push(provider);
    return provider;
  };
  const opened: OpenedRemoteProvider = {
    provider: connected(),
    server: fake.server,
    tasks: () => tasksOf(fake),
    reopened: () => connected(),
    openedAt: (origin) => connected(fake.base.replace(fake.url, origin)),
    ...(key === undefined
      ? {}
      : { secret: key, openedWithKey: (word: string) => connected(fake.base, { api_key: keyOf(word) }) }),
    quick: (token) => task({ token }),
    endless: (token) => task({ token, ...endless }),
    ...(queued === undefined ? {} : { queued: (token: string) => task({ token, ...queued(fake) }) }),
    withReference: (token, reference) => task({ token, ...withReference(reference) }),
    logged,
  };
  return { opened, close: () => Promise.all(made.map((provider) => provider.close())) };
}

/** Both contracts of providers; the first one learns from the capabilities what holds for this provider. */
export function proveContracts(subject: RemoteProviderSubject): void {
  const { isAskedBy, cancels, answersWithOutputs } = subject.supports.capabilities;
  const recovery = isAskedBy === 'token';
  providerContract({
    ...subject,
    supports: { recovery, cancellation: cancels === 'running', answersWithOutputs },
  });
  remoteProviderContract(subject);
}

/** The capabilities of most vendors; each names where it differs. */
export const CAPABILITIES: ProviderCapabilities = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'nothing',
  isPaid: true,
};

type Because = RefusedBecause | undefined;

/** A refusal of a submission in the vendor's own shape, and how it is reported. */
export type RefusalRow = readonly [name: string, status: number, body: object, code: TaskErrorCode, because?: Because];

export function refusalsOf(rows: readonly RefusalRow[]): readonly RefusalCase[] {
  return rows.map(([name, status, body, code, because]) => ({
    name,
    status,
    body,
    code,
    ...(because === undefined ? {} : { because }),
  }));
}

/** Tasks that fail because of their prompt. */
export function failuresOf(
  task: (wish: Partial<Submission>) => Submission,
  rows: readonly (readonly [prompt: string, code: TaskErrorCode, name: string])[],
): readonly FailureCase[] {
  return rows.map(([prompt, code, name]) => ({ name, code, task: (_, token) => task({ token, prompt }) }));
}

/** One of two outputs, of a task with the prompt "half". */
export function halfOf(task: (wish: Partial<Submission>) => Submission): RemoteProviderSubject['partial'] & {} {
  return { outputs: 1, task: (_, token) => task({ token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }) };
}

/** A vendor's fake and an instance at it, of the test that runs. */
export class OpenedVendor<Fake extends VendorFake, Provided extends Instance> {
  fake!: Fake;
  provider!: Provided;

  constructor(readonly task: (wish: Partial<Submission>) => Submission) {}

  get server(): Fake['server'] {
    return this.fake.server;
  }

  submit(wish: Partial<Submission> = {}): Promise<SubmitAnswer> {
    return this.provider.submit(this.task(wish), WANTED);
  }

  /** The code of the refusal of a task of which nothing was sent. */
  async refusedUnsent(wish: Partial<Submission>): Promise<string> {
    const answer = await this.submit(wish);
    if (answer.accepted) throw new Error('It was accepted.');
    expect(this.server.requests, 'requests').to.have.length(0);
    return answer.failure.code;
  }

  /** Submits a task and polls it until it is over. */
  async ended(wish: Partial<Submission> = {}): Promise<{ readonly reference: string; readonly last: ProviderReport }> {
    const submission = this.task(wish);
    const reference = await submitted(this.provider, submission);
    return { reference, last: (await reportsUntilOver(this.provider, reference, submission)).at(-1)! };
  }

  poll(reference: string): Promise<ProviderReport> {
    return this.provider.poll(reference, this.task({}).settings, WANTED);
  }

  /** All bytes of an output. */
  async output(reference: string, index = 0): Promise<Uint8Array> {
    return collected(await this.provider.output(reference, index, this.task({}).settings, WANTED));
  }

  /** The last report of a task that the fake ends so. */
  async reportOf(
    ending: Fake extends { ending: infer Ending } ? Ending : never,
    settings?: JsonObject,
  ): Promise<ProviderReport> {
    Object.assign(this.fake, { ending });
    return (await this.ended(settings === undefined ? {} : { settings })).last;
  }
}

interface OpenedFor<Fake, Provided> {
  readonly openFake: () => Promise<Fake>;
  readonly providerAt: (base: string) => Provided;
  readonly task: (wish: Partial<Submission>) => Submission;
}

/** Opens a vendor's fake and an instance at it for each test of a suite, and closes them after it. */
export function vendorForEach<Fake extends VendorFake, Provided extends Instance>({
  openFake,
  providerAt,
  task,
}: OpenedFor<Fake, Provided>): OpenedVendor<Fake, Provided> {
  const vendor = new OpenedVendor<Fake, Provided>(task);
  beforeEach(async () => {
    vendor.fake = await openFake();
    vendor.provider = providerAt(vendor.fake.base);
  });
  afterEach(async () => {
    await vendor.provider.close();
    await vendor.fake.close();
  });
  return vendor;
}

/** A driver's own check of the settings of an image model. */
export function settingsFaultOf(driver: ProviderDriver): (settings: JsonObject) => string | undefined {
  return (settings) => driver.settingsFault?.(settings, IMAGE_PLACE);
}

/** Settings with one mistake each, and the sentence that refuses them or a part of it. */
export type WrongSettings = readonly (readonly [JsonObject, string | RegExp])[];

/** Expects that each of the settings is refused in one sentence, the one that is named with it. */
export function expectRefused(faultOf: (settings: JsonObject) => string | undefined, wrong: WrongSettings): void {
  for (const [settings, sentence] of wrong) {
    const fault = faultOf(settings);
    expect(fault, JSON.stringify(settings)).to.match(/^[^\n]+\.$/);
    if (typeof sentence === 'string') expect(fault, JSON.stringify(settings)).to.equal(sentence);
    else expect(fault, JSON.stringify(settings)).to.match(sentence);
  }
}

/** Checks of a connection: the base URL, the options, and the faults that are found with these settings. */
export type Checks = readonly (readonly [
  base: string,
  options: JsonObject,
  settings: readonly JsonObject[],
  faults: readonly (string | RegExp)[],
])[];

/** Expects that each check finds its faults, and that none makes anything. */
export async function expectChecked(
  { server }: VendorFake,
  providerAt: (base: string, options: JsonObject) => Instance,
  checks: Checks,
): Promise<void> {
  for (const [base, options, settings, expected] of checks) {
    const provider = providerAt(base, options);
    const { faults } = (await provider.check?.(settings, WANTED)) ?? { faults: [] };
    expect(faults, JSON.stringify(faults)).to.have.length(expected.length);
    for (const [index, sentence] of expected.entries())
      if (typeof sentence === 'string') expect(faults[index]).to.equal(sentence);
      else expect(faults[index]).to.match(sentence);
    await provider.close();
  }
  expect(server.posts).to.equal(0);
}

/** The error that the work threw, or the value it resolved with. */
export function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}

/** A task for one picture, with what a test wishes. */
export function sampleTask(wish: Partial<Submission> & Pick<Submission, 'settings'>): Submission {
  return {
    generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
    attempt: 1,
    modelKey: 'sd',
    operation: 'image_generation',
    prompt: 'a lighthouse',
    parameters: {},
    references: [],
    token: '7b7d9d2c-40be-4d28-b0f8-0f6c2c8a5a10',
    outputCount: 1,
    timeLeftMs: 60_000,
    ...wish,
  };
}

/** A reference that comes in small pieces, a large one in some. */
export function referenceOf(bytes: Uint8Array, role: ReferenceRole = 'reference_image'): ProviderReference {
  const { byteLength: byteSize } = bytes;
  return {
    role,
    mediaType: 'image/png',
    byteSize,
    open: async () => inPieces(bytes, Math.max(100, byteSize >> 6)),
  };
}

const closes: (() => void)[] = [];

/** The outputs of an answer that must have them, which `closeAnswers` frees. */
export async function outputsOf(answer: Promise<SubmitAnswer>): Promise<readonly SubmittedOutput[]> {
  const given = await answer;
  if (!('outputs' in given)) throw new Error('The answer has no outputs.');
  if (given.close !== undefined) closes.push(given.close);
  return given.outputs;
}

/** Closes the answers whose outputs a test was given, as core does when it has read them. */
export function closeAnswers(): void {
  for (const close of closes.splice(0)) close();
}

/** The options of a driver that have a default, as a configuration without them gives them to it. */
export function defaultsOf(schema: JsonObject): JsonObject {
  const properties = schema['properties'] as Readonly<Record<string, { readonly default?: Json }>>;
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: byDefault }]) =>
      byDefault === undefined ? [] : [[name, byDefault]],
    ),
  );
}
