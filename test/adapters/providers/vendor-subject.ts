import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Log } from '../../../core/log.js';
import type {
  Provider,
  ProviderReference,
  ProviderReport,
  Submission,
  SubmitAnswer,
  SubmittedOutput,
} from '../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../contracts/provider.contract.js';
import type { OpenedRemoteProvider, RemoteProviderSubject } from '../../contracts/remote-provider.contract.js';
import { inPieces } from '../../fixtures/byte-streams.js';
import type { FakeServer } from '../../providers/fakes/fake-server.js';

/** A log, and all that was written to it as JSON. */
export function recordingLog(): { readonly log: Log; readonly logged: () => string } {
  const lines: string[] = [];
  const note = (event: string, about: object) => void lines.push(JSON.stringify({ event, ...about }));
  return { log: { info: note, warn: note }, logged: () => lines.join('\n') };
}

export interface VendorFake {
  readonly server: FakeServer;
  /** The `base_url` of an instance. */
  readonly base: string;
  close(): Promise<void>;
}

/** A vendor whose fake and instances the contracts open. */
export interface Vendor<Fake extends VendorFake> {
  readonly openFake: () => Promise<Fake>;
  readonly providerAt: (base: string, options: JsonObject, log: Log) => Provider & { close(): Promise<void> };
  readonly tasksOf: (fake: Fake) => number;
  readonly task: (wish: Partial<Submission>) => Submission;
  /** The vendor's key; absent if the vendor has none. */
  readonly key?: string;
  /** The part of `base_url` after the origin. */
  readonly path?: string;
  /** Whether a task with the prompt "queued" waits until it is cancelled. */
  readonly hasQueue?: true;
}

/** How the contracts open and close instances of a vendor, each on its own fake. */
export function vendorSubject<Fake extends VendorFake>(
  vendor: Vendor<Fake>,
): Pick<RemoteProviderSubject, 'open' | 'close'> {
  const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();
  return {
    async open() {
      const fake = await vendor.openFake();
      const { opened, close } = openedAt(vendor, fake);
      closers.set(opened, async () => {
        await close();
        await fake.close();
      });
      return opened;
    },
    close: async (opened) => closers.get(opened)?.(),
  };
}

function openedAt<Fake extends VendorFake>(
  { providerAt, tasksOf, task, key, path = '', hasQueue }: Vendor<Fake>,
  fake: Fake,
): { readonly opened: OpenedRemoteProvider; readonly close: () => Promise<unknown> } {
  const { log, logged } = recordingLog();
  const made: (Provider & { close(): Promise<void> })[] = [];
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
    openedAt: (origin) => connected(origin + path),
    ...(key === undefined
      ? {}
      : { secret: key, openedWithKey: (other: string) => connected(fake.base, { api_key: other }) }),
    quick: (token) => task({ token }),
    endless: (token) => task({ token, prompt: 'endless' }),
    ...(hasQueue === undefined ? {} : { queued: (token: string) => task({ token, prompt: 'queued' }) }),
    withReference: (token, reference) => task({ token, references: [reference] }),
    logged,
  };
  return { opened, close: () => Promise.all(made.map((provider) => provider.close())) };
}

interface EndingFake extends VendorFake {
  /** How the next tasks end. */
  ending: unknown;
}

interface OpenedFor<Fake, Instance> {
  readonly openFake: () => Promise<Fake>;
  readonly providerAt: (base: string) => Instance;
  readonly task: (wish: Partial<Submission>) => Submission;
}

/** A vendor's fake and an instance at it, of the test that runs. */
export interface OpenedVendor<Fake extends EndingFake, Instance> {
  readonly fake: Fake;
  readonly provider: Instance;
  submit(wish: Partial<Submission>): Promise<SubmitAnswer>;
  /** The last report of a task that ends so. */
  reportOf(ending: Fake['ending'], settings?: JsonObject): Promise<ProviderReport | undefined>;
}

/** Opens a vendor's fake and an instance at it for each test of a suite, and closes them after it. */
export function vendorForEach<Fake extends EndingFake, Instance extends Provider & { close(): Promise<void> }>({
  openFake,
  providerAt,
  task,
}: OpenedFor<Fake, Instance>): OpenedVendor<Fake, Instance> {
  let fake: Fake;
  let provider: Instance;
  beforeEach(async () => {
    fake = await openFake();
    provider = providerAt(fake.base);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });
  return {
    get fake() {
      return fake;
    },
    get provider() {
      return provider;
    },
    submit: (wish) => provider.submit(task(wish), WANTED),
    async reportOf(ending, settings) {
      fake.ending = ending;
      const submission = task(settings === undefined ? {} : { settings });
      const reference = await submitted(provider, submission);
      return (await reportsUntilOver(provider, reference, submission)).at(-1);
    },
  };
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
