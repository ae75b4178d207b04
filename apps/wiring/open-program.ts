import { Container } from 'inversify';
import { tmpdir } from 'node:os';
import { loadCatalog } from '../../adapters/catalog-file/file-catalog.js';
import type { CloseOptions, OpenedAs } from '../../adapters/driver.js';
import { SharpMasks } from '../../adapters/media/sharp-masks.js';
import { SharpMediaProbe } from '../../adapters/media/sharp-media-probe.js';
import { SharpPreviews } from '../../adapters/media/sharp-previews.js';
import { StreamingMediaCleaner } from '../../adapters/media/streaming-media-cleaner.js';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { TOP_LEVEL_DOMAINS } from '../../adapters/system/top-level-domains.js';
import { ScryptHasher } from '../../adapters/system/scrypt-hasher.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { SystemDigests } from '../../adapters/system/system-digests.js';
import { SystemIds } from '../../adapters/system/system-ids.js';
import { WebAuthnVerifier } from '../../adapters/webauthn/webauthn-verifier.js';
import { HttpWebhookSender } from '../../adapters/webhooks/http-webhook-sender.js';
import { type Context, createContext } from '../../core/context.js';
import { StepwiseAcceptances } from '../../core/generation/stepwise-acceptances.js';
import type { Log } from '../../core/log.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { Catalog } from '../../core/ports/catalog.js';
import type { OutputSigner } from '../../core/ports/output-signer.js';
import type { Provider, Providers } from '../../core/ports/provider.js';
import type { GenerationChanges } from '../../core/ports/stores.js';
import { DATABASE_PORTS, pickPorts, type Ports } from '../../core/ports/ports.js';
import { STORE_COUNTS_MS } from '../../core/statistics/outcome-counts.js';
import { takesBytes } from '../../core/uploads/manage-uploads.js';
import { Repetition } from '../../core/waiting.js';
import { type Config, runsWorker } from '../config/config.js';
import { hostAndPort, isUnspecified } from '../config/network-address.js';
import { renderWebhookMessage } from '../http/render/webhook.js';
import { type Metrics, observedPorts } from '../metrics/metrics.js';
import { type Outages, StoreGate } from '../outages/outages.js';
import { AwaitedSchedules } from '../stores/awaited-schedules.js';
import { openDatabase, openingOf, type OpeningNeeds, QUIETLY } from '../stores/open-database.js';
import { type ObjectsNeeds, openObjects, type ProgramObjects } from '../stores/open-objects.js';
import { checkInstallation, hadSecret, isOneOfSeveral, joinInstallation } from '../stores/same-installation.js';
import { catalogTools } from './catalog-tools.js';
import { CurrentCatalog } from './current-catalog.js';
import { openProvider, type ProviderNeeds } from './open-provider.js';
import { givenParts } from './parts.js';
import { openSecrets, type Secrets } from './secrets.js';

export interface Program {
  /** Contains the ports, the context, and what tells whether the stores respond: the first parts of a process. */
  readonly container: Container;
  readonly context: Context;
  /** Serves signed addresses of objects, if the object store has no server itself. */
  readonly signedObjects: SignedObjectGate | undefined;
  /** Reports what other processes write, if the database can. The context listens to it. */
  readonly generationChanges: GenerationChanges | undefined;
  /** Work of the database itself that can wait, a bounded piece of it. Throws `StoreUnavailable`. */
  tidy(): Promise<void>;
  /** Returns the number of models after a reload. Throws `CatalogInvalid`; the catalog then remains unchanged. */
  readCatalogAgain(): Promise<number>;
  /** Closes it with the program, before everything that was kept earlier. */
  keep<T extends Closable>(thing: T): T;
  close(options?: CloseOptions): Promise<void>;
}

interface Closable {
  close(options?: CloseOptions): Promise<void>;
}

export interface ProgramOptions {
  readonly log?: Log;
  /** Replaces the configured file, for work that a faulty catalog must not prevent. */
  readonly catalog?: Catalog;
  /**
   * The URL at which clients reach the REST process, called whenever a URL is signed; the configured one if absent.
   */
  readonly publicUrl?: () => string;
  /** Measures the calls of the ports, if given. */
  readonly metrics?: Metrics | undefined;
  /** Notified of every call that a store could not serve. */
  readonly outages?: Outages | undefined;
}

/**
 * Reads the catalog, opens the stores and assembles the program over them. A `server` has exclusive use of a data
 * folder; a `tool` works beside it. Throws one sentence, or one per line, if the catalog or a store cannot be used.
 */
export async function openProgram(config: Config, role: OpenedAs, options: ProgramOptions = {}): Promise<Program> {
  const catalog = options.catalog ?? (await openCatalog(config, options.log));
  const file = catalog instanceof CurrentCatalog ? catalog : undefined;
  const opened = new Opened();
  const { log = QUIETLY.log, publicUrl = () => configuredUrl(config), metrics, outages } = options;
  const needs = { clock: new SystemClock(), log };
  try {
    const database = opened.keep(await openDatabase(config, role, needs));
    const { stores, generationChanges } = database;
    const secrets = openSecrets(config.secretFile, {
      inUse: await hadSecret(config, database),
      isShared: isOneOfSeveral(config, role),
    });
    const objects = await openInstalledObjects(config, secrets, opened, {
      ...needs,
      as: role,
      publicUrl,
      takesBytes: (key) => takesBytes(stores, key),
      secret: secrets.objects,
      installation: database.installation,
    });
    const wakeUps = await config.stores.wakeUps.driver.open({
      ...openingOf(config, config.stores.wakeUps, needs),
      lent: database.lent,
    });
    opened.keep({ close: async () => wakeUps.close?.() });
    const memory = new MemoryBudget(config.images.memoryBytes);
    const made: Ports = {
      // A driver may have other members there.
      ...pickPorts({ ...stores, acceptances: stores.acceptances ?? new StepwiseAcceptances(stores) }, DATABASE_PORTS),
      objects: objects.store,
      wakeUps,
      webhookSender: opened.keep(openWebhookSender(config, needs)),
      catalog,
      ...(file === undefined ? {} : { catalogSource: file }),
      ...(await openSigner(config, role, needs, opened)),
      providers: providersOf(config, await openProviders(config, { ...needs, memory }, opened)),
      mediaProbe: new SharpMediaProbe({ memory }),
      mediaCleaner: new StreamingMediaCleaner(),
      ...(await openPictures(config, role, memory)),
      clock: needs.clock,
      ids: new SystemIds(),
      digests: new SystemDigests({ secret: secrets.credentials }),
      jsonSchemas: new AjvJsonSchemas(),
      topLevelDomains: TOP_LEVEL_DOMAINS,
      passwords: new ScryptHasher(),
      passkeys: new WebAuthnVerifier(),
    };
    const isReady = (): Promise<boolean> => database.isReady();
    const gate = opened.keep(
      new StoreGate(isReady, new SystemClock({ keepsProcessAlive: false }), () => outages?.refused()),
    );
    const awaited = { ...made, wakeUps: opened.keep(new AwaitedSchedules(wakeUps)) };
    const ports = observedPorts(
      awaited,
      metrics,
      outages?.observer(() => suspectDatabase(config, gate)),
    );
    const boot = { id: ports.ids.uuid(), isExclusive: database.isExclusive };
    const context = createContext(ports, config.settings, log, boot, generationChanges);
    opened.keep(storedCounts(context));
    const container = new Container();
    container.load(givenParts({ ...ports, context, readiness: isReady, requireStores: gate.requireOpen }));
    return {
      container,
      context,
      signedObjects: objects.signedObjects,
      generationChanges,
      tidy: () => database.tidy(),
      readCatalogAgain: async () => file?.readAgain() ?? catalog.models().length,
      keep: (thing) => opened.keep(thing),
      close: (closing) => opened.close(closing),
    };
  } catch (error) {
    // The start's own error says what to do; one of the close that follows it would replace it.
    await opened.close().catch(() => undefined);
    throw error;
  }
}

function openCatalog(config: Config, log: Log = QUIETLY.log): Promise<CurrentCatalog> {
  const { catalog: path } = config;
  return CurrentCatalog.open({
    path,
    load: (name) => loadCatalog(path, catalogTools(config), name),
    clock: new SystemClock(),
    onReloaded: (models) => log.info('catalog read', { catalog: path, models }),
  });
}

/** Stores what the process counts, every few seconds and once more before the stores are closed. */
function storedCounts({ outcomeCounts }: Pick<Context, 'outcomeCounts'>): Closable {
  const clock = new SystemClock({ keepsProcessAlive: false });
  const repetition = new Repetition(clock, STORE_COUNTS_MS, () => outcomeCounts.store());
  return {
    async close() {
      await repetition.stop();
      await outcomeCounts.store();
    },
  };
}

/** Opens the object store, and checks that it, the secret and the database belong to one installation. */
async function openInstalledObjects(
  config: Config,
  { fingerprint: secret }: Secrets,
  opened: Opened,
  needs: ObjectsNeeds,
): Promise<ProgramObjects> {
  const objects = opened.keep(await openObjects(config, needs));
  const join = (identity: () => Promise<string>) =>
    joinInstallation(config, needs.installation, needs.as, { secret, objects: identity });
  if (objects.awaited === undefined) await join(() => objects.identity());
  else {
    await checkInstallation(config, needs.installation, { secret });
    objects.awaited.begin(join);
  }
  return objects;
}

/**
 * A file responds immediately, and may soon accept what it refused for lack of space, so only a database server has a
 * gate.
 */
function suspectDatabase({ stores }: Config, gate: StoreGate): void {
  if (!stores.database.driver.isInDataFolder) gate.suspect();
}

function providersOf({ providers }: Config, connected: ReadonlyMap<string, Provider>): Providers {
  return {
    find: (name) => connected.get(name),
    kind: (name) => providers.get(name)?.driver.name,
    limits: (name) => providers.get(name)?.limits ?? {},
    names: () => [...connected.keys()],
  };
}

/** The signer of outputs, where one is configured. Only a worker signs: nothing else needs its key. */
async function openSigner(
  config: Config,
  as: OpenedAs,
  needs: OpeningNeeds,
  opened: Opened,
): Promise<{ readonly outputSigner?: OutputSigner }> {
  if (config.signer === undefined || as === 'tool' || !runsWorker(config)) return {};
  const signer = await config.signer.driver.open(openingOf(config, config.signer, needs));
  opened.keep({ close: async () => signer.close?.() });
  return { outputSigner: signer };
}

/** Opens the previews, masks and, if a program for it is configured, video frames. */
async function openPictures(
  config: Config,
  as: OpenedAs,
  memory: MemoryBudget,
): Promise<Pick<Ports, 'previews' | 'masks' | 'videoFrames'>> {
  const folder = spoolFolder(config);
  const made = { previews: new SharpPreviews({ memory }), masks: new SharpMasks({ memory, folder }) };
  const { ffmpeg: program } = config.images;
  if (program === undefined || as === 'tool') return made;
  const { FfmpegFrames } = await import('../../adapters/media/ffmpeg-frames.js');
  return { ...made, videoFrames: await FfmpegFrames.open({ program, folder, memory }) };
}

/** One provider for each configured instance, by its name. */
async function openProviders(
  config: Config,
  needs: ProviderNeeds,
  opened: Opened,
): Promise<ReadonlyMap<string, Provider>> {
  const connected = new Map<string, Provider>();
  for (const instance of config.providers.keys()) {
    const provider = await openProvider(config, instance, needs);
    opened.keep({ close: async () => provider.close?.() });
    connected.set(instance, provider);
  }
  return connected;
}

/** Sends webhooks with the task as the REST front shows it. */
function openWebhookSender({ webhooks }: Config, { clock }: OpeningNeeds): HttpWebhookSender {
  return new HttpWebhookSender({
    allow: [...webhooks.allowedHosts, ...webhooks.allowedNetworks],
    clock,
    render: (message) => JSON.stringify(renderWebhookMessage(message)),
  });
}

/** Open resources, which are closed in reverse order. */
class Opened {
  private readonly things: Closable[] = [];

  keep<T extends Closable>(thing: T): T {
    this.things.push(thing);
    return thing;
  }

  /** Closes everything, even if one fails to close; then throws the first error. */
  async close(options?: CloseOptions): Promise<void> {
    const failures: unknown[] = [];
    for (const thing of this.things.toReversed()) {
      try {
        await thing.close(options);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * The folder for files that requests bring and make. The folder for temporary files may be in memory; the data folder, where
 * there is one, is not.
 */
export function spoolFolder({ stores, dataFolder }: Config): string {
  const { database, objects } = stores;
  return [database, objects].some(({ driver }) => driver.isInDataFolder === true) ? dataFolder : tmpdir();
}

/** The address a client uses when the operator names none: that of this machine where the service listens on all of its addresses. */
export function configuredUrl({ rest }: Pick<Config, 'rest'>, port = rest.port): string {
  const host = isUnspecified(rest.host) ? '127.0.0.1' : rest.host;
  return rest.publicUrl ?? `http://${hostAndPort({ host, port })}`;
}
