import { type Driver, FILLED_TEXT, type StoreDriver } from '../../adapters/driver.js';
import type { JsonObject } from '../../core/json.js';
import { DEFAULT_MARK_POLICY } from '../../core/media/ai-mark.js';
import { DEFAULT_SETTINGS as SETTINGS } from '../../core/settings.js';
import { BUILT_IN_DRIVERS, DEFAULT_PROVIDERS } from '../wiring/built-in-drivers.js';
import {
  boolean,
  days,
  driver,
  hosts,
  hours,
  integer,
  Key,
  type KeyTree,
  list,
  mebibytes,
  minutes,
  networks,
  oneOf,
  origins,
  path,
  seconds,
  secret,
  text,
  url,
} from './key.js';

/**
 * The table of every key of `darkroom.yaml` that no driver brings. The types of the configuration, its JSON Schema, the
 * variables of the environment, the messages about wrong values and `config/darkroom.example.yaml` are derived from it.
 * Its order is the order of messages about variables.
 */
export const KEYS = {
  role: oneOf('all', ['all', 'rest', 'worker']).about(
    'What this process does: all, or one of rest (serves requests) and worker (runs generations) if several processes share the stores. darkroom serve --role overrides it.',
  ),
  data_folder: path('./data').about(
    'The folder for accounts, generations, uploads and results, unless stores selects other places.',
  ),
  secret_file: path().about(
    'The file with 32 random bytes in hex, the same for every process of the installation. Default: the file secret in data_folder.',
  ),
  catalog: path().about('The file that defines the models. Default: the catalog that comes with the program.'),
  modules: list(FILLED_TEXT, 'must be a list of package names and paths').about(
    'Drivers from other packages, for stores and providers: package names, or paths relative to the folder of this file. A module is a program with all permissions of this process. DARKROOM_MODULES is a comma-separated list. See docs/writing-an-adapter.md.',
  ),
  rest: {
    host: text('127.0.0.1').about(
      'The address to listen on. 127.0.0.1: this machine only. 0.0.0.0: all networks of this machine.',
    ),
    port: integer(8080, 0, 65_535).about('0: the process selects any free port and reports it.'),
    public_url: url().about(
      "The service's address for clients, if it is not http://host:port, for example behind a proxy. Signed addresses begin with it.",
    ),
    max_connections: integer(10_000, 1, 1_000_000).about('Concurrent connections. Further connections are refused.'),
    max_connections_per_address: integer(1_000, 1, 1_000_000).about(
      'Concurrent connections of one client: an IPv4 address, or the /64 of an IPv6 address. Trusted proxies are exempt.',
    ),
    trusted_proxies: networks().about(
      'Addresses and networks of the proxies in front, such as [10.0.0.0/8, "fd00::/8"]. Their X-Forwarded-For identifies the client. DARKROOM_REST_TRUSTED_PROXIES is a comma-separated list.',
    ),
    max_header_bytes: integer(16 * 1024, 1024, 1024 * 1024),
    headers_timeout_seconds: seconds(10_000, 3_600).about('The longest time to receive the headers.'),
    body_timeout_seconds: seconds(10_000, 3_600).about('The longest time to receive a JSON body.'),
    request_timeout_seconds: seconds(300_000, 86_400).about(
      'The longest time to receive any request with all its bytes.',
    ),
    keep_alive_timeout_seconds: seconds(65_000, 3_600).about('How long a connection may be idle between two requests.'),
    idle_timeout_seconds: seconds(60_000, 3_600).about(
      'How long a connection may stall in the middle of a request or a response.',
    ),
    rate_limits: {
      reads_per_minute: integer(1_200, 0, 10_000_000),
      creates_per_minute: integer(300, 0, 10_000_000),
      failed_authentications_per_minute: integer(60, 0, 10_000_000).about(
        "Invalid credentials from one client's address.",
      ),
    },
  },
  sign_in: {
    enabled: boolean(true).about('Whether people can sign in at all.'),
    operator_area: boolean(false).about(
      'Whether operators can work in a browser: people whom `darkroom people promote` has marked, after a sign-in with a passkey. What they do is recorded in the log.',
    ),
    provider_issuer: url().about(
      'An outside OpenID provider that people may sign in with: its issuer, and the id and the secret that it gave this service for the redirect address <rest.public_url>/sign-in/provider/callback. Preferably set the secret by DARKROOM_SIGN_IN_PROVIDER_CLIENT_SECRET.',
    ),
    provider_client_id: text(),
    provider_client_secret: secret(),
    provider_name: text('single sign-on').about('What the button for it says: Sign in with …'),
  },
  console: {
    shows_requests: boolean(SETTINGS.showsRequests).about(
      'Whether the people of an account see the prompts, parameters and references of all its generations, and search prompts.',
    ),
  },
  oauth: {
    enabled: boolean(true),
    registration: boolean(true).about('Whether programs may register themselves, as most MCP clients do.'),
    client_documents: hosts('(\\*|HOST)', 'must be a list of host names, as app.example, or *').about(
      'Hosts on which programs may keep a document that describes them, in place of a registration. The service fetches it when somebody connects the program: names of hosts, or * for any public one. DARKROOM_OAUTH_CLIENT_DOCUMENTS is a comma-separated list.',
    ),
  },
  webhooks: {
    allowed_hosts: hosts('HOST', 'must be a list of hosts, as app.example or app.example:8443, without http://').about(
      'Hosts, with a port or without, such as receiver.internal:8443. They may have any address, and be called without TLS. DARKROOM_WEBHOOKS_ALLOWED_HOSTS is a comma-separated list.',
    ),
    allowed_networks: networks().about(
      'Networks, such as 10.0.0.0/8, in which any host may be called. DARKROOM_WEBHOOKS_ALLOWED_NETWORKS is a comma-separated list.',
    ),
  },
  openai: {
    enabled: boolean(true),
    spool_mib: mebibytes(2_048, 64, 1_048_576).about(
      'Disk of this process for the files of requests while they are read: in data_folder if a store is there, otherwise in the folder for temporary files. Further requests with files are refused for some seconds.',
    ),
  },
  mcp: {
    enabled: boolean(true),
    confirm_above_credits: integer(100, 0, Number.MAX_SAFE_INTEGER).about(
      'A generation that costs more credits than this is confirmed by a person first, where the client can ask one.',
    ),
    allowed_origins: origins().about(
      'Origins of web pages that may use the MCP server from a browser, such as https://app.example. DARKROOM_MCP_ALLOWED_ORIGINS is a comma-separated list.',
    ),
  },
  grpc: {
    host: text('127.0.0.1').about(
      'The address on which this process serves gRPC to internal services. See docs/grpc.md.',
    ),
    port: integer(undefined, 0, 65_535).about('null: gRPC is disabled.'),
    callers_file: path().about(
      'The file that lists the callers, and what each may call. Required unless a single process, on its own data folder, listens only on 127.0.0.1.',
    ),
    tls_cert_file: path().about('The certificate of this server.'),
    tls_key_file: path().about('The key of the certificate.'),
    tls_client_ca_file: path().about(
      'The CA that signs the certificates of callers. Without it, callers authenticate with tokens.',
    ),
    plaintext: boolean(false).about(
      'true: serves other machines without TLS. Only for use behind a proxy that encrypts.',
    ),
  },
  internal: {
    host: text('127.0.0.1').about(
      "The address for probes and metrics of this process, for the operator's own network.",
    ),
    port: integer(undefined, 0, 65_535).about('null: probes and metrics are disabled.'),
  },
  worker: {
    enabled: boolean(true).about('false: the process accepts requests and temporarily runs no generations.'),
    recovery_interval_seconds: seconds(15_000, 86_400).about(
      'How often to look for work that another process left unfinished.',
    ),
    stop_grace_seconds: seconds(20_000, 86_400).about(
      'How long a stopping process waits for its running generations to be handed over.',
    ),
    missing_providers: oneOf('refuse', ['refuse', 'ignore']).about(
      'For the role worker, where the catalog names a provider that is not in providers. refuse: it does not start. ignore: it leaves out each model that needs one, and other workers run its generations.',
    ),
  },
  images: {
    memory_mib: mebibytes(192, 16, 1_048_576).about(
      'Memory of this process for the files it checks and the pictures it decodes. Work that needs more waits.',
    ),
    ffmpeg: path().about('The ffmpeg program, for thumbnails of videos. Without it they have none.'),
  },
  ai_marks: {
    enabled: boolean(DEFAULT_MARK_POLICY.isWritten).about(
      'Whether outputs say in XMP that AI made them. docs/api/outputs.md says what is written, and what the law may ask of you.',
    ),
    provider_manifests: oneOf(DEFAULT_MARK_POLICY.manifests, ['keep', 'drop']).about(
      "keep: a provider's signed C2PA manifest stays, in place of our mark, where it says AI and nothing was removed from the file. drop: it is removed from every output.",
    ),
    name_model: boolean(DEFAULT_MARK_POLICY.namesModel).about(
      "Whether the mark names the model by its display_name. A model's ai_mark in the catalog can name another system.",
    ),
    signer: driver('signer').about(
      'What signs outputs: none, or a driver of a module. See docs/writing-an-adapter.md#a-signer-of-outputs.',
    ),
  },
  log: {
    level: oneOf('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent']).about(
      'trace, debug, info, warn, error or silent.',
    ),
    format: oneOf('auto', ['auto', 'pretty', 'json']).about(
      'pretty: for people. json: for machines. auto: pretty on a terminal, otherwise json.',
    ),
  },
  stores: {
    database: driver('database').about('Accounts, generations, claims, uploads and keys'),
    objects: driver('objects').about('Reference files and results'),
    wake_ups: driver('wake-ups').about('What wakes workers when a generation is due'),
  },
  settings: {
    claim_lease_seconds: seconds(SETTINGS.claimLeaseMs, 3_600).about(
      'How long a process may work on a request before a retry with the same Idempotency-Key may take it over.',
    ),
    replay_window_hours: hours(SETTINGS.replayWindowMs, 87_600).about(
      'How long a request with a repeated Idempotency-Key receives the first response again.',
    ),
    claim_retention_days: days(SETTINGS.claimRetentionMs, 3_650).about(
      'How long an Idempotency-Key is kept, so that no other request can use it.',
    ),
    max_open_generations_per_account: integer(SETTINGS.maxOpenGenerationsPerAccount, 1, 100_000).about(
      'Queued and running generations of one account. Further generations are refused with QUEUE_FULL.',
    ),
    max_upload_bytes: integer(SETTINGS.maxUploadBytes, 1, 1024 ** 3).about('The largest reference file, in bytes.'),
    max_upload_pixels: integer(SETTINGS.maxUploadPixels, 1, 1_000_000_000).about(
      'The largest reference file, in pixels.',
    ),
    max_upload_decode_bytes: integer(SETTINGS.maxUploadDecodeBytes, 1, 64 * 1024 ** 3).about(
      'Memory that decoding one reference file may use. It depends on pixels and format: a progressive JPEG, an interlaced PNG and a WebP are held in memory completely, other formats a few rows at a time.',
    ),
    upload_target_minutes: minutes(SETTINGS.uploadTargetMs, 10_080).about('How long a signed target accepts bytes.'),
    upload_retention_hours: hours(SETTINGS.uploadRetentionMs, 87_600).about(
      'How long an unused reference file is kept.',
    ),
    max_unfinished_uploads_per_app: integer(SETTINGS.maxUnfinishedUploadsPerApp, 1, 10_000).about(
      'Uploads of one App that are not completed. Further uploads are refused with QUEUE_FULL.',
    ),
    max_stored_uploads_per_app: integer(SETTINGS.maxStoredUploadsPerApp, 1, 100_000).about(
      'All uploads of one App. Further uploads are refused with QUEUE_FULL.',
    ),
    max_stored_upload_bytes_per_app: integer(SETTINGS.maxStoredUploadBytesPerApp, 1, 1024 ** 5).about(
      'Bytes that all uploads of one App declared or stored. Further uploads are refused with QUEUE_FULL.',
    ),
    output_url_minutes: minutes(SETTINGS.outputUrlMs, 10_080).about('How long a signed address of a result is valid.'),
    output_retention_days: days(SETTINGS.outputRetentionMs, 3_650).about('How long results are kept.'),
    task_retention_days: days(SETTINGS.taskRetentionMs, 3_650).about('How long the tasks of results are kept.'),
    uncharged_content_retention_hours: hours(SETTINGS.unchargedContentRetentionMs, 87_600).about(
      'How long prompts, parameters and references of generations that ended without charge are kept.',
    ),
    max_uncharged_content_bytes_per_account: integer(SETTINGS.maxUnchargedContentBytesPerAccount, 1, 1024 ** 4).about(
      'Bytes of such prompts, parameters and references that one account may have. Each generation counts at least 2048 bytes. Further generations are refused with QUEUE_FULL.',
    ),
    remnant_retention_days: days(SETTINGS.tombstoneRetentionMs, 3_650).about(
      'How long the id of a removed generation is remembered.',
    ),
    // An S3 store takes a little more in 10,000 parts of 5 MiB.
    max_output_bytes: integer(SETTINGS.maxOutputBytes, 1, 48 * 1024 ** 3).about(
      'The largest result that a provider may deliver, in bytes.',
    ),
    max_output_pixels: integer(SETTINGS.maxOutputPixels, 1, 1_000_000_000).about(
      'The largest result that a provider may deliver, in pixels.',
    ),
    poll_after_ms: integer(SETTINGS.pollAfterMs, 1, 60_000).about(
      'How long clients are asked to wait between two status requests for a generation.',
    ),
    lease_seconds: seconds(SETTINGS.leaseMs, 3_600).about(
      'How long a worker may act on a generation before it must renew its lease.',
    ),
    cancel_grace_seconds: seconds(SETTINGS.cancelGraceMs, 86_400).about(
      'How long a provider may take to stop after a cancel. Then the generation ends without it.',
    ),
    provider_call_seconds: seconds(SETTINGS.providerCallMs, 3_600).about(
      'The longest duration of one call to a provider.',
    ),
    retry_base_ms: integer(SETTINGS.retryBaseMs, 1, 3_600_000).about('The first wait before another attempt.'),
    retry_cap_seconds: seconds(SETTINGS.retryCapMs, 86_400).about('The longest wait before another attempt.'),
    retry_after_cap_seconds: seconds(SETTINGS.retryAfterCapMs, 86_400).about(
      'The longest wait that a provider may request, when it is at capacity or does not know yet whether it has a task.',
    ),
    recovery_grace_seconds: seconds(SETTINGS.recoveryGraceMs, 3_600).about(
      'How long after its due time a step is treated as lost.',
    ),
    recovery_batch: integer(SETTINGS.recoveryBatch, 1, 1_000).about('How many lost steps one recovery pass handles.'),
    session_idle_hours: hours(SETTINGS.sessionIdleMs, 8_760).about(
      'How long a person stays signed in who does nothing, and at most.',
    ),
    session_max_days: days(SETTINGS.sessionMaxMs, 365),
    sign_in_link_minutes: minutes(SETTINGS.signInLinkMs, 1_440).about('How long a sign-in link can be used, once.'),
    access_token_minutes: minutes(SETTINGS.accessTokenMs, 1_440).about(
      'How long the access token of a connected program lives.',
    ),
    grant_idle_days: days(SETTINGS.grantIdleMs, 3_650).about(
      'A connected program that is not used for this long is disconnected.',
    ),
  },
};

/** Comments of sections in the example file. */
export const SECTION_COMMENTS: Readonly<Record<string, string>> = {
  'stores':
    "Each key of stores names a driver. Its options are in the section with the driver's name. Modules may add drivers.",
  'sign_in': 'How people sign in to the account page. See docs/operating/access.md.',
  'oauth': 'How people connect programs, which then act for them with tokens of their own.',
  'webhooks':
    'Where webhooks may be sent, besides public hosts over https. Apps choose the addresses. See docs/webhooks.md.',
  'openai': 'The OpenAI-compatible API, under /v1. See docs/openai.md.',
  'mcp':
    'The server for AI clients that speak the Model Context Protocol, under /api/v1/developer/mcp. See docs/mcp.md.',
  'rest.rate_limits': 'Limits for one credential in one process. 0: no limit.',
  'providers':
    "The providers, which make pictures: any number of instances, with names that you choose (lower-case letters, digits, - and _). A model's provider in the catalog names an instance. A variable overrides an option: DARKROOM_PROVIDERS_SANDBOX_THREADS is providers.sandbox.threads. If this section is omitted, the one below is used.",
};

/** The keys that every provider has beside the options of its driver: how much all processes together use of it. */
export const PROVIDER_KEYS = {
  max_concurrent: integer(undefined, 1, 100_000).about(
    'Tasks that all processes together have at this provider. Without it there is no limit.',
  ),
  max_submissions_per_minute: integer(undefined, 1, 1_000_000).about(
    'Tasks that all processes together submit in any 60 seconds. Without it there is no limit.',
  ),
};

const KIND_COMMENT = 'The driver, a built-in one or one from a module. sandbox renders in this process, for trial use.';

/** The keys of an instance that no driver of a provider may have as an option: its value would never arrive. */
export const INSTANCE_KEYS: readonly string[] = ['kind', ...Object.keys(PROVIDER_KEYS)];

/** The keys that choose the driver of a store, by its kind. The first driver of a kind is the default. */
export const STORE_KEYS = {
  'database': 'stores.database',
  'objects': 'stores.objects',
  'wake-ups': 'stores.wake_ups',
} as const satisfies Readonly<Record<StoreDriver['kind'], string>>;

/** The key that chooses what signs outputs, and its value for nothing. */
export const SIGNER_KEY = 'ai_marks.signer';
export const NO_SIGNER_NAME = 'none';

/** The sections that are not a driver's. */
export const SECTIONS: ReadonlySet<string> = new Set([...Object.keys(KEYS), 'providers']);

/** Providers by instance, each with the name of its kind. */
export type ProviderKinds = ReadonlyMap<string, string>;

/** The JSON Schemas of keys, by their paths in the file. */
export type KeySchemas = ReadonlyMap<string, JsonObject>;

/** Every key of the file: those of the table, the options of every driver, and those of every provider. */
export function keySchemas(drivers: readonly Driver[], providers: ProviderKinds = DEFAULT_PROVIDERS): KeySchemas {
  const { settings, ...program } = KEYS;
  const kinds = drivers.filter(({ kind }) => kind === 'provider');
  return new Map([
    ...schemasIn(program, drivers),
    ...drivers.filter(({ kind }) => kind !== 'provider').flatMap(({ name, options }) => schemasOf(options, name)),
    ...[...providers].flatMap(([instance, name]): KeySchema[] => {
      const section = `providers.${instance}`;
      const kind = kinds.find((one) => one.name === name);
      return [
        [`${section}.kind`, choiceOf({ description: KIND_COMMENT }, namesOf(kinds), kind?.name)],
        ...schemasOf(kind?.options ?? {}, section),
        ...schemasIn(PROVIDER_KEYS, drivers, `${section}.`),
      ];
    }),
    ...schemasIn({ settings }, drivers),
  ]);
}

type KeySchema = readonly [path: string, schema: JsonObject];

function schemasIn(keys: KeyTree, drivers: readonly Driver[], section = ''): readonly KeySchema[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    if (!(key instanceof Key)) return schemasIn(key, drivers, `${section}${name}.`);
    const { schema, names: kind } = key;
    const chosen = drivers.filter((one) => one.kind === kind);
    return [[`${section}${name}`, kind === undefined ? schema : driverChoice(schema, kind, chosen)]];
  });
}

function schemasOf(options: JsonObject, section: string): readonly KeySchema[] {
  return optionsOf(options).map(([option, schema]) => [`${section}.${option}`, schema]);
}

function driverChoice(schema: JsonObject, kind: Driver['kind'], drivers: readonly Driver[]): JsonObject {
  if (kind === 'signer') return choiceOf(schema, [NO_SIGNER_NAME, ...namesOf(drivers)]);
  const uses = drivers.map((one) => {
    const place = 'isInDataFolder' in one ? 'in data_folder, ' : '';
    return `${one.name} (${place}for ${'unshared' in one ? 'one process' : 'any number of processes'})`;
  });
  return choiceOf(
    { ...schema, description: `${schema['description'] as string}: ${alternatives(uses)}.` },
    namesOf(drivers),
  );
}

/** `a`, `a or b`, `a, b or c`. */
export function alternatives(names: readonly string[]): string {
  // `Intl.ListFormat` would load the data of a language at each start.
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' or ');
}

function choiceOf(schema: JsonObject, names: string[], byDefault = names[0] ?? ''): JsonObject {
  return { ...schema, type: 'string', enum: names, default: byDefault };
}

function namesOf(drivers: readonly Driver[]): string[] {
  return drivers.map(({ name }) => name);
}

/** The options of a driver, each with its schema. */
export function optionsOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
}

/** All keys with no other drivers than the built-in ones. */
export const CONFIG_KEYS = keySchemas(BUILT_IN_DRIVERS);

/** The variable that overrides a key: `rest.port` is DARKROOM_REST_PORT. */
export function variableOf(key: string): string {
  return `DARKROOM_${key.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}
