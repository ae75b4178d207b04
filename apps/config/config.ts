import type {
  DatabaseDriver,
  ObjectsDriver,
  Options,
  ProviderDriver,
  SignerDriver,
  WakeUpsDriver,
} from '../../adapters/driver.js';
import type { ProviderLimits } from '../../core/providers/provider-use.js';
import type { Settings } from '../../core/settings.js';
import type { RestLimits } from './rest-limits.js';

/** What an operator decided about one installation. Times are milliseconds, sizes bytes, paths absolute. */
export interface Config {
  /** The file it was read from, if there was one. */
  readonly file?: string;
  /** What this process does: serve requests, run generations, or both. */
  readonly role: Role;
  readonly dataFolder: string;
  /** 32 bytes in hex that every process of the installation shares; `secret` in the data folder unless named. */
  readonly secretFile: string;
  readonly stores: StoreChoice;
  /** Where probes and metrics are served to the operator's own network; nowhere when absent. */
  readonly internal?: { readonly host: string; readonly port: number };
  /** The catalog file; the one that comes with the program when nothing is said. */
  readonly catalog: string;
  readonly rest: RestConfig;
  readonly signIn: SignInConfig;
  readonly oauth: OAuthConfig;
  readonly webhooks: WebhooksConfig;
  /** The MCP server; there is none when absent. */
  readonly mcp?: McpConfig;
  /** Where internal services call; nowhere when absent. */
  readonly grpc?: GrpcConfig;
  readonly worker: { readonly enabled: boolean; readonly recoveryIntervalMs: number; readonly stopGraceMs: number };
  /** What one process may hold of the files it checks and the pictures it decodes. */
  readonly images: { readonly memoryBytes: number };
  /** The signer of outputs; outputs are not signed when absent. */
  readonly signer?: Configured<SignerDriver>;
  /** What makes pictures, by the name that a model's `provider` in the catalog gives. */
  readonly providers: ReadonlyMap<string, ConfiguredProvider>;
  /** `auto` is pretty on a terminal and JSON otherwise. */
  readonly log: { readonly level: LogLevel; readonly format: 'auto' | 'pretty' | 'json' };
  readonly settings: Settings;
}

export type Role = 'all' | 'rest' | 'worker';

/** A driver and the options of its section. */
export interface Configured<D> {
  readonly driver: D;
  readonly options: Options;
}

export interface ConfiguredProvider extends Configured<ProviderDriver> {
  readonly limits: ProviderLimits;
}

/** The driver of each group of ports. */
export interface StoreChoice {
  readonly database: Configured<DatabaseDriver>;
  readonly objects: Configured<ObjectsDriver>;
  readonly wakeUps: Configured<WakeUpsDriver>;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface RestConfig {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Where clients reach the service, without a slash at the end; from host and port when absent. */
  readonly publicUrl?: string;
  readonly limits: RestLimits;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
}

export interface SignInConfig {
  /** Whether people can sign in at all. */
  readonly enabled: boolean;
  /** Whether operators can work in a browser. */
  readonly operatorArea: boolean;
  /** An outside OpenID provider that people may sign in with. */
  readonly provider?: OutsideProviderConfig;
}

export interface OutsideProviderConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What its button says. */
  readonly name: string;
}

export interface OAuthConfig {
  readonly enabled: boolean;
  /** Whether clients may register themselves. */
  readonly registration: boolean;
  /** Hosts whose documents may name clients; `*` for any public one. */
  readonly clientDocuments: readonly string[];
}

export interface WebhooksConfig {
  /** Networks and hosts that webhooks may be sent to, in addition to the public internet. */
  readonly allow: readonly string[];
}

export interface McpConfig {
  /** Credits that a call may spend without being confirmed by a person. */
  readonly confirmAboveCredits: number;
}

export interface GrpcConfig {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Who may call; when absent, any client that can reach the port. */
  readonly callersFile?: string;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  /** Who signs the certificates of callers; without it none is asked for. */
  readonly tlsClientCaFile?: string;
  /** Whether it may go without TLS beyond this machine, because something in front of it encrypts. */
  readonly plaintext: boolean;
}

/** Whether a server with this configuration runs generations. */
export function runsWorker({ role, worker }: Pick<Config, 'role' | 'worker'>): boolean {
  return role !== 'rest' && worker.enabled;
}

/** A configuration that cannot be used. The message has every fault on a separate line. */
export class ConfigInvalid extends Error {
  /** `log` is how the log was to be, where that much could be read. */
  constructor(
    readonly faults: readonly string[],
    readonly log?: Config['log'],
  ) {
    super(faults.join('\n'));
    this.name = 'ConfigInvalid';
  }
}
