import type { JsonObject } from '../../../core/json.js';
import type { Log } from '../../../core/log.js';
import type { Provider, Submission } from '../../../core/ports/provider.js';
import type { OpenedRemoteProvider, RemoteProviderSubject } from '../../contracts/remote-provider.contract.js';
import type { FakeServer } from '../../providers/fakes/fake-server.js';
import { recordingLog } from './recording-log.js';

export interface VendorFake {
  readonly server: FakeServer;
  /** What `base_url` of an instance is. */
  readonly base: string;
  close(): Promise<void>;
}

/** A vendor whose fake and instances the contracts open. */
export interface Vendor<Fake extends VendorFake> {
  readonly openFake: () => Promise<Fake>;
  readonly providerAt: (base: string, options: JsonObject, log: Log) => Provider & { close(): Promise<void> };
  readonly tasksOf: (fake: Fake) => number;
  readonly task: (wish: Partial<Submission>) => Submission;
  /** Where the vendor has keys. */
  readonly key?: string;
  /** What `base_url` has after the origin. */
  readonly path?: string;
  /** Whether a task with the prompt "queued" waits until it is cancelled. */
  readonly hasQueue?: true;
}

/** How the contracts open and close instances of a vendor, each on a fake of its own. */
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
