import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { CONFIG_KEYS, variableOf } from '../../apps/config/keys.js';
import type { Config } from '../../apps/config/config.js';
import { loadConfig } from '../../apps/config/load-config.js';
import { ROOT } from '../docs/pages.js';

/** Any content of a YAML or JSON file. */
export type Tree = string | number | boolean | null | readonly Tree[] | { readonly [name: string]: Tree };

export function pathOf(path: string): string {
  return join(ROOT, path);
}

export function textOf(path: string): string {
  return readFileSync(pathOf(path), 'utf8');
}

/** A YAML file with its merge keys resolved, as compose reads it. */
export function yamlOf<T>(path: string): T {
  return parse(textOf(path), { merge: true }) as T;
}

/** Every document of a file with several documents. */
export function documentsOf<T>(text: string): T[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as T)
    .filter((document) => document !== null);
}

/** Every string of a tree, at any depth. */
export function stringsIn(tree: Tree): string[] {
  if (typeof tree === 'string') return [tree];
  return tree === null || typeof tree !== 'object' ? [] : Object.values(tree).flatMap(stringsIn);
}

/** Whether an image has a version tag with at least two numbers, or a digest. */
export function isPinned(image: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(image) || /:v?\d+\.\d+(?:\.\d+)?(?:-[\w.-]+)?$/.test(image);
}

export const CHART = 'deploy/helm/darkroom';
/** Values to render the chart with: only what is required, and everything that is optional. */
export const CASES = ['least', 'full'] as const;
export type Case = (typeof CASES)[number];

/** The values that users begin with, in examples/ of the chart. */
export const EXAMPLES = ['small.yaml', 'production.yaml', 'worker-groups.yaml'] as const;

export const HELM_VERSION = 'v3.18.6';
/** The Kubernetes version for which manifests are rendered, and against which they are checked. */
export const KUBERNETES_VERSION = '1.34';

export function valuesFileOf(name: Case): string {
  return `${CHART}/ci/${name}-values.yaml`;
}

export function renderedFileOf(name: Case): string {
  return `test/deploy/rendered/${name}.yaml`;
}

/** The arguments with which helm renders the manifests of a case. */
export function templateArguments(name: Case): string[] {
  return [
    'template',
    'demo',
    pathOf(CHART),
    '--namespace',
    'studio',
    '--kube-version',
    `${KUBERNETES_VERSION}.0`,
    '--values',
    pathOf(valuesFileOf(name)),
  ];
}

/** Identifies the chart from which the manifests were rendered, so that outdated ones are detected without helm. */
export function headerOf(): string {
  return `# By helm ${HELM_VERSION} from a chart whose files digest to ${chartDigest()}; node dist/test/deploy/render.js renders anew.\n`;
}

function chartDigest(): string {
  const digest = createHash('sha256');
  const paths = readdirSync(pathOf(CHART), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
  for (const path of paths) {
    if (statSync(join(pathOf(CHART), path)).isFile())
      digest
        .update(`${path}\0`)
        .update(readFileSync(join(pathOf(CHART), path)))
        .update('\0');
  }
  return digest.digest('hex').slice(0, 32);
}

export function renderedText(name: Case): string {
  return textOf(renderedFileOf(name));
}

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

const { DARKROOM_MONGO_URL: _, ...SECRETS_OF_OBJECTS } = SECRETS;

/** The same secrets for PostgreSQL. */
export const POSTGRES_SECRETS = {
  DARKROOM_POSTGRES_URL: 'postgres://darkroom:not-a-password@postgres:5432/darkroom?sslmode=disable',
  ...SECRETS_OF_OBJECTS,
} as const;

/** The database of each case. */
export const DATABASES = { least: 'postgres', full: 'mongo' } as const satisfies Record<Case, string>;

/** Secrets that few installations need. */
export const OPTIONAL_SECRETS = {
  DARKROOM_MINIO_UPLOAD_ACCESS_KEY: 'an-upload-key',
  DARKROOM_MINIO_UPLOAD_SECRET_KEY: 'not-a-secret',
  DARKROOM_SIGN_IN_PROVIDER_CLIENT_SECRET: 'not-a-secret',
  DARKROOM_PROVIDERS_FAL_API_KEY: 'a-key-of-fal',
  DARKROOM_PROVIDERS_OWN_API_API_KEY: 'a-key-of-own-api',
} as const;

/** Loads a darkroom.yaml as the program would in a container. Throws `ConfigInvalid` with the faults. */
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
