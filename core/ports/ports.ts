import type { Catalog, CatalogSource } from './catalog.js';
import type { Clock, Digests, Ids, JsonSchemas, PasskeyVerifier, PasswordHasher, TopLevelDomains } from './machine.js';
import type { Masks, MediaCleaner, MediaProbe, Previews, VideoFrames } from './media.js';
import type { ObjectStore } from './object-store.js';
import type { OutputSigner } from './output-signer.js';
import type { WebhookSender } from './outside.js';
import type { Providers } from './provider.js';
import type { GenerationSearch } from './search.js';
import type {
  AcceptanceStore,
  AccountStore,
  ArtefactStore,
  ClaimStore,
  CredentialStore,
  DeliveryStore,
  ErasureStore,
  FingerprintStore,
  GenerationStore,
  HalfHourStore,
  PersonStore,
  ProviderUseStore,
  UploadStore,
  UsageStore,
  WebhookEndpointStore,
} from './stores.js';
import type { WakeUps } from './wake-ups.js';

/** The stores behind the ports: each may be unavailable while the others are not. */
export type Store = 'database' | 'objects' | 'wake-ups';

/**
 * Every port, by the name it is wired under, with the store that its calls reach. This is the only list of them: types,
 * bindings, metrics, the log of outages and the stores of tests are derived from it.
 */
const PORTS = {
  accounts: inDatabase<AccountStore>(),
  generations: inDatabase<GenerationStore>(),
  generationSearch: inDatabase<GenerationSearch>(),
  claims: inDatabase<ClaimStore>(),
  fingerprints: inDatabase<FingerprintStore>(),
  acceptances: inDatabase<AcceptanceStore>(),
  uploads: inDatabase<UploadStore>(),
  credentials: inDatabase<CredentialStore>(),
  people: inDatabase<PersonStore>(),
  artefacts: inDatabase<ArtefactStore>(),
  providerUses: inDatabase<ProviderUseStore>(),
  webhookEndpoints: inDatabase<WebhookEndpointStore>(),
  deliveries: inDatabase<DeliveryStore>(),
  usage: inDatabase<UsageStore>(),
  halfHours: inDatabase<HalfHourStore>(),
  erasures: inDatabase<ErasureStore>(),
  objects: inObjects<ObjectStore>(),
  wakeUps: inWakeUps<WakeUps>(),
  webhookSender: withoutStore<WebhookSender>(),
  providers: withoutStore<Providers>(),
  catalog: withoutStore<Catalog>(),
  mediaProbe: withoutStore<MediaProbe>(),
  mediaCleaner: withoutStore<MediaCleaner>(),
  previews: withoutStore<Previews>(),
  masks: withoutStore<Masks>(),
  clock: withoutStore<Clock>(),
  ids: withoutStore<Ids>(),
  digests: withoutStore<Digests>(),
  jsonSchemas: withoutStore<JsonSchemas>(),
  topLevelDomains: withoutStore<TopLevelDomains>(),
  passwords: withoutStore<PasswordHasher>(),
  passkeys: withoutStore<PasskeyVerifier>(),
};

type PortsList = typeof PORTS;
type Reaching<S> = { [N in keyof PortsList]: PortsList[N] extends Port<unknown, S> ? N : never }[keyof PortsList];
type PortsOf<N extends keyof PortsList> = { readonly [K in N]: NonNullable<PortsList[K]['type']> };

/** Every port. Use cases ask for the few they need with `Pick<Ports, …>`. */
export interface Ports extends PortsOf<keyof PortsList> {
  /** Absent where outputs are not signed. */
  readonly outputSigner?: OutputSigner;
  /** Absent where videos have no thumbnails. */
  readonly videoFrames?: VideoFrames;
  /** Absent where the catalog is not read from a file. */
  readonly catalogSource?: CatalogSource;
}

/** The ports of the database. */
export type DatabasePort = Reaching<'database'>;
export const DATABASE_PORTS = portsOf('database');

/** The ports whose calls reach a store. */
export type StorePort = Reaching<Store>;
export const STORE_PORTS = portsOf('database', 'objects', 'wake-ups');

/** The store that the calls of a port reach. */
export function storeOf(name: StorePort): Store {
  return PORTS[name].store;
}

/** These ports of `from`, without whatever else it has. */
export function pickPorts<N extends keyof Ports>(from: Pick<Ports, N>, names: readonly N[]): Pick<Ports, N> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<Ports, N>;
}

interface Port<T, S> {
  readonly store: S;
  /** Never set; ties the entry to its type. */
  readonly type?: T;
}

function inDatabase<T>(): Port<T, 'database'> {
  return { store: 'database' };
}

function inObjects<T>(): Port<T, 'objects'> {
  return { store: 'objects' };
}

function inWakeUps<T>(): Port<T, 'wake-ups'> {
  return { store: 'wake-ups' };
}

function withoutStore<T>(): Port<T, undefined> {
  return { store: undefined };
}

function portsOf<S extends Store>(...stores: readonly S[]): readonly Reaching<S>[] {
  const names = Object.keys(PORTS) as (keyof PortsList)[];
  return names.filter((name) => (stores as readonly unknown[]).includes(PORTS[name].store)) as Reaching<S>[];
}
