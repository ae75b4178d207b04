export interface Migration {
  readonly name: string;
  /** The number of the first migration whose release reads and writes beside this one correctly. */
  readonly readableFrom: number;
  /** Statements that are applied together or not at all. */
  readonly sql: string;
}

/** The publication that reports the writes of all processes to generations. */
export const PUBLICATION = 'darkroom_generations';

/**
 * Forward migrations, numbered from 1. A released migration is never edited: a change of the schema is one more element, which
 * processes of the release before can work beside. All tables are in the schema `darkroom`, and every statement names it: a
 * `search_path` is lost in poolers. Ids are UUIDs, times milliseconds, amounts whole credits. Texts are compared by their bytes,
 * as cursors are, and so that no index depends on the system's collations. There are no foreign keys: each record is written
 * on its own.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: 'The first tables',
    readableFrom: 1,
    sql: `
    CREATE TABLE darkroom.installation (
      row int PRIMARY KEY CHECK (row = 1), secret text COLLATE "C" NOT NULL, objects text COLLATE "C" NOT NULL
    );

    -- Every change of an account is one more version of its row: half of each page is left free for the next one, and no index
    -- but the key's is to be changed.
    CREATE TABLE darkroom.accounts (
      id uuid PRIMARY KEY, version int8 NOT NULL, issued int8 NOT NULL, available int8 NOT NULL, reserved int8 NOT NULL,
      spent int8 NOT NULL, last_sequence int8 NOT NULL, name text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL,
      created_at int8 NOT NULL, suspended_at int8, erased_at int8
    ) WITH (fillfactor = 50);
    CREATE TABLE darkroom.holds (
      account uuid NOT NULL, generation uuid NOT NULL, credits int8 NOT NULL, held_at int8 NOT NULL,
      credential text COLLATE "C", model text COLLATE "C", trace text COLLATE "C", cap_period text COLLATE "C",
      app text COLLATE "C", actor text COLLATE "C", PRIMARY KEY (account, generation)
    ) WITH (autovacuum_vacuum_scale_factor = 0.02);
    CREATE INDEX holds_by_time ON darkroom.holds (held_at, account, generation);
    CREATE TABLE darkroom.cap_uses (
      account uuid NOT NULL, credential text COLLATE "C" NOT NULL, period text COLLATE "C" NOT NULL, used int8 NOT NULL,
      PRIMARY KEY (account, credential)
    ) WITH (fillfactor = 70);
    CREATE TABLE darkroom.entries (
      account uuid NOT NULL, sequence int8 NOT NULL, kind text COLLATE "C" NOT NULL, from_book text COLLATE "C" NOT NULL,
      to_book text COLLATE "C" NOT NULL, credits int8 NOT NULL, at int8 NOT NULL, available_after int8 NOT NULL,
      generation uuid, operation_id text COLLATE "C", reason text COLLATE "C", credential text COLLATE "C",
      model text COLLATE "C", trace text COLLATE "C", cap_period text COLLATE "C", app text COLLATE "C", actor text COLLATE "C",
      PRIMARY KEY (account, sequence)
    );
    CREATE UNIQUE INDEX entries_by_operation ON darkroom.entries (account, operation_id) WHERE operation_id IS NOT NULL;

    CREATE TABLE darkroom.claims (
      key_digest bytea PRIMARY KEY, version int8 NOT NULL, digest text COLLATE "C" NOT NULL, subject uuid NOT NULL,
      created_at int8 NOT NULL, lease_expires_at int8 NOT NULL, remove_at int8 NOT NULL, boot uuid
    ) WITH (autovacuum_vacuum_scale_factor = 0.02);
    CREATE INDEX claims_by_removal ON darkroom.claims (remove_at);

    CREATE TABLE darkroom.generations (
      id uuid PRIMARY KEY, account uuid NOT NULL, app uuid NOT NULL, kind text COLLATE "C" NOT NULL, version int8 NOT NULL,
      attention_at int8 NOT NULL, doc text COLLATE "C" NOT NULL, uncharged_bytes int8, thumbnail_bytes int8,
      status text COLLATE "C", created_at int8, model text COLLATE "C", trace text COLLATE "C",
      open_at int8, open_state text COLLATE "C", open_provider text COLLATE "C"
    );
    CREATE INDEX generations_by_attention ON darkroom.generations (attention_at, id);
    CREATE INDEX generations_by_account ON darkroom.generations (account, id) WHERE kind = 'generation';
    CREATE INDEX generations_by_app ON darkroom.generations (app, created_at, id) WHERE created_at IS NOT NULL;
    CREATE INDEX generations_by_status ON darkroom.generations (app, status, created_at, id) WHERE status IS NOT NULL;
    CREATE INDEX generations_by_model ON darkroom.generations (app, model, created_at, id) WHERE model IS NOT NULL;
    CREATE INDEX generations_by_trace ON darkroom.generations (app, trace, created_at, id) WHERE trace IS NOT NULL;
    CREATE INDEX generations_uncharged ON darkroom.generations (account, uncharged_bytes) WHERE uncharged_bytes IS NOT NULL;
    CREATE INDEX generations_thumbnails ON darkroom.generations (account, thumbnail_bytes) WHERE thumbnail_bytes IS NOT NULL;
    CREATE INDEX generations_open ON darkroom.generations (open_state, model, open_provider, open_at) WHERE open_at IS NOT NULL;
    CREATE PUBLICATION ${PUBLICATION} FOR TABLE darkroom.generations (id, app, version, doc) WITH (publish = 'insert, update');

    CREATE TABLE darkroom.uploads (
      id uuid PRIMARY KEY, version int8 NOT NULL, attention_at int8 NOT NULL, doc text COLLATE "C" NOT NULL,
      account uuid, app uuid, unfinished int8, bytes int8
    );
    CREATE INDEX uploads_by_attention ON darkroom.uploads (attention_at, id);
    CREATE INDEX uploads_by_app ON darkroom.uploads (account, app, unfinished, bytes) WHERE account IS NOT NULL;
    CREATE INDEX uploads_by_account ON darkroom.uploads (account, id) WHERE account IS NOT NULL;

    CREATE TABLE darkroom.deliveries (
      id uuid PRIMARY KEY, version int8 NOT NULL, attention_at int8 NOT NULL, doc text COLLATE "C" NOT NULL,
      created_at int8 NOT NULL, endpoint uuid NOT NULL, app uuid, account uuid, generation uuid
    );
    CREATE INDEX deliveries_by_attention ON darkroom.deliveries (attention_at, id);
    CREATE INDEX deliveries_by_endpoint ON darkroom.deliveries (endpoint, created_at, id);
    CREATE INDEX deliveries_by_account ON darkroom.deliveries (account, created_at, id);
    CREATE INDEX deliveries_by_app ON darkroom.deliveries (app, created_at, id);
    CREATE INDEX deliveries_by_generation ON darkroom.deliveries (generation, created_at, id);

    CREATE TABLE darkroom.erasures (
      id uuid PRIMARY KEY, version int8 NOT NULL, attention_at int8 NOT NULL, doc text COLLATE "C" NOT NULL
    );
    CREATE INDEX erasures_by_attention ON darkroom.erasures (attention_at, id);

    CREATE TABLE darkroom.apps (
      id uuid PRIMARY KEY, account uuid NOT NULL, name text COLLATE "C" NOT NULL, created_at int8 NOT NULL
    );
    CREATE INDEX apps_by_account ON darkroom.apps (account, id);
    CREATE TABLE darkroom.keys (
      id uuid PRIMARY KEY, account uuid NOT NULL, app uuid NOT NULL, version int8 NOT NULL, name text COLLATE "C" NOT NULL,
      digest text COLLATE "C" NOT NULL UNIQUE, hint text COLLATE "C", scopes text COLLATE "C" NOT NULL, created_at int8 NOT NULL,
      expires_at int8, revoked_at int8, last_used_at int8, monthly_cap int8
    );
    CREATE INDEX keys_by_account ON darkroom.keys (account, id);

    CREATE TABLE darkroom.people (
      id uuid PRIMARY KEY, account uuid NOT NULL, version int8 NOT NULL, email text COLLATE "C" NOT NULL UNIQUE,
      doc text COLLATE "C" NOT NULL
    );
    CREATE INDEX people_by_account ON darkroom.people (account, id);
    CREATE TABLE darkroom.identities (
      issuer text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, person uuid NOT NULL, linked_at int8 NOT NULL,
      PRIMARY KEY (issuer, subject)
    );
    CREATE INDEX identities_by_person ON darkroom.identities (person, linked_at);
    CREATE TABLE darkroom.artefacts (
      kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, grp text COLLATE "C", owner text COLLATE "C",
      alias text COLLATE "C", data text COLLATE "C" NOT NULL, created_at int8 NOT NULL, expires_at int8 NOT NULL,
      remove_at int8 NOT NULL, consumed_at int8, ended_at int8, PRIMARY KEY (kind, id)
    );
    CREATE INDEX artefacts_by_group ON darkroom.artefacts (grp) WHERE grp IS NOT NULL;
    CREATE INDEX artefacts_by_owner ON darkroom.artefacts (kind, owner, created_at) WHERE owner IS NOT NULL;
    CREATE INDEX artefacts_by_alias ON darkroom.artefacts (kind, alias, created_at) WHERE alias IS NOT NULL;
    CREATE INDEX artefacts_by_removal ON darkroom.artefacts (remove_at);
    CREATE TABLE darkroom.ended_groups (grp text COLLATE "C" PRIMARY KEY, at int8 NOT NULL, remove_at int8 NOT NULL);
    CREATE INDEX ended_groups_by_removal ON darkroom.ended_groups (remove_at);

    CREATE TABLE darkroom.provider_uses (
      provider text COLLATE "C" PRIMARY KEY, version int8 NOT NULL, doc text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 50);
    CREATE TABLE darkroom.webhook_endpoints (
      app text COLLATE "C" PRIMARY KEY, version int8 NOT NULL, doc text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 70);
    CREATE TABLE darkroom.half_hours (
      slot text COLLATE "C" PRIMARY KEY, version int8 NOT NULL, doc text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 50);

    CREATE TABLE darkroom.usage (
      account uuid NOT NULL, day text COLLATE "C" NOT NULL, credential text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL,
      app_use text COLLATE "C" NOT NULL, last_sequence int8 NOT NULL, generations int8 NOT NULL, failed int8 NOT NULL,
      reserved int8 NOT NULL, charged int8 NOT NULL, released int8 NOT NULL, PRIMARY KEY (account, day, credential, model, app_use)
    ) WITH (fillfactor = 70);
    CREATE TABLE darkroom.usage_by_trace (
      account uuid NOT NULL, day text COLLATE "C" NOT NULL, trace text COLLATE "C" NOT NULL, app_use text COLLATE "C" NOT NULL,
      last_sequence int8 NOT NULL, generations int8 NOT NULL, failed int8 NOT NULL, reserved int8 NOT NULL,
      charged int8 NOT NULL, released int8 NOT NULL, PRIMARY KEY (account, day, trace, app_use)
    ) WITH (fillfactor = 70);
    CREATE INDEX usage_by_app_trace ON darkroom.usage_by_trace (account, app_use, day, trace) WHERE app_use > '';

    CREATE TABLE darkroom.fingerprints (
      fingerprint bytea PRIMARY KEY, account uuid NOT NULL, version int8 NOT NULL, creates text COLLATE "C" NOT NULL,
      remove_at int8 NOT NULL
    );
    CREATE INDEX fingerprints_by_account ON darkroom.fingerprints (account);
    CREATE INDEX fingerprints_by_removal ON darkroom.fingerprints (remove_at);
    CREATE TABLE darkroom.boot_leases (
      boot uuid PRIMARY KEY, renewals int8 NOT NULL, renewed_at int8 NOT NULL, remove_at int8 NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX boot_leases_by_removal ON darkroom.boot_leases (remove_at);

    -- The terms by which generations are searched, each with a mark of its account. Entries that were removed have neither
    -- account nor words.
    CREATE TABLE darkroom.search_entries (generation uuid PRIMARY KEY, account uuid, words tsvector);
    CREATE INDEX search_by_account ON darkroom.search_entries (account, generation) WHERE account IS NOT NULL;
    CREATE INDEX search_by_words ON darkroom.search_entries USING gin (words) WITH (gin_pending_list_limit = 256);
    CREATE TABLE darkroom.search_progress (
      name text COLLATE "C" PRIMARY KEY, version int8 NOT NULL, doc text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 50);

    -- Emptied as fast as it is filled, so dead rows are removed soon and without a pause.
    CREATE TABLE darkroom.wake_ups (subject text COLLATE "C" PRIMARY KEY, at int8 NOT NULL)
      WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
    CREATE INDEX wake_ups_by_time ON darkroom.wake_ups (at, subject);
    `,
  },
];
