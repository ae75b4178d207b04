import { resolve } from 'node:path';
import { FileCatalog, loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import type { Manifest } from '../../backup/manifest.js';
import type { Config } from '../../config/config.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { type CliCommand, operatorCommand, storeCommand } from '../command.js';
import { Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { configOf, dataPlace, EVERYTHING, type StoreOptions } from '../operator/with-operator.js';
import { counted, countedBooks, facts, isoTime, say, show, type Shown } from '../terminal.js';

const BACKUP = `The server may run. The folder must not be there yet; where it is on the file system of the data folder, objects are linked and take no
space. Keep it as secret as the data folder.`;
const RESTORE = 'The data folder must be empty, and no server may run on it. Afterwards the ledgers are verified.';

/** `darkroom backup` and `darkroom restore`: a data folder, as of one moment. */
export function addBackup(program: CliCommand): void {
  const { io } = program;
  storeCommand(program, 'backup <folder>')
    .description('copy the data folder of a server, which may run, into a new folder')
    .examples(['darkroom backup /backups/2030-01-31'], BACKUP)
    .shows((folder: string, options: StoreOptions) => backup(io, resolve(io.folder, folder), options));
  storeCommand(program, 'restore <folder>')
    .description('restore a backup into an empty data folder')
    .examples(['darkroom restore /backups/2030-01-31'], RESTORE)
    .action((folder: string, options: StoreOptions) => restore(io, resolve(io.folder, folder), options));
}

async function backup(io: CliIo, folder: string, options: StoreOptions): Promise<Shown> {
  const config = await configOf(io, options);
  const { makeBackup } = await import('../../backup/make-backup.js');
  const manifest = await makeBackup(config, folder, isoTime(Date.now()));
  const elsewhere = manifest.objects ? '' : ' The objects are in a bucket and not part of it; back that up too.';
  return {
    json: { backup: folder, ...manifestJson(manifest) },
    text: `The data folder ${config.dataFolder} is backed up to ${folder}${objectsText(manifest)}.${elsewhere}`,
  };
}

async function restore(io: CliIo, folder: string, options: StoreOptions): Promise<void> {
  const config = await configOf(io, options);
  const { restoreBackup } = await import('../../backup/restore-backup.js');
  const manifest = await restoreBackup(config, folder);
  const { openProgram } = await import('../../wiring/open-program.js');
  const program = await openProgram(config, 'tool', { catalog: new FileCatalog([]) });
  try {
    const verified = await verifyCredits(program.context);
    const text = `The backup of ${manifest.createdAt} is restored to ${config.dataFolder}${objectsText(manifest)}; ${countedBooks(verified)} agree.`;
    const json = { data_folder: config.dataFolder, ...manifestJson(manifest), ...verified };
    const sentence = (places: string) => `The backup is restored, but its ledgers do not match in ${places}.`;
    // Shown before the close, which may fail: the restore is complete by now.
    show(io, { json, ...agreement(verified.findings, text, sentence) }, options);
  } finally {
    await program.close();
  }
}

/** The text of a verification, and the failure of one that found something. */
function agreement(findings: readonly string[], text: string, sentenceOf: (places: string) => string) {
  if (findings.length === 0) return { text };
  const sentence = sentenceOf(counted(findings.length, 'place'));
  return { text: findings.join('\n'), failure: new Failure(sentence, undefined, 'shown') };
}

function objectsText({ objects }: Manifest): string {
  return objects === undefined ? '' : `, with ${counted(objects.files, 'object')}`;
}

function manifestJson({ release, createdAt, databaseSha256, objects }: Manifest) {
  return {
    release,
    created_at: createdAt,
    database_sha256: databaseSha256,
    ...(objects === undefined ? {} : { objects }),
  };
}

const ABOUT_MIGRATE = `Run it before the first start over a new database or bucket, and before the processes of a new release. It may be
repeated, and may run beside servers of this release and the one before. With a faulty catalog it changes nothing.`;

/** `darkroom migrate`: checks the catalog, then makes and checks collections, indexes and bucket. */
export function addMigrate(program: CliCommand): void {
  const { io } = program;
  storeCommand(program, 'migrate')
    .description('create what the stores need: collections, indexes, the bucket and its rules')
    .option('--check', 'change nothing, only check whether everything exists')
    .examples(['darkroom migrate', 'darkroom migrate --check --config distributed.yaml'], ABOUT_MIGRATE)
    .shows(async (options: StoreOptions & { readonly check?: boolean }) => {
      const config = await configOf(io, options);
      // No server would start with a faulty catalog, so nothing is made for one.
      await loadCatalog(config.catalog, catalogTools(config));
      const done = options.check ? await check(config) : await make(io, config);
      const text = [...done, `${dataPlace(config).text} is ready; ${io.command} serve starts the service.`].join('\n');
      return { json: { ...dataPlace(config).json, done }, text };
    });
}

async function check(config: Config): Promise<readonly string[]> {
  const { checkStores } = await import('../../stores/migrate-stores.js');
  await checkStores(config);
  return [];
}

/** Opens everything afterwards as a server does, which makes the rest and refuses what is wrong. */
async function make(io: CliIo, config: Config): Promise<readonly string[]> {
  const { migrateStores } = await import('../../stores/migrate-stores.js');
  const done: string[] = [];
  try {
    await migrateStores(config, {
      tell: (line) => done.push(line),
    });
    await openAsServer(config);
  } catch (error) {
    // Print what was created before the failure.
    for (const line of done) say(io, line);
    throw error;
  }
  return done;
}

async function openAsServer(config: Config): Promise<void> {
  const { configuredUrl, openProgram } = await import('../../wiring/open-program.js');
  const { checkObjects } = await import('../../stores/open-objects.js');
  const program = await openProgram(config, 'tool', { catalog: new FileCatalog([]) });
  try {
    await checkObjects(config, { clock: program.context.clock, publicUrl: () => configuredUrl(config) });
  } finally {
    await program.close();
  }
}

const ABOUT_COPY = `No process may use the installation, nor the new database, which must be empty. Outputs and uploads are copied from a
folder to a bucket; otherwise both configurations name the same place. An interrupted copy is not used; the next one starts
over.`;

/** `darkroom copy`: moves a stopped installation from SQLite or MongoDB to PostgreSQL. */
export function addCopy(program: CliCommand): void {
  const { io } = program;
  storeCommand(program, 'copy')
    .description('copy a stopped installation into the empty database of another configuration')
    .requiredOption('--to <file>', 'the configuration that names the new database')
    .examples(['darkroom copy --config darkroom.yaml --to new.yaml'], ABOUT_COPY)
    .action((options: StoreOptions & { readonly to: string }) => copy(io, options));
}

async function copy(io: CliIo, options: StoreOptions & { readonly to: string }): Promise<void> {
  const [source, target] = [await configOf(io, options), await configOf(io, { config: options.to })];
  const { copyInstallation } = await import('../../copy/copy-installation.js');
  const { rows, verified, objects } = await copyInstallation(source, target, (line) => {
    if (!options.json) say(io, line);
  });
  const [from, to] = [dataPlace(source).text, dataPlace(target).text];
  const files = objects === undefined ? '' : `, with ${counted(objects.objects, 'object')}`;
  const text = `${from} is copied to ${to}${files}; ${countedBooks(verified)} agree.`;
  const sentence = (found: string) => `The copy is complete, but its ledgers do not match in ${found}.`;
  const json = { ...dataPlace(target).json, rows, ...(objects === undefined ? {} : { objects }), ...verified };
  show(io, { json, ...agreement(verified.findings, text, sentence) }, options);
}

/** `darkroom verify`: recomputes every account from its ledger. */
export function addVerify(program: CliCommand): void {
  operatorCommand(program, 'verify')
    .description('recompute every account from its ledger and compare it with its generations')
    .examples(['darkroom verify'])
    .operates(async ({ credits, json }) => {
      const verified = await credits.verifyCredits({}, EVERYTHING);
      const looked = countedBooks(verified);
      const sentence = (places: string) => `The ledgers do not match in ${places} (${looked} looked at).`;
      return { json: json(verified), ...agreement(verified.findings, `${looked} agree.`, sentence) };
    });
}

const ABOUT_RECOVER =
  'Workers do this by themselves on a schedule. A second run immediately after finds nothing to do.';

/** `darkroom recover`: does again what was cut, without waiting for a worker's next pass. */
export function addRecover(program: CliCommand): void {
  operatorCommand(program, 'recover')
    .description('complete what a crash interrupted: lost wake-ups, credits that stayed reserved, expired uploads')
    .examples(['darkroom recover'], ABOUT_RECOVER)
    .operates(
      async ({ operations, json }) => {
        const totals = json(await operations.runRecovery({}, EVERYTHING)) as Readonly<Record<string, number>>;
        const lines = Object.entries(totals).map(([name, count]) => [name.replaceAll('_', ' '), count]);
        return { json: totals, text: facts(Object.fromEntries(lines)) };
      },
      { catalog: true },
    );
}
