import type { TaskErrorCode } from '../../../core/generation/generation.js';
import type {
  Provider,
  ProviderCapabilities,
  ProviderReference,
  RefusedBecause,
  Submission,
} from '../../../core/ports/provider.js';
import type { FakeServer } from '../../providers/fakes/fake-server.js';
import type { OpenedProvider } from '../provider.contract.js';
import type { ContractSubject } from '../subject.js';

/** A provider that is connected to a fake of its vendor. */
export interface OpenedRemoteProvider extends OpenedProvider {
  /**
   * The fake, which nothing was sent to yet. Its routes say what they are `of`: a submission is one request that is `of`
   * submit, and each request that answers `poll`, `output`, `cancel`, `recover` or `check` is of that; one request may
   * be of several. Uploads before a submission are `of` upload.
   */
  readonly server: FakeServer;
  /** How many tasks the vendor has taken. */
  readonly tasks: () => number;
  /** The key that the provider sends, if its vendor has keys; a word that nothing else has in it. */
  readonly secret?: string;
  /** Another instance with the same options, as another process opens it. */
  readonly reopened: () => Provider | Promise<Provider>;
  /**
   * Another instance whose server has this origin, and which waits for a connection for a second at most. Everything
   * else is the same.
   */
  readonly openedAt: (origin: string) => Provider | Promise<Provider>;
  /** Another instance with this key; absent where the vendor has none. */
  readonly openedWithKey?: (key: string) => Provider | Promise<Provider>;
  /** A small task with this reference; absent if the vendor accepts none. */
  readonly withReference?: (token: string, reference: ProviderReference) => Submission;
  /** A task that waits at the vendor until it is cancelled; needed where the promises say that it can be. */
  readonly queued?: (token: string) => Submission;
  /** The provider's log so far; absent if it logs nothing. */
  readonly logged?: () => string;
}

export interface RemoteProviderSupports {
  /** The capabilities that the provider must report for the settings of its tasks. */
  readonly capabilities: ProviderCapabilities;
  /** Whether a finished task reports its cost. */
  readonly cost: boolean;
  /** Whether `check` can tell a wrong key from the right one. */
  readonly checksKey: boolean;
  /**
   * Whether errors of the vendor are read as `policyRefusalIn` does it, in an answer of any status, and whether failed calls
   * say what the server asks for; see `FailedCallHints`.
   */
  readonly readsErrors?: true;
  /**
   * Whether the answer about a task has its status as the member `status`; `listed` where the operator lists the words, so
   * that those of other vendors are not known.
   */
  readonly hasStatusWord?: true | 'listed';
  /** Whether an output is a file with its own URL, whose redirects are followed. */
  readonly followsRedirects?: true;
  /** How many bytes of an endless answer about a task the provider may take at most; 16 MiB when absent. */
  readonly maxAnswerBytes?: number;
}

/** A refusal in the vendor's own shape, and what the provider must answer. */
export interface RefusalCase {
  readonly name: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON; the words of its texts must not come back. */
  readonly body: object;
  readonly code: TaskErrorCode;
  readonly because?: RefusedBecause;
  readonly retryAfterMs?: number;
}

/** A task that the vendor takes and that then fails. */
export interface FailureCase {
  readonly name: string;
  readonly task: (opened: OpenedRemoteProvider, token: string) => Submission;
  readonly code: TaskErrorCode;
}

export interface RemoteProviderSubject extends ContractSubject<OpenedRemoteProvider, RemoteProviderSupports> {
  /** How the vendor refuses submissions. At least its lack of capacity, with status 429, where it says that. */
  readonly refusals: readonly RefusalCase[];
  readonly failures: readonly FailureCase[];
  /** A task that delivers fewer outputs than were asked for; absent where the vendor has none. */
  readonly partial?: {
    readonly task: (opened: OpenedRemoteProvider, token: string) => Submission;
    readonly outputs: number;
  };
}
