import { readFile } from 'node:fs/promises';
import { FILLED_TEXT, type ObjectsDriver, type ProviderDriver } from 'darkroom-server/adapters/driver';
import { filesDriver } from 'darkroom-server/adapters/files/files-driver';
import { PrefixedObjectStore } from './prefixed-object-store.js';
import { StillProvider } from './still-provider.js';

/** Objects in the data folder under one prefix: the built-in driver, wrapped. */
const prefixedFiles: ObjectsDriver = {
  ...filesDriver,
  name: 'prefixed-files',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { prefix: { ...FILLED_TEXT, default: 'darkroom/', description: 'What every key begins with.' } },
  },
  async open(opening) {
    const { prefix } = opening.options as { readonly prefix: string };
    const inner = await filesDriver.open({
      ...opening,
      takesBytes: (key) => opening.takesBytes(key.slice(prefix.length)),
    });
    return { ...inner, store: new PrefixedObjectStore(inner.store, prefix) };
  },
};

/** Delivers one picture from a file. */
const still: ProviderDriver = {
  kind: 'provider',
  name: 'still',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['picture'],
    properties: {
      picture: {
        ...FILLED_TEXT,
        description: 'The PNG file to deliver; a relative path begins in the folder the program is started in.',
      },
    },
  },
  async open({ options }) {
    const { picture } = options as { readonly picture: string };
    return new StillProvider(await readFile(picture), 'image/png');
  },
};

export default [prefixedFiles, still];
