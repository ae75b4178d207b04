import { claimKeyDigest } from '../rows/tables.js';
import { DataFolderRefused, DataFolderUnmade } from './data-folder.js';
import type { Database } from './database.js';

/**
 * Forward migrations; the number of the last one applied is the file's `user_version`. A released migration is never
 * edited: a change of the schema is one more element. Ids are UUIDs as 16-byte blobs, times milliseconds, amounts whole
 * credits.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE accounts (
    id BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL,
    issued INTEGER NOT NULL, available INTEGER NOT NULL, reserved INTEGER NOT NULL, spent INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL, name TEXT NOT NULL, currency TEXT NOT NULL, created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE holds (
    account BLOB NOT NULL, generation BLOB NOT NULL, credits INTEGER NOT NULL, held_at INTEGER NOT NULL,
    PRIMARY KEY (account, generation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX holds_by_time ON holds (held_at, account, generation);

  CREATE TABLE entries (
    account BLOB NOT NULL, sequence INTEGER NOT NULL, kind TEXT NOT NULL, from_book TEXT NOT NULL, to_book TEXT NOT NULL,
    credits INTEGER NOT NULL, at INTEGER NOT NULL, available_after INTEGER NOT NULL,
    generation BLOB, operation_id TEXT, reason TEXT,
    PRIMARY KEY (account, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX entries_by_operation ON entries (account, operation_id) WHERE operation_id IS NOT NULL;

  CREATE TABLE generations (
    id BLOB NOT NULL PRIMARY KEY, account BLOB NOT NULL, app BLOB NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, attention_at INTEGER NOT NULL, doc TEXT NOT NULL
  ) STRICT;
  CREATE INDEX generations_by_attention ON generations (attention_at, id);
  CREATE INDEX generations_by_account ON generations (account, id, app) WHERE kind = 'generation';

  CREATE TABLE claims (
    account BLOB NOT NULL, app BLOB NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL,
    version INTEGER NOT NULL, digest TEXT NOT NULL, subject BLOB NOT NULL,
    created_at INTEGER NOT NULL, lease_expires_at INTEGER NOT NULL, remove_at INTEGER NOT NULL,
    PRIMARY KEY (account, app, operation, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX claims_by_removal ON claims (remove_at);

  CREATE TABLE uploads (
    id BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL, attention_at INTEGER NOT NULL, doc TEXT NOT NULL
  ) STRICT;
  CREATE INDEX uploads_by_attention ON uploads (attention_at, id);

  CREATE TABLE apps (
    id BLOB NOT NULL PRIMARY KEY, account BLOB NOT NULL, name TEXT NOT NULL, created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX apps_by_account ON apps (account, id);

  CREATE TABLE keys (
    id BLOB NOT NULL PRIMARY KEY, account BLOB NOT NULL, app BLOB NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX keys_by_account ON keys (account, id);

  CREATE TABLE wake_ups (generation BLOB NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX wake_ups_by_time ON wake_ups (at, generation);
  `,
  // Fingerprints of the file's first use, at most one row.
  `
  CREATE TABLE installation (
    row INTEGER NOT NULL PRIMARY KEY CHECK (row = 1), secret TEXT NOT NULL, objects TEXT NOT NULL
  ) STRICT;
  `,
  `
  ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;
  ALTER TABLE keys ADD COLUMN last_used_at INTEGER;
  `,
  // The storage of accounts and Apps, summed from indexes alone. Generations of before end as they were to: none of them
  // counts.
  `
  ALTER TABLE generations ADD COLUMN uncharged_bytes INTEGER;
  CREATE INDEX generations_uncharged ON generations (account, uncharged_bytes) WHERE uncharged_bytes IS NOT NULL;

  ALTER TABLE uploads ADD COLUMN account BLOB;
  ALTER TABLE uploads ADD COLUMN app BLOB;
  ALTER TABLE uploads ADD COLUMN unfinished INTEGER;
  ALTER TABLE uploads ADD COLUMN bytes INTEGER;
  UPDATE uploads SET account = unhex(doc ->> 'accountId', '-'), app = unhex(doc ->> 'appId', '-'),
    unfinished = (doc ->> 'status') = 'prepared', bytes = doc ->> 'byteSize'
  WHERE (doc ->> 'kind') = 'upload';
  CREATE INDEX uploads_by_app ON uploads (account, app, unfinished, bytes) WHERE account IS NOT NULL;
  `,
  // The boot of the server that took a claim.
  'ALTER TABLE claims ADD COLUMN boot BLOB',
  // The use of credits, and the user.
  `
  ALTER TABLE holds ADD COLUMN credential TEXT;
  ALTER TABLE holds ADD COLUMN model TEXT;
  ALTER TABLE holds ADD COLUMN trace TEXT;
  ALTER TABLE entries ADD COLUMN credential TEXT;
  ALTER TABLE entries ADD COLUMN model TEXT;
  ALTER TABLE entries ADD COLUMN trace TEXT;
  `,
  // Wake-ups of any kind of subject, by its key: that of a generation is its id as text.
  `
  ALTER TABLE wake_ups RENAME TO wake_ups_by_generation;
  CREATE TABLE wake_ups (subject TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO wake_ups SELECT lower(
    substr(hex(generation), 1, 8) || '-' || substr(hex(generation), 9, 4) || '-' || substr(hex(generation), 13, 4) || '-'
    || substr(hex(generation), 17, 4) || '-' || substr(hex(generation), 21)), at FROM wake_ups_by_generation;
  DROP TABLE wake_ups_by_generation;
  CREATE INDEX wake_ups_by_time ON wake_ups (at, subject);
  `,
  // Spending caps, and what capped credentials have used.
  `
  ALTER TABLE keys ADD COLUMN monthly_cap INTEGER;
  ALTER TABLE holds ADD COLUMN cap_period TEXT;
  ALTER TABLE entries ADD COLUMN cap_period TEXT;
  CREATE TABLE cap_uses (
    account BLOB NOT NULL, credential TEXT NOT NULL, period TEXT NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (account, credential)
  ) STRICT, WITHOUT ROWID;
  `,
  // People, and what secrets in their hands stand for.
  `
  CREATE TABLE people (
    id BLOB NOT NULL PRIMARY KEY, account BLOB NOT NULL, version INTEGER NOT NULL, email TEXT NOT NULL UNIQUE, doc TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX people_by_account ON people (account, id);
  CREATE TABLE identities (
    issuer TEXT NOT NULL, subject TEXT NOT NULL, person BLOB NOT NULL, linked_at INTEGER NOT NULL, PRIMARY KEY (issuer, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX identities_by_person ON identities (person, linked_at);

  CREATE TABLE artefacts (
    kind TEXT NOT NULL, id TEXT NOT NULL, grp TEXT, owner TEXT, alias TEXT, data TEXT NOT NULL, created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, remove_at INTEGER NOT NULL, consumed_at INTEGER, ended_at INTEGER, PRIMARY KEY (kind, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX artefacts_by_group ON artefacts (grp) WHERE grp IS NOT NULL;
  CREATE INDEX artefacts_by_owner ON artefacts (kind, owner, created_at) WHERE owner IS NOT NULL;
  CREATE INDEX artefacts_by_alias ON artefacts (kind, alias, created_at) WHERE alias IS NOT NULL;
  CREATE INDEX artefacts_by_removal ON artefacts (remove_at);
  CREATE TABLE ended_groups (grp TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, remove_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_groups_by_removal ON ended_groups (remove_at);
  `,
  // The state that workers share about each connected provider.
  `
  CREATE TABLE provider_uses (provider TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, doc TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // The columns by which an App's generations are listed. Tombstones are in none of the lists: their columns are null.
  `
  ALTER TABLE generations ADD COLUMN created_at INTEGER;
  ALTER TABLE generations ADD COLUMN status TEXT;
  ALTER TABLE generations ADD COLUMN model TEXT;
  ALTER TABLE generations ADD COLUMN trace TEXT;
  UPDATE generations SET created_at = doc ->> 'createdAt', status = doc ->> 'status', model = doc ->> 'modelKey',
    trace = doc ->> 'clientTraceId' WHERE kind = 'generation';
  CREATE INDEX generations_by_app ON generations (app, created_at, id) WHERE created_at IS NOT NULL;
  CREATE INDEX generations_by_status ON generations (app, status, created_at, id) WHERE status IS NOT NULL;
  CREATE INDEX generations_by_model ON generations (app, model, created_at, id) WHERE model IS NOT NULL;
  CREATE INDEX generations_by_trace ON generations (app, trace, created_at, id) WHERE trace IS NOT NULL;
  `,
  // Webhook endpoints, one record per App, and their deliveries.
  `
  CREATE TABLE webhook_endpoints (app TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, doc TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE deliveries (
    id BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL, attention_at INTEGER NOT NULL, endpoint BLOB NOT NULL,
    created_at INTEGER NOT NULL, doc TEXT NOT NULL
  ) STRICT;
  CREATE INDEX deliveries_by_attention ON deliveries (attention_at, id);
  CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint, created_at, id);
  `,
  // The sums of the entries of a ledger, by day, credential and model.
  `
  CREATE TABLE usage (
    account BLOB NOT NULL, day TEXT NOT NULL, credential TEXT NOT NULL, model TEXT NOT NULL, last_sequence INTEGER NOT NULL,
    generations INTEGER NOT NULL, failed INTEGER NOT NULL, reserved INTEGER NOT NULL, charged INTEGER NOT NULL,
    released INTEGER NOT NULL, PRIMARY KEY (account, day, credential, model)
  ) STRICT, WITHOUT ROWID;
  `,
  // And by day and trace id, of accounts that were asked for it.
  `
  CREATE TABLE usage_by_trace (
    account BLOB NOT NULL, day TEXT NOT NULL, trace TEXT NOT NULL, last_sequence INTEGER NOT NULL, generations INTEGER NOT NULL,
    failed INTEGER NOT NULL, reserved INTEGER NOT NULL, charged INTEGER NOT NULL, released INTEGER NOT NULL,
    PRIMARY KEY (account, day, trace)
  ) STRICT, WITHOUT ROWID;
  `,
  // Claims in the order in which they are made; only their index is in that of their keys.
  `
  ALTER TABLE claims RENAME TO claims_by_key;
  DROP INDEX claims_by_removal;
  CREATE TABLE claims (
    row INTEGER PRIMARY KEY, key_digest BLOB NOT NULL UNIQUE, version INTEGER NOT NULL, digest TEXT NOT NULL, subject BLOB NOT NULL,
    created_at INTEGER NOT NULL, lease_expires_at INTEGER NOT NULL, remove_at INTEGER NOT NULL, boot BLOB
  ) STRICT;
  INSERT INTO claims (key_digest, version, digest, subject, created_at, lease_expires_at, remove_at, boot)
    SELECT unhex(claim_key_digest(hex(account), hex(app), operation, key)), version, digest, subject, created_at, lease_expires_at, remove_at, boot
    FROM claims_by_key ORDER BY created_at;
  DROP TABLE claims_by_key;
  CREATE INDEX claims_by_removal ON claims (remove_at);
  `,
  // The erasures that operators requested.
  `
  ALTER TABLE accounts ADD COLUMN erased_at INTEGER;
  CREATE TABLE erasures (
    id BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL, attention_at INTEGER NOT NULL, doc TEXT NOT NULL
  ) STRICT;
  CREATE INDEX erasures_by_attention ON erasures (attention_at, id);
  CREATE INDEX uploads_by_account ON uploads (account, id) WHERE account IS NOT NULL;
  `,
  // The App in which credits are used, in ledgers and in rows of usage.
  `
  ALTER TABLE holds ADD COLUMN app TEXT;
  ALTER TABLE holds ADD COLUMN actor TEXT;
  ALTER TABLE entries ADD COLUMN app TEXT;
  ALTER TABLE entries ADD COLUMN actor TEXT;
  ALTER TABLE usage RENAME TO usage_before;
  CREATE TABLE usage (
    account BLOB NOT NULL, day TEXT NOT NULL, credential TEXT NOT NULL, model TEXT NOT NULL, app_use TEXT NOT NULL,
    last_sequence INTEGER NOT NULL, generations INTEGER NOT NULL, failed INTEGER NOT NULL, reserved INTEGER NOT NULL,
    charged INTEGER NOT NULL, released INTEGER NOT NULL, PRIMARY KEY (account, day, credential, model, app_use)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage SELECT account, day, credential, model, '', last_sequence, generations, failed, reserved, charged, released
    FROM usage_before;
  DROP TABLE usage_before;
  ALTER TABLE usage_by_trace RENAME TO usage_by_trace_before;
  CREATE TABLE usage_by_trace (
    account BLOB NOT NULL, day TEXT NOT NULL, trace TEXT NOT NULL, app_use TEXT NOT NULL, last_sequence INTEGER NOT NULL,
    generations INTEGER NOT NULL, failed INTEGER NOT NULL, reserved INTEGER NOT NULL, charged INTEGER NOT NULL,
    released INTEGER NOT NULL, PRIMARY KEY (account, day, trace, app_use)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_by_trace SELECT account, day, trace, '', last_sequence, generations, failed, reserved, charged, released
    FROM usage_by_trace_before;
  DROP TABLE usage_by_trace_before;
  CREATE INDEX usage_by_app_trace ON usage_by_trace (account, app_use, day, trace) WHERE app_use > '';
  `,
  // Requests without an idempotency key by their fingerprints, and the leases of the processes in which they wait.
  `
  CREATE TABLE fingerprints (
    fingerprint BLOB NOT NULL PRIMARY KEY, account BLOB NOT NULL, version INTEGER NOT NULL, creates TEXT NOT NULL, remove_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX fingerprints_by_account ON fingerprints (account);
  CREATE INDEX fingerprints_by_removal ON fingerprints (remove_at);
  CREATE TABLE boot_leases (
    boot BLOB NOT NULL PRIMARY KEY, renewals INTEGER NOT NULL, renewed_at INTEGER NOT NULL, remove_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX boot_leases_by_removal ON boot_leases (remove_at);
  `,
  // When generations that have not ended were accepted, what they do, and the provider of their attempts.
  `
  ALTER TABLE generations ADD COLUMN open_at INTEGER;
  ALTER TABLE generations ADD COLUMN open_state TEXT;
  ALTER TABLE generations ADD COLUMN open_provider TEXT;
  UPDATE generations SET open_at = created_at, open_provider = doc ->> '$.attempt.provider', open_state =
    CASE WHEN status = 'queued' THEN 'queued' WHEN doc ->> '$.lease' IS NULL THEN 'requeued' ELSE 'running' END
  WHERE status IN ('queued', 'running');
  CREATE INDEX generations_open ON generations (open_at) WHERE open_at IS NOT NULL;
  `,
  // The counts of all processes, by half hour, for eight days.
  `
  CREATE TABLE half_hours (slot TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, doc TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // The part of a key's secret that its owners recognise it by.
  'ALTER TABLE keys ADD COLUMN hint TEXT',
  // The account, the App and the generation of a delivery, each with its list.
  `
  ALTER TABLE deliveries ADD COLUMN account BLOB;
  ALTER TABLE deliveries ADD COLUMN app BLOB;
  ALTER TABLE deliveries ADD COLUMN generation BLOB;
  UPDATE deliveries SET account = unhex(doc ->> 'accountId', '-'), app = unhex(doc ->> 'appId', '-'),
    generation = unhex(doc ->> 'generationId', '-');
  CREATE INDEX deliveries_by_account ON deliveries (account, created_at, id);
  CREATE INDEX deliveries_by_app ON deliveries (app, created_at, id);
  CREATE INDEX deliveries_by_generation ON deliveries (generation, created_at, id);
  `,
  // The thumbnails of generations, summed for an account from an index of only those that have some.
  `
  ALTER TABLE generations ADD COLUMN thumbnail_bytes INTEGER;
  CREATE INDEX generations_thumbnails ON generations (account, thumbnail_bytes) WHERE thumbnail_bytes IS NOT NULL;
  `,
  // The terms by which generations are searched: entries that were removed have neither account nor terms.
  `
  CREATE TABLE search_accounts (row INTEGER PRIMARY KEY, account BLOB NOT NULL UNIQUE) STRICT;
  CREATE TABLE search_entries (row INTEGER PRIMARY KEY, generation BLOB NOT NULL UNIQUE, account INTEGER, terms TEXT) STRICT;
  CREATE INDEX search_by_account ON search_entries (account, generation) WHERE account IS NOT NULL;
  CREATE TABLE search_terms (
    account INTEGER NOT NULL, term TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (account, term, entry)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE search_progress (name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, doc TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
];

/** Brings the file's schema up to this release's, all or nothing; refuses a file of a newer release. */
export function migrate(
  database: Database,
  { path, readOnly }: { readonly path: string; readonly readOnly: boolean },
): void {
  const version = schemaVersion(database);
  if (version > MIGRATIONS.length) {
    const known = `newer than the ${MIGRATIONS.length} this release knows`;
    throw new DataFolderRefused(
      `${path} has schema ${version}, ${known}; use the release that wrote it, or a later one.`,
    );
  }
  if (version === MIGRATIONS.length) return;
  if (readOnly) {
    throw new DataFolderUnmade(
      `${path} has schema ${version} and needs ${MIGRATIONS.length}; run darkroom migrate or start the server to migrate it.`,
    );
  }
  defineFunctions(database);
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have done it while this one waited for its turn.
    MIGRATIONS.slice(schemaVersion(database)).forEach((migration) => database.exec(migration));
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** Defines what migrations call. */
export function defineFunctions(database: Database): void {
  database.function('claim_key_digest', { deterministic: true }, (accountId, appId, operation, key) =>
    claimKeyDigest({ accountId, appId, operation, key }),
  );
}

function schemaVersion(database: Database): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}
