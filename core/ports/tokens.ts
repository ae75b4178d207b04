import type { Catalog } from './catalog.js';
import type { Clock, Digests, Ids, JsonSchemas, PasskeyVerifier, PasswordHasher } from './machine.js';
import type { MediaCleaner, MediaProbe, Previews } from './media.js';
import type { ObjectStore } from './object-store.js';
import type { OutputSigner } from './output-signer.js';
import type { WebhookSender } from './outside.js';
import type { Providers } from './provider.js';
import type {
  AcceptanceStore,
  AccountStore,
  ArtefactStore,
  ClaimStore,
  CredentialStore,
  DeliveryStore,
  GenerationStore,
  PersonStore,
  ProviderUseStore,
  UploadStore,
  UsageStore,
  WebhookEndpointStore,
} from './stores.js';
import type { WakeUps } from './wake-ups.js';

/** Every port, by the name it is wired under. Use cases ask for the few they need with `Pick<Ports, …>`. */
export interface Ports {
  readonly accounts: AccountStore;
  readonly generations: GenerationStore;
  readonly claims: ClaimStore;
  readonly acceptances: AcceptanceStore;
  readonly uploads: UploadStore;
  readonly credentials: CredentialStore;
  readonly people: PersonStore;
  readonly artefacts: ArtefactStore;
  readonly providerUses: ProviderUseStore;
  readonly webhookEndpoints: WebhookEndpointStore;
  readonly deliveries: DeliveryStore;
  readonly usage: UsageStore;
  readonly objects: ObjectStore;
  readonly wakeUps: WakeUps;
  readonly webhookSender: WebhookSender;
  readonly providers: Providers;
  readonly catalog: Catalog;
  readonly mediaProbe: MediaProbe;
  readonly mediaCleaner: MediaCleaner;
  /** Absent where outputs are not signed. */
  readonly outputSigner?: OutputSigner;
  readonly previews: Previews;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly digests: Digests;
  readonly jsonSchemas: JsonSchemas;
  readonly passwords: PasswordHasher;
  readonly passkeys: PasskeyVerifier;
}

/** A name with the type of what is bound to it, so that a wrong binding does not compile. */
export interface Token<T> {
  readonly id: symbol;
  /** Never set; ties the token to its type. */
  readonly of?: T;
}

function token<K extends keyof Ports>(name: K): Token<NonNullable<Ports[K]>> {
  return { id: Symbol.for(`darkroom.${name}`) };
}

export const TOKENS = {
  accounts: token('accounts'),
  generations: token('generations'),
  claims: token('claims'),
  acceptances: token('acceptances'),
  uploads: token('uploads'),
  credentials: token('credentials'),
  people: token('people'),
  artefacts: token('artefacts'),
  providerUses: token('providerUses'),
  webhookEndpoints: token('webhookEndpoints'),
  deliveries: token('deliveries'),
  usage: token('usage'),
  objects: token('objects'),
  wakeUps: token('wakeUps'),
  webhookSender: token('webhookSender'),
  providers: token('providers'),
  catalog: token('catalog'),
  mediaProbe: token('mediaProbe'),
  mediaCleaner: token('mediaCleaner'),
  outputSigner: token('outputSigner'),
  previews: token('previews'),
  clock: token('clock'),
  ids: token('ids'),
  digests: token('digests'),
  jsonSchemas: token('jsonSchemas'),
  passwords: token('passwords'),
  passkeys: token('passkeys'),
} satisfies { readonly [K in keyof Ports]: Token<Ports[K]> };
