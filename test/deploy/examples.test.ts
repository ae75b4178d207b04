/**
 * Goal: a release with any of the chart's examples starts: the program accepts the configuration and the catalog of every
 * process.
 * Method: render each example with helm and the files that its comment names; load what each pod would mount with the
 * program's own loaders.
 */
import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalog } from '../../adapters/catalog-file/file-catalog.js';
import { catalogTools } from '../../apps/wiring/catalog-tools.js';
import {
  CHART,
  documentsOf,
  EXAMPLES,
  KUBERNETES_VERSION,
  loadAs,
  pathOf,
  POSTGRES_SECRETS,
  type Role,
  SECRETS,
  textOf,
} from './chart-files.js';
import { findHelm, type Helm, skipWithout } from './tools.js';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string; readonly valueFrom?: unknown }[];
        }[];
        readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
      };
    };
  };
}

/** The models of each process, by the example: their keys, or their number. */
const MODELS: Readonly<Record<(typeof EXAMPLES)[number], Readonly<Record<string, number | readonly string[]>>>> = {
  'small.yaml': { migrate: 4, rest: 4, worker: 4 },
  'production.yaml': { migrate: 4, rest: 4, worker: 4 },
  'worker-groups.yaml': {
    'migrate': ['sdxl', 'flux-schnell'],
    'rest': ['sdxl', 'flux-schnell'],
    'worker': ['sdxl', 'flux-schnell'],
    'worker-near': ['sdxl'],
  },
};

describe('examples of the chart', () => {
  let helm: Helm;
  let folder: string;

  before(function () {
    helm = skipWithout(this, findHelm());
    folder = mkdtempSync(join(tmpdir(), 'darkroom-examples-'));
  });

  after(() => {
    if (folder) rmSync(folder, { recursive: true });
  });

  /** The arguments that the comment of an example names, with the paths of this project. */
  function filesOf(example: string): string[] {
    return [...textOf(`${CHART}/examples/${example}`).matchAll(/--set-file '?([^=\s]+)=([^'\s]+)/g)].flatMap(
      ([, key, path]) => ['--set-file', `${key}=${pathOf(path ?? '')}`],
    );
  }

  function rendered(example: string): Manifest[] {
    const { code, output, complaint } = helm.run([
      'template',
      'demo',
      pathOf(CHART),
      '--kube-version',
      `${KUBERNETES_VERSION}.0`,
      '--values',
      pathOf(`${CHART}/examples/${example}`),
      ...filesOf(example),
    ]);
    expect(code, complaint).to.equal(0);
    return documentsOf<Manifest>(output);
  }

  /** Loads what a pod mounts at /etc/darkroom, and answers the keys of its models. */
  async function modelsOf({ spec }: Manifest, manifests: readonly Manifest[]): Promise<string[]> {
    const [container] = spec.template.spec.containers;
    const mounted = spec.template.spec.volumes.find(({ name }) => name === 'config')?.configMap?.name;
    const { data = {} } =
      manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === mounted) ?? {};
    for (const [name, text] of Object.entries(data)) writeFileSync(join(folder, name), text);
    const secrets = (container?.env ?? []).flatMap(({ name, valueFrom }) => (valueFrom ? [[name, 'a-key']] : []));
    const role = (container?.args[0] === 'serve' ? container.args[2] : 'all') as Role;
    const config = await loadAs(role, data['darkroom.yaml'] ?? '', {
      ...Object.fromEntries(secrets),
      ...SECRETS,
      ...POSTGRES_SECRETS,
    });
    const catalog = config.catalog.replace('/etc/darkroom', folder);
    const loaded = await loadCatalog(catalog, catalogTools({ ...config, catalog }));
    return loaded.models().map(({ modelKey }) => modelKey);
  }

  for (const example of EXAMPLES) {
    it(`with ${example} every process accepts its configuration and its catalog`, async () => {
      const manifests = rendered(example);
      const pods = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
      const found: Record<string, unknown> = {};
      for (const pod of pods) {
        const name = pod.metadata.name.replace('demo-darkroom-', '');
        const keys = await modelsOf(pod, manifests);
        found[name] = typeof MODELS[example][name] === 'number' ? keys.length : keys;
      }
      expect(found).to.deep.equal(MODELS[example]);
    });
  }
});
