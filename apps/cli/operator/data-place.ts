import type { Config } from '../../config/config.js';

/** Where an installation's accounts and generations are, for a person and for a script. Never shows an address's password. */
export function dataPlace({ stores, dataFolder, mongo }: Config): { readonly text: string; readonly json: Readonly<Record<string, string>> } {
  return stores.database === 'mongo'
    ? { text: `Database ${mongo.database}`, json: { database: mongo.database } }
    : { text: dataFolder, json: { data_folder: dataFolder } };
}
