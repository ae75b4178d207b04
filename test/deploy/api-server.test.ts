/**
 * Goal: a real API server accepts the chart, also where Pod Security enforces the level `restricted`.
 * Method: start one without controllers and nodes; create every manifest of every set of values in a strict dry run, each pod
 * on its own as well; install, upgrade, roll back and uninstall with helm, where the test completes the jobs of hooks. A
 * manifest with a mistake has to be refused, so that the checks are known to find one. Only `npm run verify:all` runs it.
 */
import { expect } from 'chai';
import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFullRun, sizeOf } from '../harness/run-sizes.js';
import { ServerAbsent } from '../servers/server-absent.js';
import { ApiServer, type Resource } from './api-server.js';
import { CASES, CHART, documentsOf, EXAMPLES, KUBERNETES_VERSION, pathOf, valuesFileOf } from './chart-files.js';
import { skipWithout } from './tools.js';

const NAMESPACE = 'studio';
const VALUES = [...EXAMPLES.map((name) => `${CHART}/examples/${name}`), ...CASES.map(valuesFileOf)];
/** Kinds of operators that the chart may use; here only their names are known. */
const FOREIGN = [
  { group: 'monitoring.coreos.com', version: 'v1', kind: 'ServiceMonitor', plural: 'servicemonitors' },
  { group: 'keda.sh', version: 'v1alpha1', kind: 'ScaledObject', plural: 'scaledobjects' },
];

interface PodTemplate {
  readonly metadata?: { readonly labels?: object };
  readonly spec: { readonly containers: readonly { readonly securityContext?: object }[] };
}

/** The pod that a manifest makes, if it makes one. */
function podOf({ kind, metadata, spec }: Resource): Resource | undefined {
  const { template } = (spec ?? {}) as { template?: PodTemplate };
  if (!template || (kind !== 'Deployment' && kind !== 'Job')) return undefined;
  const restartPolicy = kind === 'Job' ? {} : { restartPolicy: 'Always' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name: metadata.name },
    spec: { ...template.spec, ...restartPolicy },
  };
}

(isFullRun() ? describe : describe.skip)('the chart on an API server of Kubernetes', function () {
  // The first run builds the server.
  this.timeout(30 * 60_000);
  let server: ApiServer;

  before(async function () {
    expect(VALUES).to.have.length(sizeOf('chartsOnKubernetes'));
    // This suite installs what it needs itself, so it is skipped in CI too where that fails.
    const absent = (error: unknown) => {
      if (error instanceof ServerAbsent) return error.message;
      throw error;
    };
    server = skipWithout(this, await ApiServer.start().catch(absent));
    const labels = Object.fromEntries(
      ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
    );
    await created({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: NAMESPACE, labels } as Resource['metadata'],
    });
    // A controller would make it.
    await created({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
    for (const { group, version, kind, plural } of FOREIGN)
      await created({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          names: { kind, plural },
          scope: 'Namespaced',
          versions: [
            {
              name: version,
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          ],
        },
      });
    await untilKnown();
  });

  after(async () => {
    await server?.stop();
  });

  async function created(resource: Resource): Promise<void> {
    const { status, body } = await server.create(resource, NAMESPACE);
    expect(status, JSON.stringify(body)).to.equal(201);
  }

  /** A definition of kinds takes effect a moment later. */
  async function untilKnown(): Promise<void> {
    for (const { group, version, kind } of FOREIGN)
      for (let tries = 0; tries < 100; tries += 1) {
        const { body } = await server.call('GET', `/apis/${group}/${version}`);
        if (JSON.stringify(body).includes(`"${kind}"`)) break;
        await sleep(100);
      }
  }

  function rendered(values: string): Resource[] {
    const args = ['template', 'demo', pathOf(CHART), '--namespace', NAMESPACE, '--values', pathOf(values)];
    const { stdout, stderr } = spawnSync(server.helm, [...args, '--kube-version', `${KUBERNETES_VERSION}.0`], {
      encoding: 'utf8',
    });
    expect(stderr).to.equal('');
    return documentsOf<Resource>(stdout);
  }

  for (const values of VALUES) {
    it(`accepts every manifest of ${values} in a strict dry run, and its pods at the level restricted`, async () => {
      const manifests = rendered(values);
      for (const manifest of manifests) {
        const { status, body, warnings } = await server.create(manifest, NAMESPACE, true);
        const name = `${manifest.kind} ${manifest.metadata.name}`;
        expect({ status, warnings }, `${name}: ${JSON.stringify(body['message'])}`).to.deep.equal({
          status: 201,
          warnings: [],
        });
      }
      // The level is enforced on pods. A controller, which makes them, would bring their service account.
      const names = new Set(manifests.flatMap((one) => (one.kind === 'ServiceAccount' ? [one.metadata.name] : [])));
      for (const pod of manifests.flatMap((one) => podOf(one) ?? [])) {
        const spec = { ...(pod['spec'] as { serviceAccountName?: string }) };
        if (spec.serviceAccountName !== undefined) expect([...names]).to.include(spec.serviceAccountName);
        delete spec.serviceAccountName;
        const { status, body } = await server.create({ ...pod, spec }, NAMESPACE, true);
        expect(status, `${pod.metadata.name}: ${JSON.stringify(body['message'])}`).to.equal(201);
      }
    });
  }

  it('refuses a misspelt field in a manifest, and a pod with more privileges', async () => {
    const deployment = rendered(VALUES[0] ?? '').find(({ kind }) => kind === 'Deployment');
    if (!deployment) throw new Error('There is no Deployment.');
    const misspelt = { ...deployment, spec: { ...(deployment['spec'] as object), revisionHistoryLimits: 5 } };
    const { status, body } = await server.create(misspelt, NAMESPACE, true);
    expect(status).to.equal(400);
    expect(body['message']).to.include('unknown field "spec.revisionHistoryLimits"');

    const { spec } = podOf(deployment) as unknown as { spec: PodTemplate['spec'] & { serviceAccountName?: string } };
    const { serviceAccountName: _, ...others } = spec;
    const [container] = spec.containers;
    const capabilities = { drop: ['ALL'], add: ['NET_ADMIN'] };
    const privileged = { ...container, securityContext: { ...container?.securityContext, capabilities } };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'privileged' } };
    const refused = await server.create({ ...pod, spec: { ...others, containers: [privileged] } }, NAMESPACE, true);
    expect(refused.status).to.equal(403);
    expect(refused.body['message']).to.include('violates PodSecurity "restricted:latest"');
  });

  it('installs, tests, upgrades, rolls back and uninstalls the chart', async () => {
    const [small, production, groups] = EXAMPLES.map((name) => pathOf(`${CHART}/examples/${name}`));
    const release = ['demo', pathOf(CHART), '--values'];
    await helm(['upgrade', '--install', ...release, small ?? '']);
    expect(await numbers()).to.deep.equal({ 'demo-darkroom-rest': 1, 'demo-darkroom-worker': 1 });
    await helm(['test', 'demo']);
    await helm(['upgrade', ...release, production ?? '']);
    // The number of REST processes is the autoscaler's.
    expect(await numbers()).to.deep.equal({ 'demo-darkroom-rest': 1, 'demo-darkroom-worker': 4 });
    await helm(['upgrade', ...release, groups ?? '']);
    expect(await numbers()).to.include({ 'demo-darkroom-worker-near': 2 });
    await helm(['rollback', 'demo', '1']);
    expect(await numbers()).to.deep.equal({ 'demo-darkroom-rest': 1, 'demo-darkroom-worker': 1 });
    await helm(['uninstall', 'demo']);
    for (const kind of ['Deployment', 'ReplicaSet'])
      expect(await server.list('apps/v1', kind, NAMESPACE)).to.have.length(0);
    expect(await server.list('v1', 'ConfigMap', NAMESPACE)).to.have.length(0);
  });

  it('keeps the job of a failed migration, and repeats a failed install or goes back from a failed upgrade', async () => {
    const values = [pathOf(CHART), '--values', pathOf(`${CHART}/examples/small.yaml`)];
    const install = ['upgrade', '--install', 'demo', ...values];
    expect(await helm(install, 'Failed')).to.include('failed pre-install');
    expect(await namesOf('batch/v1', 'Job')).to.deep.equal(['demo-darkroom-migrate']);
    expect(await numbers()).to.deep.equal({});
    await helm(install);
    const grown = [...install, '--set', 'worker.replicas=7'];
    expect(await helm(grown, 'Failed')).to.include('pre-upgrade hooks failed');
    expect(await namesOf('batch/v1', 'Job')).to.deep.equal(['demo-darkroom-migrate']);
    expect(await numbers()).to.deep.equal({ 'demo-darkroom-rest': 1, 'demo-darkroom-worker': 1 });
    await helm(grown);
    expect(await helm([...install, '--set', 'worker.replicas=9'], 'Failed')).to.include('pre-upgrade hooks failed');
    const history = JSON.parse(await helm(['history', 'demo', '--output', 'json'])) as { status: string }[];
    expect(history.map(({ status }) => status)).to.deep.equal([
      'superseded',
      'superseded',
      'failed',
      'deployed',
      'failed',
    ]);
    await helm(['rollback', 'demo', '4']);
    expect(await numbers()).to.deep.equal({ 'demo-darkroom-rest': 1, 'demo-darkroom-worker': 7 });
    await helm(['uninstall', 'demo']);
    expect(await namesOf('apps/v1', 'Deployment')).to.deep.equal([]);
    expect(await namesOf('batch/v1', 'Job'), 'it stays').to.deep.equal(['demo-darkroom-migrate']);
  });

  async function namesOf(version: string, kind: string): Promise<string[]> {
    return (await server.list(version, kind, NAMESPACE)).map(({ metadata }) => metadata.name);
  }

  async function numbers(): Promise<Record<string, number>> {
    const deployments = await server.list('apps/v1', 'Deployment', NAMESPACE);
    return Object.fromEntries(
      deployments.map(({ metadata, spec }) => [metadata.name, (spec as { replicas: number }).replicas]),
    );
  }

  /**
   * Runs helm to its end, and does meanwhile what a controller does: jobs end as `jobs` says and pods succeed. Answers what it
   * said.
   */
  async function helm(args: readonly string[], jobs: 'Complete' | 'Failed' = 'Complete'): Promise<string> {
    const timeout = args[0] === 'history' ? [] : ['--timeout', '5m'];
    const child = spawn(server.helm, [...args, '--namespace', NAMESPACE, ...timeout], {
      env: { ...process.env, KUBECONFIG: server.kubeconfig },
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    let code: number | null | 'running' = 'running';
    while (code === 'running') {
      await endAll(jobs);
      code = await Promise.race([ended, sleep(200, 'running' as const)]);
    }
    expect(code, said).to.equal(jobs === 'Failed' ? 1 : 0);
    return said;
  }

  async function endAll(jobs: 'Complete' | 'Failed'): Promise<void> {
    const at = new Date().toISOString();
    const condition = (type: string) => ({ type, status: 'True', lastProbeTime: at, lastTransitionTime: at });
    const ended =
      jobs === 'Complete'
        ? { completionTime: at, succeeded: 1, conditions: ['SuccessCriteriaMet', 'Complete'].map(condition) }
        : { failed: 1, conditions: ['FailureTarget', 'Failed'].map(condition) };
    for (const job of await server.list('batch/v1', 'Job', NAMESPACE))
      if (!('conditions' in ((job['status'] as object | undefined) ?? {})))
        await server.patchStatus({ ...job, apiVersion: 'batch/v1', kind: 'Job' }, NAMESPACE, {
          startTime: at,
          ...ended,
        });
    for (const pod of await server.list('v1', 'Pod', NAMESPACE))
      await server.patchStatus({ ...pod, apiVersion: 'v1', kind: 'Pod' }, NAMESPACE, { phase: 'Succeeded' });
  }
});
