import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf, textOf } from './project-files.js';

export const CHART = 'deploy/helm/darkroom';
/** Values to render the chart with: only what is required, and everything that is optional. */
export const CASES = ['least', 'full'] as const;
export type Case = (typeof CASES)[number];

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
