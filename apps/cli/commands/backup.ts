import { resolve } from 'node:path';
import type { Command } from 'commander';
import { FileCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import type { Manifest } from '../../backup/manifest.js';
import { counted, countedBooks } from '../counted.js';
import { Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { configOf, storeCommand, type StoreOptions } from '../operator/store-command.js';
import { isoTime, show } from '../terminal.js';
import { examples } from './examples.js';

const BACKUP = `The server may run. The folder must not be there yet; where it is on the file system of the data folder, objects are linked and take no
space. Keep it as secret as the data folder.`;
const RESTORE = 'The data folder must be empty, and no server may run on it. Afterwards the ledgers are verified.';

/** `darkroom backup` and `darkroom restore`: a data folder, as of one moment. */
export function addBackup(program: Command, io: CliIo): void {
  storeCommand(program, 'backup <folder>')
    .description('copy the data folder of a server, which may run, into a new folder')
    .addHelpText('after', examples(['darkroom backup /backups/2030-01-31'], BACKUP))
    .action((folder: string, options: StoreOptions) => backup(io, resolve(io.folder, folder), options));
  storeCommand(program, 'restore <folder>')
    .description('restore a backup into an empty data folder')
    .addHelpText('after', examples(['darkroom restore /backups/2030-01-31'], RESTORE))
    .action((folder: string, options: StoreOptions) => restore(io, resolve(io.folder, folder), options));
}

async function backup(io: CliIo, folder: string, options: StoreOptions): Promise<void> {
  const config = await configOf(io, options);
  const { makeBackup } = await import('../../backup/make-backup.js');
  const manifest = await makeBackup(config, folder, isoTime(Date.now()));
  const elsewhere = manifest.objects ? '' : ' The objects are in a bucket and not part of it; back that up too.';
  show(
    io,
    {
      json: { backup: folder, ...manifestJson(manifest) },
      text: `The data folder ${config.dataFolder} is backed up to ${folder}${objectsText(manifest)}.${elsewhere}`,
    },
    options,
  );
}

async function restore(io: CliIo, folder: string, options: StoreOptions): Promise<void> {
  const config = await configOf(io, options);
  const { restoreBackup } = await import('../../backup/restore-backup.js');
  const manifest = await restoreBackup(config, folder);
  const { openProgram } = await import('../../wiring/open-program.js');
  const program = await openProgram(config, 'tool', { catalog: new FileCatalog([]) });
  try {
    const { accounts, entries, generations, findings } = await verifyCredits(program.context);
    const text = `The backup of ${manifest.createdAt} is restored to ${config.dataFolder}${objectsText(manifest)}; ${countedBooks({ accounts, entries, generations })} agree.`;
    show(
      io,
      {
        json: { data_folder: config.dataFolder, ...manifestJson(manifest), accounts, entries, generations, findings },
        text: findings.length === 0 ? text : findings.join('\n'),
      },
      options,
    );
    if (findings.length > 0)
      throw new Failure(
        `The backup is restored, but its ledgers do not match in ${counted(findings.length, 'place')}.`,
        undefined,
        'shown',
      );
  } finally {
    await program.close();
  }
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
