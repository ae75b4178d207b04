import type {
  DatabaseDriver,
  ObjectsDriver,
  Options,
  ProviderDriver,
  SignerDriver,
  WakeUpsDriver,
} from '../../adapters/driver.js';
import type { Settings } from '../../core/settings.js';
import type { KEYS, PROVIDER_KEYS } from './keys.js';
import type { ValuesOf } from './key.js';

type Values = ValuesOf<typeof KEYS>;

/**
 * The configuration of one installation: the values of the table of keys, and the chosen drivers. Times are
 * milliseconds, sizes bytes, paths absolute.
 */
export interface Config extends Omit<
  Values,
  'secretFile' | 'catalog' | 'modules' | 'aiMarks' | 'stores' | 'settings' | 'console'
> {
  /** The file it was read from, if there was one. */
  readonly file?: string;
  /** 32 bytes in hex that every process of the installation shares. */
  readonly secretFile: string;
  /** The catalog file. */
  readonly catalog: string;
  readonly stores: StoreChoice;
  /** The signer of outputs; outputs are not signed when absent. */
  readonly signer?: Configured<SignerDriver>;
  /** The providers, by the name that a model's `provider` in the catalog gives. */
  readonly providers: ReadonlyMap<string, ConfiguredProvider>;
  readonly settings: Settings;
}

export type Role = Config['role'];
export type GrpcConfig = Config['grpc'];

/** A driver and the options of its section. */
export interface Configured<D> {
  readonly driver: D;
  readonly options: Options;
}

export interface ConfiguredProvider extends Configured<ProviderDriver> {
  readonly limits: ValuesOf<typeof PROVIDER_KEYS>;
}

/** The driver of each group of ports. */
export interface StoreChoice {
  readonly database: Configured<DatabaseDriver>;
  readonly objects: Configured<ObjectsDriver>;
  readonly wakeUps: Configured<WakeUpsDriver>;
}

/** Whether a server with this configuration runs generations. */
export function runsWorker({ role, worker }: Pick<Config, 'role' | 'worker'>): boolean {
  return role !== 'rest' && worker.enabled;
}

/** A configuration that cannot be used. The message has every fault on a separate line. */
export class ConfigInvalid extends Error {
  /** `log` is the configuration of the log, if that part could be read. */
  constructor(
    readonly faults: readonly string[],
    readonly log?: Config['log'],
  ) {
    super(faults.join('\n'));
    this.name = 'ConfigInvalid';
  }
}
