import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFIG_KEYS, variableOf } from '../../apps/config/config-keys.js';
import type { Config } from '../../apps/config/config.js';
import { loadConfig } from '../../apps/config/load-config.js';

export type Role = Config['role'];

/**
 * The variables that the program accepts: those of its keys, and the one that names its file. Beside them there is one for
 * each option of an instance that its file names.
 */
export const VARIABLES: ReadonlySet<string> = new Set([...[...CONFIG_KEYS.keys()].map(variableOf), 'DARKROOM_CONFIG']);

/** Values that a secret would contain, by the variable that passes them. */
export const SECRETS = {
  DARKROOM_MONGO_URL: 'mongodb://darkroom:not-a-password@mongo:27017/?replicaSet=rs0',
  DARKROOM_MINIO_ACCESS_KEY: 'an-access-key',
  DARKROOM_MINIO_SECRET_KEY: 'not-a-secret',
} as const;

/** Secrets that few installations need. */
export const OPTIONAL_SECRETS = {
  DARKROOM_MINIO_UPLOAD_ACCESS_KEY: 'an-upload-key',
  DARKROOM_MINIO_UPLOAD_SECRET_KEY: 'not-a-secret',
  DARKROOM_SIGN_IN_PROVIDER_CLIENT_SECRET: 'not-a-secret',
  DARKROOM_PROVIDERS_FAL_API_KEY: 'a-key-of-fal',
  DARKROOM_PROVIDERS_OWN_API_API_KEY: 'a-key-of-own-api',
} as const;

/** Loads a darkroom.yaml as the program would in a container. Throws `ConfigInvalid` with what is wrong. */
export async function loadAs(role: Role, text: string, environment: Readonly<Record<string, string>>): Promise<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-deploy-'));
  try {
    const file = join(folder, 'darkroom.yaml');
    writeFileSync(file, text);
    return await loadConfig({ file, role, environment, folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
