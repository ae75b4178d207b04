/**
 * Goal: the chart's manifests start the program as it requires, with the least privileges.
 * Method: read the manifests that were rendered for the fewest and for all values; check every pod against the same
 * rules; load its configuration with the program's own loader, and its catalog with the catalog's.
 */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { parseCatalog } from '../../adapters/catalog-file/file-catalog.js';
import type { Config } from '../../apps/config/config.js';
import { variableOf } from '../../apps/config/keys.js';
import { catalogTools } from '../../apps/wiring/catalog-tools.js';
import { driverNames } from '../fixtures/driver-names.js';
import {
  type Case,
  CASES,
  DATABASES,
  documentsOf,
  isPinned,
  loadAs,
  OPTIONAL_SECRETS,
  POSTGRES_SECRETS,
  renderedText,
  type Role,
  SECRETS,
  stringsIn,
  textOf,
  type Tree,
  valuesFileOf,
  VARIABLES,
  yamlOf,
} from './chart-files.js';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: {
    readonly requests: Readonly<Record<string, string>>;
    readonly limits: Readonly<Record<string, string>>;
  };
  readonly securityContext: unknown;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

interface MountedSecret {
  readonly secretName: string;
  readonly defaultMode: number;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly hostNetwork?: boolean;
  readonly securityContext: unknown;
  readonly terminationGracePeriodSeconds?: number;
  readonly topologySpreadConstraints?: readonly { readonly topologyKey: string }[];
  readonly containers: readonly Container[];
  readonly volumes: readonly {
    readonly name: string;
    readonly configMap?: { readonly name: string };
    readonly secret?: MountedSecret;
    readonly emptyDir?: { readonly sizeLimit: string };
  }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly automountServiceAccountToken?: boolean;
  readonly spec: {
    readonly replicas?: number;
    readonly strategy?: unknown;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> } & Readonly<Record<string, string>>;
    readonly ingress?: readonly {
      readonly ports: readonly { readonly port: string }[];
      readonly from?: readonly unknown[];
    }[];
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

const USER = 10_001;
/** Additions of the full case to every pod, and the name of the worker group `own`. */
const EXTRA = { variables: ['HTTPS_PROXY', 'NODE_OPTIONS'], volume: 'authority', group: 'demo-darkroom-worker-own' };
const OPTIONAL = [
  // One belongs to a worker group with some of the providers, one is an extra manifest.
  'ConfigMap',
  'ConfigMap',
  'Deployment',
  'HorizontalPodAutoscaler',
  'Ingress',
  'NetworkPolicy',
  'NetworkPolicy',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'Service',
  'Service',
  'ServiceMonitor',
];
const ALWAYS = [
  'ConfigMap',
  'ConfigMap',
  'Deployment',
  'Deployment',
  'Job',
  // The pod of `helm test`.
  'Pod',
  'PodDisruptionBudget',
  'PodDisruptionBudget',
  'Service',
  'ServiceAccount',
];

for (const name of CASES) {
  describe(`manifests of ${name} values`, () => {
    const manifests = documentsOf<Manifest>(renderedText(name));
    const pods = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment');

    function textOfConfig(configMap: string): Readonly<Record<string, string>> {
      return manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap)?.data ?? {};
    }

    async function configOf({ spec }: Manifest, role: Role) {
      const { volumes } = spec.template.spec;
      const files = textOfConfig(volumes.find((volume) => volume.configMap)?.configMap?.name ?? '');
      const given = new Set(spec.template.spec.containers[0]?.env.map((variable) => variable.name));
      const secrets = Object.entries({ ...SECRETS, ...POSTGRES_SECRETS, ...OPTIONAL_SECRETS }).filter(([variable]) =>
        given.has(variable),
      );
      return { files, config: await loadAs(role, files['darkroom.yaml'] ?? '', Object.fromEntries(secrets)) };
    }

    it('have the requested kinds', () => {
      expect(manifests.map(({ kind }) => kind).sort()).to.deep.equal(
        (name === 'full' ? [...ALWAYS, ...OPTIONAL] : ALWAYS).sort(),
      );
    });

    for (const pod of pods) {
      const {
        metadata,
        spec: { template },
      } = pod;
      const [container, ...others] = template.spec.containers;
      if (!container) throw new Error(`${metadata.name} has no container.`);

      it(`run ${metadata.name} with the least privileges`, () => {
        const { automountServiceAccountToken, enableServiceLinks, hostNetwork, securityContext } = template.spec;
        // Kubernetes names variables after services. For a service named darkroom, the program would refuse some of them.
        expect({ automountServiceAccountToken, enableServiceLinks, hostNetwork }).to.deep.equal({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          hostNetwork: undefined,
        });
        expect(securityContext).to.deep.equal({
          runAsNonRoot: true,
          runAsUser: USER,
          runAsGroup: USER,
          fsGroup: USER,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        expect(container.securityContext).to.deep.equal({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(others.map((other) => other.name)).to.deep.equal(metadata.name === EXTRA.group ? ['tunnel'] : []);
        expect(isPinned(container.image), container.image).to.equal(true);
        expect(Object.keys(container.resources.requests).sort()).to.deep.equal(['cpu', 'memory']);
        expect(container.resources.limits).to.have.property('memory');
        const writable = container.volumeMounts
          .filter(({ readOnly }) => readOnly !== true)
          .map(({ mountPath }) => mountPath);
        expect(writable).to.deep.equal(['/tmp']);
      });

      it(`give ${metadata.name} more room in /tmp than the files of requests may take`, async () => {
        const { config } = await configOf(pod, 'all');
        const [, mebibytes] =
          /^(\d+)Mi$/.exec(template.spec.volumes.find((one) => one.name === 'tmp')?.emptyDir?.sizeLimit ?? '') ?? [];
        expect(Number(mebibytes) * 1024 ** 2).to.be.greaterThan(config.openai.spoolBytes);
      });

      it(`give ${metadata.name} its secrets by reference, and only variables that the program reads`, async () => {
        const { config } = await configOf(pod, 'all');
        const variables = container.env
          .map((variable) => variable.name)
          .filter((one) => !EXTRA.variables.includes(one));
        const ofProviders = [...config.providers.keys()].map((instance) => variableOf(`providers.${instance}.api_key`));
        expect(variables.filter((one) => !VARIABLES.has(one) && !ofProviders.includes(one))).to.deep.equal([]);
        const isExtra = (variable: { readonly name: string }) => EXTRA.variables.includes(variable.name);
        expect(container.env.filter((one) => one.value !== undefined && !isExtra(one))).to.deep.equal([
          { name: 'DARKROOM_CONFIG', value: '/etc/darkroom/darkroom.yaml' },
        ]);
        expect(container.env.filter(isExtra).map((variable) => variable.name)).to.deep.equal(
          name === 'full' ? EXTRA.variables.slice(0, metadata.name === EXTRA.group ? 2 : 1) : [],
        );
        expect(
          container.env
            .filter(({ valueFrom }) => valueFrom?.secretKeyRef)
            .map((variable) => variable.name)
            .sort(),
        ).to.deep.equal(
          Object.keys(name === 'full' ? { ...SECRETS, ...OPTIONAL_SECRETS } : POSTGRES_SECRETS)
            .filter((variable) => metadata.name !== EXTRA.group || !variable.endsWith('_FAL_API_KEY'))
            .sort(),
        );
      });

      it(`give ${metadata.name} the key of each provider that has a secret`, async () => {
        const { config } = await configOf(pod, 'all');
        const keys = [...config.providers].flatMap(([instance, { options }]) =>
          options['api_key'] === undefined ? [] : [[instance, options['api_key']]],
        );
        expect(keys).to.deep.equal(keysOf(name, metadata.name).map(([instance, key]) => [instance, key]));
        const references = container.env.filter((variable) => variable.name.startsWith('DARKROOM_PROVIDERS_'));
        expect(references.map(({ valueFrom }) => valueFrom?.secretKeyRef)).to.deep.equal(
          keysOf(name, metadata.name).map(([, , reference]) => reference),
        );
      });

      for (const role of rolesOf(container)) {
        it(`configure ${metadata.name} as the program requires for the role ${role}`, async () => {
          const { files, config } = await configOf(pod, role);
          expect(driverNames(config)).to.deep.equal({
            database: DATABASES[name],
            objects: 'minio',
            wakeUps: 'agenda',
          });
          expect(container.volumeMounts.some(({ mountPath }) => config.secretFile === `${mountPath}/secret`)).to.equal(
            true,
          );
          expect(config.catalog.startsWith('/etc/darkroom/')).to.equal('catalog.yaml' in files);
          if (files['catalog.yaml'] !== undefined)
            expect(files['workflow.json'], 'a file of the catalog').to.match(/^\{.*\}$/m);
          if (files['catalog.yaml'] !== undefined)
            expect(modelsIn(files['catalog.yaml'], config)).to.deep.equal(
              metadata.name === EXTRA.group ? ['noop'] : ['noop', 'flux'],
            );
        });
      }

      it(`mount only volumes that ${metadata.name} defines, and secrets that only its group may read`, () => {
        expect(container.volumeMounts.map((mount) => mount.name).sort()).to.deep.equal(
          template.spec.volumes.map((volume) => volume.name).sort(),
        );
        const secrets = template.spec.volumes.flatMap(({ secret }) => secret ?? []);
        expect(secrets.map(({ defaultMode }) => defaultMode)).to.deep.equal(secrets.map(() => 0o440));
        const isCalled = metadata.labels['app.kubernetes.io/component'] === 'rest' && name === 'full';
        expect(
          secrets.map(({ secretName }) => secretName).slice(1),
          'those of gRPC only where it is served',
        ).to.deep.equal(isCalled ? ['studio-callers', 'studio-grpc-tls'] : []);
      });
    }

    for (const pod of deployments) {
      const { metadata, spec } = pod;
      const [container] = spec.template.spec.containers;
      const component = metadata.labels['app.kubernetes.io/component'];
      const role = component === 'rest' ? 'rest' : 'worker';

      it(`probe ${metadata.name} at the port where it listens`, async () => {
        const { config } = await configOf(pod, role);
        const ports = Object.fromEntries((container?.ports ?? []).map((port) => [port.name, port.containerPort]));
        const called = {
          http: config.rest.port,
          ...(config.grpc.port === undefined ? {} : { grpc: config.grpc.port }),
        };
        expect(ports).to.deep.equal({ ...(role === 'rest' ? called : {}), internal: config.internal.port });
        expect(config.internal.host).to.equal('0.0.0.0');
        const { startupProbe, livenessProbe, readinessProbe } = container ?? {};
        expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).to.deep.equal(
          ['/livez', '/livez', '/readyz'].map((path) => ({ path, port: 'internal' })),
        );
        // If a store is unavailable, the pod becomes unready but is not killed.
        expect((livenessProbe?.periodSeconds ?? 0) * (livenessProbe?.failureThreshold ?? 0)).to.be.at.least(60);
      });

      it(`give ${metadata.name} more time to stop than it needs`, async () => {
        const { config } = await configOf(pod, role);
        const [sleep, seconds] = container?.lifecycle?.preStop.exec.command ?? [];
        expect(sleep).to.equal('sleep');
        expect((spec.template.spec.terminationGracePeriodSeconds ?? 0) * 1_000).to.be.at.least(
          Number(seconds) * 1_000 + config.worker.stopGraceMs + 5_000,
        );
      });

      it(`update ${metadata.name} without downtime, and spread it over zones and nodes`, () => {
        expect(spec.strategy).to.deep.equal({
          type: 'RollingUpdate',
          rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
        });
        expect(spec.template.spec.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)).to.deep.equal([
          'topology.kubernetes.io/zone',
          'kubernetes.io/hostname',
        ]);
        const isScaled = manifests.some(
          ({ kind, metadata: of }) => kind === 'HorizontalPodAutoscaler' && of.name === metadata.name,
        );
        expect(spec.replicas === undefined).to.equal(isScaled);
        const budget = manifests.find(
          ({ kind, metadata: of }) => kind === 'PodDisruptionBudget' && of.name === metadata.name,
        );
        expect(budget?.spec.selector.matchLabels).to.deep.equal(spec.selector.matchLabels);
        expect(spec.template.metadata.labels).to.include(spec.selector.matchLabels);
      });
    }

    it('give every process the catalog as it was given, with words that YAML 1.1 reads as booleans', () => {
      const given = yamlOf<{ readonly catalog?: string }>(valuesFileOf(name)).catalog;
      const texts = manifests.flatMap(({ data = {} }) => ('darkroom.yaml' in data ? [data['catalog.yaml']] : []));
      expect(texts.map((text) => text?.trimEnd())).to.deep.equal(texts.map(() => given?.trimEnd()));
      expect(texts).to.have.length(name === 'full' ? 3 : 2);
      if (name === 'full') expect(given).to.include('count_parameter: n,');
    });

    it('route clients only to the pods of REST', () => {
      const service = manifests.find(
        ({ kind, metadata }) => kind === 'Service' && metadata.labels['app.kubernetes.io/component'] === 'rest',
      );
      const reached = deployments.filter(({ spec }) =>
        Object.entries(service?.spec.selector ?? {}).every(
          ([label, value]) => spec.template.metadata.labels[label] === value,
        ),
      );
      expect(reached.map(({ metadata }) => metadata.labels['app.kubernetes.io/component'])).to.deep.equal(['rest']);
    });

    it('route internal services to the pods of REST, and mount the files of gRPC there', async () => {
      const rest = deployments.find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'rest');
      if (!rest) throw new Error('There is no REST.');
      const {
        config: { grpc },
      } = await configOf(rest, 'rest');
      const service = manifests.find(
        ({ kind, metadata }) => kind === 'Service' && metadata.labels['app.kubernetes.io/component'] === 'grpc',
      );
      if (name === 'least') return expect([grpc.port, service]).to.deep.equal([undefined, undefined]);
      // Its type is not published, and it has no shared address for all pods.
      expect(service?.spec).to.deep.equal({
        clusterIP: 'None',
        ports: [{ name: 'grpc', port: grpc.port, targetPort: 'grpc' }],
        selector: rest.spec.selector.matchLabels,
      });
      const {
        volumes,
        containers: [container],
      } = rest.spec.template.spec;
      const mounted = volumes.flatMap(({ name: volume, secret }) => {
        const folder = container?.volumeMounts.find((mount) => mount.name === volume)?.mountPath ?? '';
        return (secret?.items ?? []).map(({ path }) => `${folder}/${path}`);
      });
      const { callersFile, tlsCertFile, tlsKeyFile, tlsClientCaFile, ...others } = grpc;
      expect(mounted).to.include.members([callersFile, tlsCertFile, tlsKeyFile, tlsClientCaFile]);
      return expect(others).to.deep.equal({ host: '0.0.0.0', port: 50_051, plaintext: false });
    });

    it('admit only listed peers to gRPC if there are network policies', () => {
      const rules = manifests.filter(({ kind }) => kind === 'NetworkPolicy').flatMap(({ spec }) => spec.ingress ?? []);
      const toGrpc = rules.filter(({ ports }) => ports.some(({ port }) => port === 'grpc'));
      expect(toGrpc.map(({ from }) => from?.length)).to.deep.equal(name === 'full' ? [1] : []);
    });

    it('test an installation with two requests that make nothing', () => {
      const pod = manifests.find(({ kind }) => kind === 'Pod') as unknown as {
        spec: PodSpec;
        metadata: Manifest['metadata'];
      };
      expect(pod.metadata.annotations?.['helm.sh/hook']).to.equal('test');
      const [container, ...others] = pod.spec.containers;
      expect(others).to.deep.equal([]);
      expect(container?.args.join()).to.include("of ['/healthz', '/readyz']").and.not.to.include('POST');
      expect(container?.env).to.deep.equal([{ name: 'SERVICE_URL', value: 'http://demo-darkroom:80' }]);
      // No process listens on this port.
      const away = spawnSync(process.execPath, ['--input-type=module', '--eval', container?.args[0] ?? ''], {
        encoding: 'utf8',
        env: { ...process.env, SERVICE_URL: 'http://127.0.0.1:2' },
      });
      expect(away.stdout + away.stderr).to.equal(
        ['/healthz', '/readyz'].map((path) => `http://127.0.0.1:2${path} does not answer (ECONNREFUSED).\n`).join(''),
      );
      expect(away.status).to.equal(1);
    });

    it('migrate before anything is rolled out, with the new configuration', () => {
      const hooks = manifests.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook']?.startsWith('pre-'));
      expect(
        hooks.map(({ kind, metadata }) => [
          kind,
          metadata.annotations?.['helm.sh/hook'],
          metadata.annotations?.['helm.sh/hook-weight'],
        ]),
      ).to.deep.equal([
        ['ConfigMap', 'pre-install,pre-upgrade', '-5'],
        ['Job', 'pre-install,pre-upgrade', '0'],
      ]);
      const [configMap, job] = hooks;
      expect(configMap?.data).to.deep.equal(textOfConfig('demo-darkroom'));
      expect(job?.spec.template.spec.containers[0]?.args).to.deep.equal(['migrate']);
      // The resources of the release do not exist yet.
      expect(job?.spec.template.spec.serviceAccountName).to.equal(undefined);
      expect(job?.spec.template.spec.volumes.find((volume) => volume.configMap)?.configMap?.name).to.equal(
        configMap?.metadata.name,
      );
    });

    it('contain no secret, and no account that may call the Kubernetes API', () => {
      expect(manifests.filter(({ kind }) => kind === 'Secret' || kind.includes('Role'))).to.deep.equal([]);
      expect(manifests.find(({ kind }) => kind === 'ServiceAccount')?.automountServiceAccountToken).to.equal(false);
      expect(
        stringsIn(manifests as unknown as Tree).filter((text) =>
          /mongodb(\+srv)?:\/\/|postgres(ql)?:\/\/|svc_live_|:\/\/[^/\s]*:[^/\s]*@/.test(text),
        ),
      ).to.deep.equal([]);
    });
  });
}

function modelsIn(catalog: string, config: Config): string[] {
  return parseCatalog(catalog, 'catalog.yaml', catalogTools(config))
    .models()
    .map(({ modelKey }) => modelKey);
}

/** The keys of providers that a pod has: the instance, the key, and the reference to its secret. */
function keysOf(name: Case, pod: string) {
  const fal = ['fal', 'a-key-of-fal', { name: 'studio-fal', key: 'api-key' }] as const;
  const own = ['own-api', 'a-key-of-own-api', { name: 'studio-api', key: 'token' }] as const;
  if (name === 'least') return [];
  return pod === EXTRA.group ? [own] : [fal, own];
}

function rolesOf({ args }: Container): Role[] {
  return args[0] === 'serve' ? [args[2] as Role] : ['all'];
}

describe('values that reach the manifests', () => {
  const full = documentsOf<Manifest>(renderedText('full' satisfies Case));

  it('keep the labels by which the page restarts every process, with those of groups, and finds the migration', () => {
    const page = textOf('docs/deploying/kubernetes.md');
    // The page names its release darkroom, these manifests are of a release demo.
    expect(page).to.include('kubectl rollout restart deploy -l app.kubernetes.io/instance=darkroom`');
    const deployments = full.filter(({ kind }) => kind === 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.labels['app.kubernetes.io/instance'])).to.deep.equal([
      'demo',
      'demo',
      'demo',
    ]);
    expect(page).to.include('kubectl describe pod -l app.kubernetes.io/component=migrate\n');
    const job = full.find(({ kind }) => kind === 'Job');
    expect(job?.spec.template.metadata.labels['app.kubernetes.io/component']).to.equal('migrate');
  });

  it('let only the workers of a group leave out models: as REST, its configuration refuses the catalog', async () => {
    const files = full.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === EXTRA.group)?.data ?? {};
    for (const role of ['rest', 'all'] as const) {
      const config = await loadAs(role, files['darkroom.yaml'] ?? '', { ...SECRETS, ...OPTIONAL_SECRETS });
      expect(() => modelsIn(files['catalog.yaml'] ?? '', config), role).to.throw(
        'models[1].provider must be a connected provider, one of own-api, sandbox; fal is none.',
      );
    }
  });

  it('keep integers as integers, and round a grace period up', async () => {
    const [configMap] = full.filter(({ kind }) => kind === 'ConfigMap');
    const secrets = { ...SECRETS, ...OPTIONAL_SECRETS };
    const { settings, worker } = await loadAs('rest', configMap?.data?.['darkroom.yaml'] ?? '', secrets);
    expect(settings.maxUploadBytes).to.equal(10_485_760);
    expect(worker.stopGraceMs).to.equal(45_500);
    expect(full.find(({ kind }) => kind === 'Deployment')?.spec.template.spec.terminationGracePeriodSeconds).to.equal(
      5 + 46 + 10,
    );
  });
});
