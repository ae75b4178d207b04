import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { findProgram, type FoundProgram } from '../servers/find-program.js';
import { freePort } from '../servers/free-port.js';
import { installProgram } from '../servers/install-program.js';
import type { Install } from '../servers/program-install.js';
import { fromDebian, fromGo, type Program } from '../servers/programs.js';
import { ServerAbsent } from '../servers/server-absent.js';
import { supervision } from '../servers/supervision.js';
import { HELM_VERSION, KUBERNETES_VERSION } from './chart-files.js';
import { helmPath } from './tools.js';

const PATCH = '4';
/** An object of Kubernetes, as JSON. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Record<string, string>;
  };
  readonly [part: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** The server's warnings, for example about a pod that a level of Pod Security would refuse. */
  readonly warnings: readonly string[];
}

const PROGRAMS = {
  etcd: {
    name: 'etcd',
    title: 'etcd',
    variables: [],
    commands: ['etcd'],
    installs: [fromDebian('etcd-server', 'usr/bin/etcd', ['--version'])],
  },
  apiServer: {
    name: 'kube-apiserver',
    title: 'the API server of Kubernetes',
    variables: [],
    commands: ['kube-apiserver'],
    installs: [apiServerFromGo(`${KUBERNETES_VERSION}.${PATCH}`)],
  },
  helm: {
    name: 'helm',
    title: 'helm',
    variables: [],
    commands: ['helm'],
    installs: [{ ...fromGo('helm.sh/helm/v3/cmd/helm', HELM_VERSION, 'helm'), versionArgs: ['version', '--short'] }],
  },
} as const satisfies Readonly<Record<string, Program>>;

/** The staging modules of Kubernetes are replaced by their released versions; the server reports the version linked here. */
function apiServerFromGo(version: string): Install {
  const [major = '', minor = ''] = version.split('.');
  const linked = 'k8s.io/component-base/version';
  const lines = [
    'cd "$0"',
    `mod=$(go mod download -json k8s.io/kubernetes@v${version} | sed -n 's/.*"GoMod": "\\(.*\\)".*/\\1/p')`,
    `{ echo 'module apiserver'; sed -n '/^go /p' "$mod"; echo 'require k8s.io/kubernetes v${version}'`,
    `sed -n 's#^[[:space:]]*\\(k8s.io/[a-z-]*\\) => \\./staging/.*#replace \\1 => \\1 v0${version.slice(major.length)}#p' "$mod"; } > go.mod`,
    `go build -mod=mod -buildvcs=false -o bin/kube-apiserver -ldflags "-s -w -X ${linked}.gitVersion=v${version} -X ${linked}.gitMajor=${major} -X ${linked}.gitMinor=${minor}" k8s.io/kubernetes/cmd/kube-apiserver`,
  ];
  return {
    tool: 'go',
    needs: 'Go',
    version: `v${version}`,
    commands: (folder) => [{ program: 'sh', args: ['-ec', lines.join('\n'), folder] }],
    places: ['bin/kube-apiserver'],
  };
}

async function installed(program: Program): Promise<FoundProgram> {
  const found = findProgram(program);
  if (found) return found;
  if (process.env['TEST_SERVERS_INSTALL'] === 'never')
    throw new ServerAbsent(`${program.title} is not on this machine, and TEST_SERVERS_INSTALL says never.`);
  console.log(`  Installing ${program.title}, once on this machine; a build from source takes some minutes.`);
  return installProgram(program).catch((error: unknown) => {
    throw new ServerAbsent(`${program.title} could not be installed: ${(error as Error).message}.`);
  });
}

const TOKEN = 'administrator';
const READY_TRIES = 600;
const BETWEEN_TRIES_MS = 200;

/**
 * An API server of Kubernetes with its store, and no controller or node: it validates, stores and returns objects, and
 * nothing runs. It ends with the test process.
 */
export class ApiServer {
  private readonly agent = new Agent({ connect: { rejectUnauthorized: false } });

  private constructor(
    private readonly url: string,
    /** The path of helm. */
    readonly helm: string,
    /** For helm. */
    readonly kubeconfig: string,
    private readonly ends: readonly (() => Promise<unknown>)[],
  ) {}

  /** Throws ServerAbsent with a sentence where its programs are not there and cannot be installed. */
  static async start(): Promise<ApiServer> {
    const helm = helmPath() ?? (await installed(PROGRAMS.helm)).path;
    const [etcd, program] = [await installed(PROGRAMS.etcd), await installed(PROGRAMS.apiServer)];
    const supervisor = await supervision();
    const folder = supervisor.freshFolder();
    const [store, peers, port] = [await freePort(), await freePort(), await freePort()];
    const start = async (name: string, path: string, args: readonly string[]) => {
      const environment = { PATH: process.env['PATH'] ?? '', HOME: folder };
      const logFile = join(folder, `${name}.log`);
      const { pid, untilEnded } = await supervisor
        .start({ program: path, args: [...args], environment, folder, logFile, endSignal: 'SIGKILL' })
        .then((started) => ({ pid: started.pid, untilEnded: () => started.untilEnded() }));
      return () => {
        process.kill(pid, 'SIGKILL');
        return untilEnded();
      };
    };
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const endOfStore = await start('etcd', etcd.path, [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=http://127.0.0.1:${store}`,
      `--advertise-client-urls=http://127.0.0.1:${store}`,
      `--listen-peer-urls=http://127.0.0.1:${peers}`,
    ]);
    const endOfServer = await start('kube-apiserver', program.path, [
      `--etcd-servers=http://127.0.0.1:${store}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      `--token-auth-file=${file('tokens.csv', `${TOKEN},administrator,1,system:masters\n`)}`,
      '--authorization-mode=AlwaysAllow',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-signing-key-file=${file('accounts.key', privateKey)}`,
      `--service-account-key-file=${file('accounts.pub', publicKey)}`,
      '--service-cluster-ip-range=10.96.0.0/16',
    ]);
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = file(
      'kubeconfig',
      JSON.stringify({
        'apiVersion': 'v1',
        'kind': 'Config',
        'clusters': [{ name: 'test', cluster: { 'server': url, 'insecure-skip-tls-verify': true } }],
        'users': [{ name: 'test', user: { token: TOKEN } }],
        'contexts': [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
        'current-context': 'test',
      }),
    );
    const server = new ApiServer(url, helm, kubeconfig, [endOfServer, endOfStore]);
    await server.untilReady();
    return server;
  }

  async stop(): Promise<void> {
    for (const end of this.ends) await end();
    await this.agent.close();
  }

  async call(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<Answer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await request(`${this.url}${path}`, {
      dispatcher: this.agent,
      method,
      headers: { 'authorization': `Bearer ${TOKEN}`, 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const warnings = [answer.headers['warning'] ?? []].flat();
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
      warnings,
    };
  }

  /** Creates an object. With `isDry` nothing is stored, and a field that the server does not know is refused. */
  async create(resource: Resource, namespace: string, isDry = false): Promise<Answer> {
    const path = await this.pathOf(resource, namespace);
    return this.call('POST', `${path}${isDry ? '?dryRun=All&fieldValidation=Strict' : ''}`, resource);
  }

  /** The objects of a kind in a namespace. */
  async list(apiVersion: string, kind: string, namespace: string): Promise<readonly Resource[]> {
    const path = await this.pathOf({ apiVersion, kind }, namespace);
    return ((await this.call('GET', path)).body['items'] ?? []) as Resource[];
  }

  async patchStatus(resource: Resource, namespace: string, status: unknown): Promise<Answer> {
    const path = await this.pathOf(resource, namespace);
    return this.call('PATCH', `${path}/${resource.metadata.name}/status`, { status });
  }

  private async pathOf(
    { apiVersion, kind }: Pick<Resource, 'apiVersion' | 'kind'>,
    namespace: string,
  ): Promise<string> {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { body } = await this.call('GET', root);
    const known = (body['resources'] ?? []) as { name: string; kind: string; namespaced: boolean }[];
    const found = known.find((one) => one.kind === kind && !one.name.includes('/'));
    if (!found) throw new Error(`The server does not know ${kind} of ${apiVersion}.`);
    return `${root}${found.namespaced ? `/namespaces/${namespace}` : ''}/${found.name}`;
  }

  private async untilReady(): Promise<void> {
    for (let tries = 0; tries < READY_TRIES; tries += 1) {
      const answer = await this.call('GET', '/readyz').catch(() => undefined);
      if (answer?.status === 200) return;
      await sleep(BETWEEN_TRIES_MS);
    }
    throw new Error('The API server did not become ready.');
  }
}
