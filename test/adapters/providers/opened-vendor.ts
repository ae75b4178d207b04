import type { JsonObject } from '../../../core/json.js';
import type { Provider, ProviderReport, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../contracts/provider.contract.js';
import type { VendorFake } from './vendor-subject.js';

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

/** What work has thrown, or what it resolved with. */
export function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}
