import type { PromptRule } from '../core/catalog/model.js';
import type { Modality, ReferenceRole } from '../core/generation/generation.js';
import type { Json, JsonObject } from '../core/json.js';
import type { Log } from '../core/log.js';
import type { MemoryBudget } from '../core/memory-budget.js';
import type { Clock } from '../core/ports/machine.js';
import type { ObjectStore } from '../core/ports/object-store.js';
import type { OutputSigner } from '../core/ports/output-signer.js';
import type { Provider, ProviderCapabilities } from '../core/ports/provider.js';
import type { GenerationChanges } from '../core/ports/stores.js';
import type { DatabasePort, Ports } from '../core/ports/ports.js';
import type { WakeUps } from '../core/ports/wake-ups.js';
import type { CatalogImport } from './catalog-import.js';
import type { DatabaseBackup, ObjectsBackup } from './driver-backup.js';
import type { CopiedRow, CopiedTableName } from './copied-tables.js';
import type { SignedObjectGate } from './signed-object-gate.js';

/**
 * The values of a driver's own section: checked by its schema, with defaults filled in. An option without a default may be
 * absent.
 */
export type Options = JsonObject;

interface DriverBase {
  /** The name in the configuration: lower-case letters, digits, hyphens and underscores. */
  readonly name: string;
  /**
   * JSON Schema 2020-12 of an object: each property is one option, in snake_case with its unit last, with a
   * self-contained schema (no `$ref` out of it). `required` options must be given where the driver is chosen.
   * `writeOnly` marks a secret, whose value no message repeats. `errorMessage` ("must be …") replaces the sentence that
   * follows from the schema.
   */
  readonly options: JsonObject;
}

/** A driver of a store that keeps data. */
interface StoreDriverBase extends DriverBase {
  /** The thing that several processes cannot share, as a sentence names it: "a SQLite file". Absent where they can. */
  readonly unshared?: string;
  /**
   * It keeps everything in the data folder. A database there keeps the folder to one server and closes it to other users
   * when it is opened for a server; beside another database, the program does that for the objects. Objects there must
   * have a `backup`.
   */
  readonly isInDataFolder?: true;
}

/** The parameters of every driver. */
export interface Opening {
  readonly options: Options;
  /** Absolute; it may not exist yet. */
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A server has exclusive use of a data folder; a tool works beside it. */
export type OpenedAs = 'server' | 'tool';

/** Shared things by name, such as `wake-up-table`, for wake-ups that keep theirs in the database. */
export type Lent = Readonly<Record<string, unknown>>;

/** The ports that a database serves. Without `acceptances` generations are accepted by one write after the other. */
export type DatabaseStores = Omit<Pick<Ports, DatabasePort>, 'acceptances'> & Partial<Pick<Ports, 'acceptances'>>;

/** Fingerprints that a database keeps from its first use. */
export interface InstallationFacts {
  readonly secret: string;
  readonly objects: string;
}

export type ComparedFacts = 'same' | { readonly other: keyof InstallationFacts };

/** Compares the facts that a caller knows with the existing ones. */
export function compareFacts(
  existing: InstallationFacts,
  { secret = existing.secret, objects = existing.objects }: Partial<InstallationFacts>,
): ComparedFacts {
  if (existing.secret !== secret) return { other: 'secret' };
  return existing.objects === objects ? 'same' : { other: 'objects' };
}

/** Keeps the facts in a database. Throws `StoreUnavailable`. */
export interface Installation {
  /** Compares the known facts, and writes nothing. */
  check(facts: Partial<InstallationFacts>): Promise<ComparedFacts>;
  /** The first claim is written durably; any later one is compared with it. */
  claim(facts: InstallationFacts): Promise<ComparedFacts>;
}

/** `keepsLock`: work continues in this process, so its exclusive folder is not released before the process ends. */
export interface CloseOptions {
  readonly keepsLock?: boolean;
}

/** The database behind the stores, open. */
export interface OpenDatabase {
  readonly stores: DatabaseStores;
  /** The things that the driver `lends`. */
  readonly lent: Lent;
  readonly installation: Installation;
  /** Reports the writes of other processes. Absent where the database cannot, or there are none. */
  readonly generationChanges?: GenerationChanges;
  /** Whether no other process takes leases and claims in it while this one is open, and the one before has ended. */
  readonly isExclusive: boolean;
  /**
   * All rows of a table, some at a time; each once, if nothing is written meanwhile. Throws `StoreUnavailable`. Absent where an
   * installation cannot be copied from this database.
   */
  rows?(table: CopiedTableName): AsyncIterable<readonly CopiedRow[]>;
  /** Whether it responds and accepts writes. Never throws. */
  isReady(): Promise<boolean>;
  /** Deferred work of the store itself, a bounded piece of it. Throws `StoreUnavailable`. */
  tidy(): Promise<void>;
  close(options?: CloseOptions): Promise<void>;
}

/** A database that an installation is copied into. Methods throw one sentence, and `StoreUnavailable`. */
export interface CopyTarget {
  /** The stores that show whether the ledgers of the copy are right. */
  readonly stores: Pick<DatabaseStores, 'accounts' | 'generations' | 'usage'>;
  readonly installation: Installation;
  /** Removes what an interrupted copy has left. From now on no process opens the database, until `finish`. */
  begin(): Promise<void>;
  /** Adds rows, at most `ROWS_AT_ONCE`. Durable on return. */
  write(table: CopiedTableName, rows: readonly CopiedRow[]): Promise<void>;
  rows(table: CopiedTableName): AsyncIterable<readonly CopiedRow[]>;
  /** The copy is complete: the database may be used. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** How sentences and log lines name a database. Never holds a secret. */
export interface DatabasePlace {
  /** "Database … was first used with …". */
  readonly name: string;
  /** The configuration key that selects another one. */
  readonly key: string;
  /** The subject of "… is ready". */
  readonly text: string;
  /** For the log and for JSON output, names in snake_case. */
  readonly facts: Readonly<Record<string, string>>;
}

export interface DatabaseDriver extends StoreDriverBase {
  readonly kind: 'database';
  /** Names of what an open database lends to wake-ups. */
  readonly lends: readonly string[];
  /** Absent if the database has its own backup tools, which `backupTools` names. */
  readonly backup?: DatabaseBackup;
  readonly backupTools?: string;
  /**
   * The option that bounds one call, and its value: leases must not be shorter. Absent for a store that answers
   * immediately.
   */
  longestCall?(options: Options): { readonly option: string; readonly timeoutMs: number };
  /** The option that bounds the connections of one process, and its value. */
  connections?(options: Options): { readonly option: string; readonly count: number };
  place(opening: Pick<Opening, 'options' | 'dataFolder'>): DatabasePlace;
  /** Whether there is a database already, of a kind that is made when it is opened. */
  isMade?(opening: Pick<Opening, 'options' | 'dataFolder'>): boolean;
  /** Throws one sentence when it cannot be used, and `StoreUnavailable` when it does not answer. */
  open(opening: Opening & { readonly as: OpenedAs }): Promise<OpenDatabase>;
  /** The same by reading alone: nothing is made or brought up to date. */
  inspect(opening: Opening): Promise<OpenDatabase>;
  /**
   * Takes an empty database and one of an older release as well, by reading alone; undefined for one that only has to
   * be made.
   */
  inspectBeforeMigration(opening: Opening): Promise<OpenDatabase | undefined>;
  /**
   * Creates what is missing, and returns a line for each thing created. Safe to repeat, beside running processes.
   * `beside` is called last, with what the database lends, and sets up what wake-ups need in it.
   */
  migrate(opening: Opening, beside: (lent: Lent) => Promise<readonly string[]>): Promise<readonly string[]>;
  /**
   * Makes the database ready for the copy of an installation. Throws one sentence if it is in use. Absent where no installation
   * can be copied to.
   */
  openCopyTarget?(opening: Opening): Promise<CopyTarget>;
}

/** Thrown when the place that objects are kept in does not exist. */
export class ObjectsMissing extends Error {
  /** The place by kind ("bucket") and by name; the key that names it. */
  constructor(
    message: string,
    readonly place: { readonly kind: string; readonly name: string; readonly key: string },
  ) {
    super(message);
    this.name = 'ObjectsMissing';
  }
}

/** The parameters of `inspect` and `migrate` of objects. */
export interface ObjectsInspection extends Opening {
  /** The longest that a signed address lives, in milliseconds. */
  readonly longestAddressMs: number;
}

export interface ObjectsOpening extends ObjectsInspection {
  readonly as: OpenedAs;
  /** Signs the addresses of stores without their own signing keys. */
  readonly secret: Uint8Array;
  /** The URL at which clients reach the REST front; signed addresses of a store without a server begin with it. */
  readonly publicUrl: () => string;
  /** Whether bytes that a client sends to a key are still needed. */
  readonly takesBytes: (key: string) => Promise<boolean>;
}

/** An open object store. */
export interface OpenObjects {
  readonly store: ObjectStore;
  /** Serves signed addresses, for a store without its own server. */
  readonly signedObjects?: SignedObjectGate;
  /**
   * An id that is kept with the objects from its first use, so that a database is never used with others. Absent in the
   * data folder.
   */
  identity?(): Promise<string>;
  close?(): Promise<void>;
}

export interface InspectedObjects {
  /** The id that `identity` of the open store returns; absent if there is none yet. */
  readonly identity?: string;
  /** The missing thing, as "There is no …", without a full stop; a migration makes it. */
  readonly unmade?: string;
}

export interface ObjectsDriver extends StoreDriverBase {
  readonly kind: 'objects';
  readonly backup?: ObjectsBackup;
  /** One sentence for each thing in the options that contradicts another. */
  faults?(options: Options): readonly string[];
  /**
   * A tool opens it without asking a server. Throws `ObjectsMissing`, one sentence when it cannot be used, and
   * `StoreUnavailable`.
   */
  open(opening: ObjectsOpening): Promise<OpenObjects>;
  /** Only reads. Throws as `open` does. */
  inspect(opening: ObjectsInspection): Promise<InspectedObjects>;
  /** Creates what is missing, and returns a line for each thing created. Safe to repeat, beside running processes. */
  migrate(opening: ObjectsInspection): Promise<readonly string[]>;
}

export interface WakeUpsOpening extends Opening {
  /** The things that the open database lends. */
  readonly lent: Lent;
}

export interface WakeUpsDriver extends DriverBase {
  readonly kind: 'wake-ups';
  readonly unshared?: string;
  /** Names what the database must lend; of several names, one. */
  readonly borrows?: string | readonly string[];
  /** Connections of one process that the database must allow, where it bounds them. */
  readonly minConnections?: number;
  /**
   * Throws one sentence when the database is not ready for it, and `StoreUnavailable`. `close` ends what was opened, also
   * in a process that never starts the wake-ups.
   */
  open(opening: WakeUpsOpening): Promise<WakeUps & { close?(): Promise<void> }>;
  /** Checks, by reading only, whether `open` would succeed. Throws as `open` does. */
  inspect(opening: WakeUpsOpening): Promise<void>;
  /** Creates what is missing in the database, and returns a line for each thing created. */
  migrate(lent: Lent): Promise<readonly string[]>;
}

export interface ProviderOpening extends Opening {
  /** The name that the configuration gives this instance, and a model's `provider`. */
  readonly instance: string;
  /** Absolute; the folder of the catalog file, where paths in a model's `provider_settings` begin. */
  readonly catalogFolder: string;
  /** The memory for reference files and outputs, shared by everything that decodes in this process. */
  readonly memory: MemoryBudget;
}

/** The instance that a model's `provider_settings` are for, the catalog they are in, and what the model makes. */
export interface SettingsPlace extends Pick<ProviderOpening, 'catalogFolder'> {
  readonly options: Options;
  readonly modality: Modality;
  /** The parameter names in the model's `input_schema`, and those that its `limits` also let clients send. */
  readonly parameters: readonly string[];
  readonly takesNegativePrompt: boolean;
  readonly referenceRoles: readonly ReferenceRole[];
  /** A role for each file that a request needs at least. */
  readonly requiredRoles: readonly ReferenceRole[];
  /** The most reference files of a request. */
  readonly maxReferenceUploads: number;
  /** Whether requests have a prompt; one of a model with `none` is never sent. */
  readonly promptRule: PromptRule;
}

/** A value of a parameter that clients may send, and that the settings cannot. */
export interface RefusedValue {
  readonly parameter: string;
  readonly value: Json;
}

export interface ProviderDriver extends DriverBase {
  readonly kind: 'provider';
  /**
   * The fault of a model's `provider_settings`, as one sentence; undefined if they can be used. It may read files
   * named in them. `formatFault` of `core/media/image-header.ts` knows which output formats cannot be delivered. When
   * absent, all settings are accepted.
   */
  settingsFault?(settings: JsonObject, place: SettingsPlace): string | undefined;
  /**
   * The names of the parameters that a model with these settings sends on. `catalog check` warns of all others,
   * because they have no effect. When absent, all parameters are assumed to be sent.
   */
  parametersSent?(settings: JsonObject): readonly string[];
  /**
   * Values that this `input_schema` allows and a model with these settings refuses, as far as they are found without trying
   * all; one for each parameter. `catalog check` warns of them, because their generations fail. When absent, none is known.
   */
  refusedValues?(settings: JsonObject, inputSchema: JsonObject): readonly RefusedValue[];
  /** It sends the number of outputs itself, whichever parameter has it. */
  readonly sendsCount?: true;
  /**
   * The capabilities of an instance with these options for a model with these settings, as the open provider reports
   * them. When absent, `catalog check` cannot show them. Paths in the settings are relative to `catalogFolder`.
   */
  capabilities?(settings: JsonObject, options: Options, catalogFolder: string): ProviderCapabilities;
  /** Only built-in drivers can have it; absent where models are written by hand. */
  readonly imports?: CatalogImport;
  /**
   * Opens one instance without calling a server, because tools must work while the provider is unavailable. Throws
   * one sentence for options that cannot work.
   */
  open(opening: ProviderOpening): Promise<Provider & { close?(): Promise<void> }>;
}

/** Signs outputs. No signer is built in; a module supplies one. */
export interface SignerDriver extends DriverBase {
  readonly kind: 'signer';
  /** Called only in a process that runs generations. Throws one sentence for options that cannot work, such as a key file that is missing. */
  open(opening: Opening): Promise<OutputSigner & { close?(): Promise<void> }>;
}

export type StoreDriver = DatabaseDriver | ObjectsDriver | WakeUpsDriver;
export type Driver = StoreDriver | SignerDriver | ProviderDriver;

/** Non-empty text, for the schema of an option. */
export const FILLED_TEXT = { type: 'string', pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$' } as const;
