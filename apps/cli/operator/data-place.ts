import type { Config } from '../../config/config.js';

/** Where an installation's accounts and generations are, for a person and for a script. Never shows an address's password. */
export function dataPlace({ file, stores, dataFolder, mongo }: Config): { readonly text: string; readonly json: Readonly<Record<string, string>> } {
  if (stores.database === 'mongo') return { text: `Database ${mongo.database} at ${hostsOf(mongo.url)}`, json: { database: mongo.database } };
  // Whoever meant another folder is most often in the wrong one, with the configuration elsewhere.
  const unconfigured = file === undefined ? ' (no configuration file was found)' : '';
  return { text: `The data folder ${dataFolder}${unconfigured}`, json: { data_folder: dataFolder } };
}

/** What stands between the credentials of a connection string and its path. */
function hostsOf(url = ''): string {
  return /^mongodb(?:\+srv)?:\/\/(?:[^/]*@)?([^/?#@]*)/.exec(url)?.[1] ?? '';
}
