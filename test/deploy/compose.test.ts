/**
 * Goal: deploy/compose.yaml starts what the program needs, in order, and gives no service more than it needs.
 * Method: read the file as compose does and check every service against the same rules; load its configuration with the
 * program's own loader for each role; create its secrets and check them. The same of the file that replaces its database.
 */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ConfigInvalid } from '../../apps/config/config.js';
import { CallersFile } from '../../apps/grpc/callers.js';
import { driverNames } from '../fixtures/driver-names.js';
import {
  isPinned,
  loadAs,
  pathOf,
  POSTGRES_SECRETS,
  type Role,
  SECRETS,
  stringsIn,
  textOf,
  type Tree,
  VARIABLES,
  yamlOf,
} from './chart-files.js';

/** Reads a file that overrides another one; the keys of values that it replaces completely get an exclamation mark. */
function overrideOf(path: string): Tree {
  return parse(textOf(path).replaceAll(/(\w+): !override/g, '$1!:'), { merge: true }) as Tree;
}

/** Merges two files as compose does: maps by key, lists by concatenation. */
function overridden(under: Tree | undefined, over: Tree): Tree {
  if (Array.isArray(over)) return [...(Array.isArray(under) ? (under as readonly Tree[]) : []), ...(over as Tree[])];
  if (typeof over !== 'object' || over === null) return over;
  const merged = { ...(under as Readonly<Record<string, Tree>> | undefined) };
  for (const [name, tree] of Object.entries(over))
    if (name.endsWith('!')) merged[name.slice(0, -1)] = tree;
    else merged[name] = overridden(merged[name], tree);
  return merged;
}

type SecretUse = string | { readonly source: string; readonly target: string };

interface Service {
  readonly image?: string;
  readonly pull_policy?: string;
  readonly build?: { readonly context: string; readonly dockerfile_inline: string };
  readonly user: string;
  readonly working_dir?: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly cap_add?: readonly string[];
  readonly privileged?: boolean;
  readonly security_opt: readonly string[];
  readonly tmpfs: readonly string[];
  readonly restart: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly secrets?: readonly SecretUse[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly volumes?: readonly {
    readonly type: string;
    readonly source?: string;
    readonly target: string;
    readonly read_only?: boolean;
  }[];
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck: {
    readonly disable?: boolean;
    readonly test?: readonly string[];
    readonly interval?: string;
  };
  readonly stop_grace_period?: string;
  readonly profiles?: readonly string[];
  readonly deploy: {
    readonly replicas?: string;
    readonly resources: { readonly limits: { readonly cpus: string; readonly memory: string; readonly pids: number } };
  };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly configs: Readonly<Record<string, { readonly file: string }>>;
}

const compose = yamlOf<Compose>('deploy/compose.yaml');
const services = Object.entries(compose.services);
const ONE_SHOT = ['migrate', 'mongo-set-up', 'objects-folder'];
const OURS = ['rest', 'worker', 'migrate'];

function service(name: string): Service {
  const found = compose.services[name];
  if (!found) throw new Error(`deploy/compose.yaml has no service ${name}.`);
  return found;
}

function secretsOf({ secrets = [] }: Service): { source: string; target: string }[] {
  return secrets.map((use) => (typeof use === 'string' ? { source: use, target: use } : use));
}

/** The text as compose expands it if no variable is set on the host. A default may contain a variable. */
function byDefault(text: string): string {
  const expanded = text.replaceAll(/\$\{\w+:-([^${}]*)\}/g, '$1');
  return expanded === text ? text : byDefault(expanded);
}

/** The image of a service, or the one that its image with our files is based on. */
function imageOf({ image, build }: Service): string {
  return byDefault(image ?? /^FROM (\S+)$/m.exec(build?.dockerfile_inline ?? '')?.[1] ?? '');
}

function environmentOf({ environment = {} }: Service): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([variable, text]) => [variable, byDefault(text)]));
}

/** The variables of a file that compose reads, with their defaults. */
function variablesIn(text: string): Record<string, string> {
  const found = [...text.matchAll(/\$\{(\w+)(?::-((?:[^${}]|\$\{[^}]*\})*))?/g)];
  return Object.fromEntries(found.map(([, name = '', preset = '']) => [name, byDefault(preset)]));
}

/** Loads the configuration as a process in a container does. */
function loadComposed(
  role: Role,
  without: readonly string[] = [],
  secrets: Readonly<Record<string, string>> = SECRETS,
) {
  const environment = { ...environmentOf(service('rest')), ...secrets };
  const given = Object.entries(environment).filter(([variable]) => !without.includes(variable));
  return loadAs(role, textOf('deploy/config/darkroom.yaml'), Object.fromEntries(given));
}

describe('deploy/compose.yaml', () => {
  for (const [name, described] of services) {
    const { user, read_only, cap_drop, cap_add, privileged, security_opt, tmpfs, deploy } = described;
    it(`runs ${name} with the least privileges`, () => {
      expect(isPinned(imageOf(described)), imageOf(described)).to.equal(true);
      expect(user).to.match(/^[1-9]\d*:[1-9]\d*$/);
      expect({ read_only, cap_drop, cap_add, privileged, security_opt }).to.deep.equal({
        read_only: true,
        cap_drop: ['ALL'],
        cap_add: undefined,
        privileged: undefined,
        security_opt: ['no-new-privileges:true'],
      });
      for (const mount of tmpfs) expect(mount).to.match(/^\/[\w/]+:size=\d+m/);
      const { cpus, memory, pids } = deploy.resources.limits;
      expect([Number(cpus) > 0, /^\d+[MG]$/.test(memory), pids > 0]).to.deep.equal([true, true, true]);
    });
  }

  it('restarts every process, and repeats no one-time step', () => {
    for (const [name, { restart, healthcheck }] of services) {
      expect(restart, name).to.equal(ONE_SHOT.includes(name) ? 'no' : 'unless-stopped');
      expect(healthcheck.disable === true, name).to.equal(ONE_SHOT.includes(name));
    }
  });

  it('runs two processes of each role, and none before the stores are migrated', () => {
    for (const role of ['rest', 'worker']) {
      const { command, deploy, depends_on, healthcheck } = service(role);
      const replicas = byDefault(deploy.replicas ?? '');
      expect({ command, replicas, test: healthcheck.test }).to.deep.equal({
        command: ['serve', '--role', role],
        replicas: '2',
        test: ['CMD', '/app/probe.sh', '/readyz'],
      });
      expect(depends_on).to.deep.equal({ migrate: { condition: 'service_completed_successfully' } });
    }
    expect(service('migrate').command).to.deep.equal(['migrate']);
    // It refuses a catalog that the processes would refuse.
    for (const part of ['environment', 'secrets', 'build'] as const)
      expect(service('migrate')[part], part).to.deep.equal(service('worker')[part]);
    expect(service('migrate').depends_on).to.deep.equal({
      'mongo-set-up': { condition: 'service_completed_successfully' },
      'objects': { condition: 'service_healthy' },
    });
  });

  it('uses the same version of the program for every service', () => {
    const { version } = JSON.parse(textOf('package.json')) as { version: string };
    for (const name of [...OURS, 'objects-folder']) expect(imageOf(service(name))).to.equal(`darkroom:${version}`);
  });

  it('has the files of the configuration in the images, so that a change replaces the containers', () => {
    for (const [name, context, copied] of [
      ...OURS.map((role) => [role, 'config', 'COPY . /etc/darkroom/'] as const),
      ['proxy', 'compose', 'COPY proxy.conf /etc/nginx/darkroom.conf'] as const,
    ]) {
      const { build, pull_policy } = service(name);
      expect({ pull_policy, context: build?.context }, name).to.deep.equal({ pull_policy: 'build', context });
      expect(build?.dockerfile_inline.trim().split('\n').slice(1), name).to.deep.equal([copied]);
    }
    expect(Object.keys(compose.configs)).to.deep.equal(['mongo-set-up']);
  });

  it('starts where the configuration is, since that names its catalog relative to the folder of the start', () => {
    for (const name of OURS) expect(service(name).working_dir, name).to.equal('/etc/darkroom');
    const single = yamlOf<Compose>('deploy/quick-start/compose.yaml').services['darkroom'];
    expect(single?.working_dir).to.equal('/etc/darkroom');
  });

  it('checks the health without starting a runtime, at most four times per minute and container', () => {
    for (const [name, { healthcheck }] of services.filter(([one]) => !ONE_SHOT.includes(one))) {
      expect(healthcheck.test?.[1], name).to.be.oneOf(['/app/probe.sh', 'wget', 'bash']);
      expect(secondsOf(healthcheck.interval), name).to.be.at.least(15);
    }
  });

  for (const role of ['rest', 'worker', 'all'] as const) {
    it(`is configured for the role ${role} as the program requires, and consistently with the other services`, async () => {
      const config = await loadComposed(role);
      expect(driverNames(config)).to.deep.equal({ database: 'mongo', objects: 'minio', wakeUps: 'agenda' });
      expect(config.secretFile).to.equal('/run/secrets/installation_secret');
      expect(config.internal.port).to.equal(9090);
      expect(config.rest.publicUrl).to.equal('http://localhost:8080');
      const {
        endpoint,
        public_endpoint: publicEndpoint,
        bucket,
        region,
      } = config.stores.objects.options as Readonly<Record<string, string>>;
      expect({ endpoint, publicEndpoint }).to.deep.equal({
        endpoint: 'http://objects:9000',
        publicEndpoint: 'http://localhost:9000',
      });
      expect(service('objects').command).to.include.members([':9000', region]);
      const proxy = textOf('deploy/compose/proxy.conf');
      expect(proxy)
        .to.include(`location /${bucket}/ {`)
        .and.to.include(`set $objects ${endpoint};`)
        .and.to.include(`set $rest http://rest:${config.rest.port};`);
      expect(proxy).to.include('client_max_body_size 32m;');
      expect(config.settings.maxUploadBytes).to.be.below(32 * 1024 ** 2);
    });
  }

  it('sets only variables that the program reads', () => {
    for (const name of [...OURS, 'objects-folder']) {
      const { environment = {} } = service(name);
      const targets = secretsOf(service(name))
        .map(({ target }) => target)
        .filter((target) => target !== 'installation_secret');
      expect(
        [...Object.keys(environment), ...targets].filter((variable) => !VARIABLES.has(variable)),
        name,
      ).to.deep.equal([]);
      if (name !== 'objects-folder') expect(targets.sort()).to.deep.equal(Object.keys(SECRETS).sort());
    }
  });

  it('gives each process more time to stop than it needs', async () => {
    const { worker } = await loadComposed('all');
    for (const role of ['rest', 'worker'])
      expect(secondsOf(service(role).stop_grace_period) * 1_000, role).to.be.at.least(worker.stopGraceMs + 10_000);
    expect(secondsOf(service('proxy').stop_grace_period)).to.be.above(worker.stopGraceMs / 1_000);
  });

  it('publishes only the proxy, and by default only to this machine', () => {
    expect(services.filter(([, { ports }]) => ports).map(([name]) => name)).to.deep.equal(['proxy']);
    expect(service('proxy').ports?.map(byDefault)).to.deep.equal(['127.0.0.1:8080:8080', '127.0.0.1:9000:9000']);
  });

  it('serves gRPC only on one internal network, on no port of this machine, and only to listed callers', async () => {
    const { grpc } = await loadComposed('rest');
    expect(grpc).to.deep.equal({
      host: '0.0.0.0',
      port: 50_051,
      callersFile: '/run/grpc/callers.yaml',
      plaintext: true,
    });
    expect(services.filter(([, { networks }]) => networks?.includes('services')).map(([name]) => name)).to.deep.equal([
      'rest',
    ]);
    expect(compose.networks['services']).to.deep.equal({ internal: true });
    expect(services.flatMap(([, { ports = [] }]) => ports).filter((port) => port.includes('50051'))).to.deep.equal([]);
    // The folder is mounted, so that a replaced file is visible in the container.
    expect(service('rest').volumes).to.deep.include.members([
      { type: 'bind', source: 'compose/grpc', target: '/run/grpc', read_only: true },
    ]);
    const callers = textOf('deploy/compose/grpc/callers.yaml');
    expect(new CallersFile(callers, 'callers.yaml').find({ token: '', certificateNames: [] })).to.equal(undefined);
    expect(callers).to.match(/^callers: \[\]$/m);
  });

  it('keeps the files of requests on the disk and not in memory', () => {
    const { tmpfs, volumes = [] } = service('rest');
    expect(tmpfs).to.deep.equal([]);
    expect(volumes.filter((volume) => volume.read_only !== true)).to.deep.equal([{ type: 'volume', target: '/tmp' }]);
  });

  it('refuses to start without a list of callers, or without a setting for TLS', async () => {
    const without = async (variable: string) => await loadComposed('rest', [variable]).catch((error: unknown) => error);
    for (const [key, fault] of [
      ['DARKROOM_GRPC_CALLERS_FILE', 'grpc.port needs grpc.callers_file'],
      ['DARKROOM_GRPC_PLAINTEXT', 'grpc.host 0.0.0.0 is reachable from other machines'],
    ] as const) {
      expect(await without(key))
        .to.be.instanceOf(ConfigInvalid)
        .with.property('message')
        .that.includes(fault);
    }
  });

  it('keeps the stores on internal networks, and the proxy off the network of the database', () => {
    for (const [name, { networks, network_mode }] of services) {
      const isOpen =
        networks?.some((network) => compose.networks[network]?.internal !== true) ?? network_mode !== 'none';
      expect(isOpen, name).to.equal(name === 'proxy');
    }
    const onDatabase = services.filter(([, { networks }]) => networks?.includes('database')).map(([name]) => name);
    expect(onDatabase).to.deep.equal(['rest', 'worker', 'migrate', 'mongo', 'mongo-set-up']);
  });

  it('adds the header that object stores omit, and removes those that requests to signed addresses must not have', () => {
    const proxy = textOf('deploy/compose/proxy.conf');
    expect(proxy).to.include('add_header X-Content-Type-Options nosniff always;');
    for (const name of ['X-Amz-Copy-Source', 'X-Amz-Content-Sha256'])
      expect(proxy).to.include(`proxy_set_header ${name} "";`);
  });

  it('contains no secret, and mounts only files that exist or are generated', () => {
    expect(
      stringsIn(compose.services as unknown as Tree).filter((text) =>
        /:\/\/[^/\s]*:[^/\s]*@|svc_live_|[0-9a-f]{32}/.test(text),
      ),
    ).to.deep.equal([]);
    for (const [name, { environment = {} }] of services) {
      const secretNames = Object.keys(environment).filter(
        (variable) => /PASSWORD|SECRET|ACCESS_KEY|MONGO_URL/.test(variable) && !variable.endsWith('_FILE'),
      );
      expect(secretNames, name).to.deep.equal([]);
    }
    for (const { file } of Object.values(compose.configs))
      expect(existsSync(pathOf(`deploy/${file}`)), file).to.equal(true);
  });
});

describe('deploy/compose.postgres.yaml', () => {
  const merged = overridden(
    yamlOf<Tree>('deploy/compose.yaml'),
    overrideOf('deploy/compose.postgres.yaml'),
  ) as unknown as Compose;
  const started = Object.entries(merged.services).filter(([, { profiles }]) => profiles === undefined);
  const added = (name: 'postgres' | 'postgres-set-up'): Service => merged.services[name] as Service;

  it('starts PostgreSQL in place of MongoDB, and nothing else', () => {
    const others = services.map(([name]) => name).filter((name) => !name.startsWith('mongo'));
    expect(started.map(([name]) => name).sort()).to.deep.equal([...others, 'postgres', 'postgres-set-up'].sort());
    for (const [name, { depends_on = {} }] of started)
      for (const needed of Object.keys(depends_on))
        expect(
          started.map(([one]) => one),
          name,
        ).to.include(needed);
    expect(merged.services['migrate']?.depends_on).to.deep.equal({
      'postgres-set-up': { condition: 'service_completed_successfully' },
      'objects': { condition: 'service_healthy' },
    });
    for (const role of ['rest', 'worker'])
      expect(merged.services[role]?.depends_on).to.deep.equal(service(role).depends_on);
  });

  for (const name of ['postgres', 'postgres-set-up'] as const)
    it(`runs ${name} with the least privileges`, () => {
      const one = added(name);
      expect(imageOf(one)).to.equal('postgres:18.4');
      expect([one.user, one.read_only, one.cap_drop, one.cap_add, one.security_opt]).to.deep.equal([
        '999:999',
        true,
        ['ALL'],
        undefined,
        ['no-new-privileges:true'],
      ]);
      expect([one.networks, one.ports]).to.deep.equal([['database'], undefined]);
      for (const mount of one.tmpfs) expect(mount).to.match(/^\/[\w/]+:size=\d+m/);
      const { cpus, memory, pids } = one.deploy.resources.limits;
      expect([Number(cpus) > 0, /^\d+[MG]$/.test(memory), pids > 0]).to.deep.equal([true, true, true]);
      expect([one.restart, one.healthcheck.disable === true]).to.deep.equal(
        name === 'postgres' ? ['unless-stopped', false] : ['no', true],
      );
    });

  it('checks the health of PostgreSQL with its own program, twice per minute', () => {
    const { test, interval } = added('postgres').healthcheck;
    expect([test?.[1], secondsOf(interval)]).to.deep.equal(['pg_isready', 30]);
  });

  for (const role of ['rest', 'worker', 'all'] as const)
    it(`is configured for the role ${role} as the program requires`, async () => {
      const process = merged.services[role === 'all' ? 'migrate' : role] as Service;
      const config = await loadAs(role, textOf('deploy/config/darkroom.yaml'), {
        ...environmentOf(process),
        ...POSTGRES_SECRETS,
      });
      expect(driverNames(config)).to.deep.equal({ database: 'postgres', objects: 'minio', wakeUps: 'agenda' });
      const targets = secretsOf(process).map(({ target }) => target);
      expect(targets.sort()).to.deep.equal(['installation_secret', ...Object.keys(POSTGRES_SECRETS)].sort());
      expect(process.environment).to.deep.equal({
        ...service('rest').environment,
        DARKROOM_STORES_DATABASE: 'postgres',
      });
    });

  it('mounts only files that exist or are generated, and allows the connections of all processes', async () => {
    for (const { file } of Object.values(merged.configs))
      expect(existsSync(pathOf(`deploy/${file}`)), file).to.equal(true);
    const [, most] = /max_connections=(\d+)/.exec((added('postgres').command ?? []).join(' ')) ?? [];
    const { stores } = await loadAs('rest', textOf('deploy/config/darkroom.yaml'), {
      ...environmentOf(merged.services['rest'] as Service),
      ...POSTGRES_SECRETS,
    });
    const { pool_size: poolSize } = stores.database.options as { readonly pool_size: number };
    // Two processes of each role, and as many more during an upgrade; notifications and streams use separate connections.
    expect(Number(most)).to.be.above(8 * (poolSize + 2) + 10);
    expect(added('postgres').command).to.include('wal_level=logical');
  });
});

function secondsOf(period: string | undefined): number {
  return Number(/^(\d+)s$/.exec(period ?? '')?.[1]);
}

describe('.env.example', () => {
  const files = {
    'deploy/.env.example': ['compose.yaml', 'compose.postgres.yaml', 'compose.provider.yaml', 'compose.tls.yaml'].map(
      (name) => `deploy/${name}`,
    ),
    'deploy/quick-start/.env.example': ['deploy/quick-start/compose.yaml'],
  };
  /** Read by compose itself. */
  const COMPOSE_FILE = 'COMPOSE_FILE';

  for (const [example, readers] of Object.entries(files)) {
    it(`${example} lists every variable of its files, with the default`, () => {
      const used = Object.assign({}, ...readers.map((path) => variablesIn(textOf(path)))) as Record<string, string>;
      const lines = [...textOf(example).matchAll(/^(# )?(\w+)=(.*)$/gm)];
      expect(lines.map(([, , name]) => name).filter((name) => name !== COMPOSE_FILE)).to.have.members(
        Object.keys(used),
      );
      const presets = lines.filter(([, comment, name]) => comment === undefined && name !== COMPOSE_FILE);
      for (const [, , name = '', preset] of presets) expect(used[name], name).to.equal(preset);
    });
  }
});

describe('deploy/compose/proxy.conf', () => {
  it('forwards the address of the client, and no X-Forwarded-For that the client sent', () => {
    const told = [...textOf('deploy/compose/proxy.conf').matchAll(/proxy_set_header X-Forwarded-For (\S+);/g)].map(
      ([, value]) => value,
    );
    expect(told).to.deep.equal(['$remote_addr']);
  });
});

describe('deploy/make-secrets.sh', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-deploy-'));
    cpSync(pathOf('deploy/make-secrets.sh'), join(folder, 'make-secrets.sh'));
  });

  after(() => {
    rmSync(folder, { recursive: true });
  });

  const mounted = ['deploy/compose.yaml', 'deploy/compose.postgres.yaml'].flatMap((path) =>
    Object.values((overrideOf(path) as unknown as Compose).secrets),
  );
  const run = () => spawnSync('sh', [join(folder, 'make-secrets.sh')], { encoding: 'utf8' }).stdout;
  const made = () =>
    Object.fromEntries(
      readdirSync(join(folder, 'secrets')).map((name) => [name, readFileSync(join(folder, 'secrets', name), 'utf8')]),
    );

  it('creates every mounted secret, once, in a folder that only its owner may enter', () => {
    expect(run().trim().split('\n')).to.have.length(mounted.length);
    const first = made();
    expect(
      Object.keys(first)
        .map((name) => `secrets/${name}`)
        .sort(),
    ).to.deep.equal(mounted.map(({ file }) => file).sort());
    expect(statSync(join(folder, 'secrets')).mode & 0o777).to.equal(0o700);
    // A mounted file keeps its mode, and the container's user must be able to read it.
    for (const name of Object.keys(first))
      expect(statSync(join(folder, 'secrets', name)).mode & 0o777, name).to.equal(0o444);
    expect(run()).to.equal('');
    expect(made()).to.deep.equal(first);
  });

  it('creates secrets that the program, MongoDB and the object store accept', async () => {
    const {
      installation_secret,
      mongo_keyfile,
      mongo_url = '',
      objects_access_key = '',
      objects_secret_key = '',
    } = made();
    expect(installation_secret).to.match(/^[0-9a-f]{64}$/);
    expect(mongo_keyfile).to.match(/^[0-9a-f]{512}$/);
    const given = {
      DARKROOM_MONGO_URL: mongo_url,
      DARKROOM_MINIO_ACCESS_KEY: objects_access_key,
      DARKROOM_MINIO_SECRET_KEY: objects_secret_key,
    };
    const { stores } = await loadComposed('rest', [], given);
    const mongo = stores.database.options as { readonly url: string; readonly database: string };
    const url = new URL(mongo.url);
    expect({ user: url.username, host: url.host, database: url.searchParams.get('authSource') }).to.deep.equal({
      user: 'darkroom',
      host: 'mongo:27017',
      database: mongo.database,
    });
    const setUp = textOf('deploy/compose/mongo-set-up.js');
    expect(setUp)
      .to.include(`const SET = '${url.searchParams.get('replicaSet') ?? ''}';`)
      .and.to.include(`const MEMBER = '${url.host}';`);
    expect(service('mongo').command).to.include.members(['--replSet', url.searchParams.get('replicaSet')]);
  });

  it('creates a PostgreSQL URL that the program accepts and the script of the database can read', () => {
    const { postgres_url = '' } = made();
    const { username, host, pathname, password } = new URL(postgres_url);
    expect([username, host, pathname]).to.deep.equal(['darkroom', 'postgres:5432', '/darkroom']);
    expect(password).to.match(/^[0-9a-f]{48}$/);
    const script = textOf('deploy/compose/postgres-set-up.sh');
    const [, reading = ''] = /^credentials=\$\((sed .*) \/run\/secrets\/postgres_url\)$/m.exec(script) ?? [];
    const read = spawnSync('sh', ['-c', `${reading} "$0"`, join(folder, 'secrets', 'postgres_url')], {
      encoding: 'utf8',
    });
    expect(read.stdout.trim()).to.equal(`darkroom:${password}`);
  });
});
