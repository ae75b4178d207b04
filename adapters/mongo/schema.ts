/** Incremented by every release that changes the schema below or the form of a document. */
export const SCHEMA_VERSION = 15;

/**
 * The oldest program version that may use a database of this version. It does not change while migrations only add,
 * so that processes of earlier releases can keep running or be restored; a release raises it when earlier processes
 * would damage its data.
 */
export const READABLE_FROM = 1;

/**
 * The first version that reads many ledger entries in one document. A new database requires at least this version,
 * because no process of an earlier release can be using it; in other databases each entry is written to a document of
 * its own until a later release raises `READABLE_FROM`.
 */
export const READS_GROUPS_FROM = 8;

/** The collection of the schema's version and the installation's fingerprints, one document each, found by `_id`. */
export const INSTALLATION = 'installation';

export interface IndexDefinition {
  readonly name: string;
  readonly keys: Readonly<Record<string, 1 | -1>>;
  readonly unique?: true;
  /** Only documents that match this are in the index. */
  readonly where?: Readonly<Record<string, unknown>>;
  readonly why: string;
}

export interface CollectionDefinition {
  /** The shard key, which every write contains. `null` means that the collection is small and stays on one shard. */
  readonly shardKey: Readonly<Record<string, 'hashed'>> | null;
  readonly indexes: readonly IndexDefinition[];
}

/** The index every collection has on `_id`, by the name the server gives it. */
export const BY_ID = '_id_';

/**
 * Every collection, how it may be sharded, and every index. `darkroom migrate` creates them, opening a database
 * checks them, and each query names its index as a hint, so that no plan depends on the server's choice and a lost
 * index is an error instead of a scan. There are no TTL indexes: a claim, an upload's record or a tombstone that is
 * removed a moment early would let an operation happen twice, so recovery removes expired records by the service's
 * own clock.
 */
export const SCHEMA = {
  accounts: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'holds_by_time', keys: { 'holds.heldAt': 1 }, why: 'recovery looks for old holds of all accounts' },
      {
        name: 'accounts_by_outbox',
        keys: { 'outbox.0.at': 1 },
        where: { 'outbox.0.at': { $exists: true } },
        why: 'workers look for accounts whose oldest entry has waited in them for long',
      },
    ],
  },
  entries: {
    // The ledger of one account is on one shard; its ids begin with the account's, and are unique there.
    shardKey: { account: 'hashed' },
    indexes: [
      {
        name: 'entries_by_operation',
        keys: { account: 1, operation: 1 },
        where: { operation: { $exists: true } },
        // Not unique: that an operation happens once is decided where its entry is written, on the account.
        why: 'what an operator did is found by its operation id',
      },
    ],
  },
  generations: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'generations_by_attention', keys: { attentionAt: 1, _id: 1 }, why: 'recovery looks for what is due' },
      {
        name: 'generations_by_account',
        keys: { account: 1, _id: -1, app: 1 },
        where: { kind: 'generation' },
        why: 'clients list the generations of an account, or of one App, newest first',
      },
      {
        name: 'generations_by_app',
        keys: { app: 1, createdAt: -1, _id: -1 },
        where: { kind: 'generation' },
        why: 'clients list the generations of their App, newest first',
      },
      {
        name: 'generations_by_status',
        keys: { app: 1, status: 1, createdAt: -1, _id: -1 },
        where: { kind: 'generation' },
        why: 'clients list those of their App that have a status',
      },
      {
        name: 'generations_by_model',
        keys: { app: 1, model: 1, createdAt: -1, _id: -1 },
        where: { kind: 'generation' },
        why: 'clients list those of their App that a model made',
      },
      {
        name: 'generations_by_trace',
        keys: { app: 1, trace: 1, createdAt: -1, _id: -1 },
        where: { trace: { $exists: true } },
        why: 'clients find those of their App that have a trace id of their own',
      },
      {
        name: 'generations_uncharged',
        keys: { account: 1, unchargedBytes: 1 },
        where: { unchargedBytes: { $gt: 0 } },
        why: 'a create sums the content that its account keeps without charge',
      },
      {
        name: 'generations_thumbnails',
        keys: { account: 1, thumbnailBytes: 1 },
        where: { thumbnailBytes: { $gt: 0 } },
        why: 'operators see what the thumbnails of an account take',
      },
      {
        name: 'generations_open',
        keys: { openState: 1, model: 1, openProvider: 1, createdAt: 1 },
        // Every state; from an index of fields that only exist a server does not count without the documents.
        where: { openState: { $gt: '' } },
        why: 'scrapes count the generations that have not ended',
      },
    ],
  },
  // One document for each generation whose words are searched, and for each that had its words removed.
  search_entries: {
    shardKey: { _id: 'hashed' },
    indexes: [
      {
        name: 'search_by_term',
        keys: { account: 1, terms: 1 },
        where: { account: { $exists: true } },
        why: 'people find the generations of their account that have a word',
      },
      {
        name: 'search_by_account',
        keys: { account: 1, _id: -1 },
        where: { account: { $exists: true } },
        why: 'people find those with common words, newest first',
      },
    ],
  },
  search_progress: { shardKey: null, indexes: [] },
  claims: {
    shardKey: { _id: 'hashed' },
    indexes: [{ name: 'claims_by_removal', keys: { removeAt: 1 }, why: 'recovery removes what has expired' }],
  },
  fingerprints: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'fingerprints_by_account', keys: { account: 1 }, why: 'an erasure removes those of an account' },
      { name: 'fingerprints_by_removal', keys: { removeAt: 1 }, why: 'recovery removes what has expired' },
    ],
  },
  // One document for each process that requests wait in, and for those of the last day.
  boot_leases: {
    shardKey: null,
    indexes: [{ name: 'boot_leases_by_removal', keys: { removeAt: 1 }, why: 'recovery removes what has expired' }],
  },
  uploads: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'uploads_by_attention', keys: { attentionAt: 1, _id: 1 }, why: 'recovery looks for what is due' },
      {
        name: 'uploads_by_app',
        keys: { account: 1, app: 1, unfinished: 1, bytes: 1 },
        where: { unfinished: { $gte: 0 } },
        why: 'a prepare sums what its App stores',
      },
      {
        name: 'uploads_by_account',
        keys: { account: 1, _id: 1 },
        where: { unfinished: { $gte: 0 } },
        why: 'an erasure lists the uploads of an account',
      },
    ],
  },
  apps: {
    shardKey: { _id: 'hashed' },
    indexes: [{ name: 'apps_by_account', keys: { account: 1, _id: 1 }, why: 'operators list the Apps of an account' }],
  },
  keys: {
    // Unique by id and by digest alike, and an index is unique over all shards only if it begins with the shard key.
    shardKey: null,
    indexes: [
      { name: 'keys_by_digest', keys: { digest: 1 }, unique: true, why: 'every request finds its key by digest' },
      { name: 'keys_by_account', keys: { account: 1, _id: 1 }, why: 'operators list the keys of an account' },
    ],
  },
  people: {
    // Unique by id and by e-mail address alike; people are few.
    shardKey: null,
    indexes: [
      { name: 'people_by_email', keys: { email: 1 }, unique: true, why: 'a person signs in by e-mail address' },
      { name: 'people_by_account', keys: { account: 1, _id: 1 }, why: 'operators list the people of an account' },
    ],
  },
  identities: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'identities_by_person', keys: { person: 1, linkedAt: 1 }, why: 'a person sees how they can sign in' },
    ],
  },
  artefacts: {
    // A group is ended on all of its artefacts by one write.
    shardKey: null,
    indexes: [
      {
        name: 'artefacts_by_group',
        keys: { group: 1 },
        where: { group: { $exists: true } },
        why: 'all of a grant ends together',
      },
      {
        name: 'artefacts_by_owner',
        keys: { owner: 1, createdAt: -1 },
        where: { owner: { $exists: true } },
        why: 'a person sees their sessions',
      },
      {
        name: 'artefacts_by_alias',
        keys: { alias: 1, createdAt: -1 },
        where: { alias: { $exists: true } },
        why: 'a device is found by the code that its user types',
      },
      { name: 'artefacts_by_removal', keys: { removeAt: 1 }, why: 'recovery removes what has expired' },
    ],
  },
  ended_groups: {
    shardKey: null,
    indexes: [{ name: 'ended_groups_by_removal', keys: { removeAt: 1 }, why: 'recovery removes what has expired' }],
  },
  // One document for each connected provider, found by its name.
  provider_uses: { shardKey: null, indexes: [] },
  // One document for each half hour of eight days, found by its slot.
  half_hours: { shardKey: null, indexes: [] },
  // One document for each App that has endpoints, found by the App's id.
  webhook_endpoints: { shardKey: { _id: 'hashed' }, indexes: [] },
  deliveries: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'deliveries_by_attention', keys: { attentionAt: 1, _id: 1 }, why: 'recovery looks for what is due' },
      {
        name: 'deliveries_by_endpoint',
        keys: { endpoint: 1, createdAt: -1, _id: -1 },
        why: 'clients list what an endpoint was told, newest first',
      },
      {
        name: 'deliveries_by_app',
        keys: { app: 1, createdAt: -1, _id: -1 },
        why: 'people list what the endpoints of an App were told',
      },
      {
        name: 'deliveries_by_account',
        keys: { account: 1, createdAt: -1, _id: -1 },
        why: 'people list what the endpoints of their account were told, and an erasure removes it',
      },
      {
        name: 'deliveries_by_generation',
        keys: { generation: 1, createdAt: -1, _id: -1 },
        why: 'people list what was told of a generation, and an erasure removes it',
      },
    ],
  },
  // The sums of the entries of a ledger; the rows of one account are on one shard, their ids begin with its id.
  usage: { shardKey: { account: 'hashed' }, indexes: [] },
  usage_by_trace: {
    shardKey: { account: 'hashed' },
    indexes: [
      {
        name: 'usage_by_app_trace',
        keys: { appUse: 1, _id: 1 },
        where: { appUse: { $exists: true } },
        why: 'a connected program lists the use of its own App, by trace id',
      },
    ],
  },
  erasures: {
    shardKey: { _id: 'hashed' },
    indexes: [
      { name: 'erasures_by_attention', keys: { attentionAt: 1, _id: 1 }, why: 'recovery looks for what is due' },
    ],
  },
  wake_ups: {
    shardKey: { _id: 'hashed' },
    indexes: [{ name: 'wake_ups_by_time', keys: { at: 1, _id: 1 }, why: 'timers look for what is due' }],
  },
  [INSTALLATION]: { shardKey: null, indexes: [] },
} as const satisfies Record<string, CollectionDefinition>;

export type CollectionName = keyof typeof SCHEMA;

/** The collections with their definitions, for those who go through all of them. */
export function schemaCollections(): readonly (readonly [name: CollectionName, definition: CollectionDefinition])[] {
  return Object.entries(SCHEMA) as [CollectionName, CollectionDefinition][];
}
