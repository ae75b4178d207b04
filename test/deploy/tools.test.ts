/**
 * Goal: the files for Docker, compose, helm and Kubernetes are valid by the rules of those tools.
 * Method: run their own checkers, if a package registry has them. No checker is required: the other tests of this folder
 * check the project's own rules without them.
 */
import { expect } from 'chai';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CASES,
  CHART,
  documentsOf,
  EXAMPLES,
  headerOf,
  KUBERNETES_VERSION,
  pathOf,
  renderedFileOf,
  renderedText,
  templateArguments,
  textOf,
  valuesFileOf,
} from './chart-files.js';
import { type Checkers, findHelm, type Helm, pythonCheckers, skipWithout } from './tools.js';

describe('helm', () => {
  let helm: Helm;

  before(function () {
    helm = skipWithout(this, findHelm());
  });

  for (const name of CASES) {
    it(`reports no error for the chart with ${name} values`, () => {
      const { code, output } = helm.run(['lint', '--strict', pathOf(CHART), '--values', pathOf(valuesFileOf(name))]);
      expect(code, output).to.equal(0);
    });

    it(`renders ${name} values to the manifests in the project`, () => {
      expect(headerOf() + helm.run(templateArguments(name)).output).to.equal(renderedText(name));
    });
  }

  for (const example of EXAMPLES) {
    it(`reports no error for the chart with examples/${example}`, () => {
      const path = pathOf(`${CHART}/examples/${example}`);
      const { code, output } = helm.run(['lint', '--strict', pathOf(CHART), '--values', path]);
      expect(code, output).to.equal(0);
    });
  }

  const refusals = {
    'worker.replica=3': "additional properties 'replica' not allowed",
    'config.rest.prot=8081': "additional properties 'prot' not allowed",
    'config.minio.secret_key=hush': "additional properties 'secret_key' not allowed",
    'config.stores.database=sqlite': "value must be one of 'mongo', 'postgres'",
    'image.tag=latest': "'not' failed",
    'image.repository=': 'image.repository must say where the image of deploy/Dockerfile is.',
    'secrets.postgres.existingSecret=': "secrets.postgres.existingSecret must name a secret with PostgreSQL's address.",
    'config.stores.database=mongo': "secrets.mongo.existingSecret must name a secret with MongoDB's address.",
    'config.grpc.port=50051,config.grpc.plaintext=true':
      'secrets.grpc.callers.existingSecret must name a secret with the file of callers.',
    'config.grpc.port=50051,secrets.grpc.callers.existingSecret=callers':
      'secrets.grpc.tls.existingSecret must name a secret with a certificate and its key, or config.grpc.plaintext say that something in front encrypts.',
    'workerGroups.x.providers={fal}': 'workerGroups.x.providers has fal, which is not in config.providers.',
    'config.providers=null,workerGroups.x.providers={fal}':
      'workerGroups.x.providers has fal, which is not in config.providers.',
    'secrets.providers.fal.existingSecret=key': 'secrets.providers has fal, which is not in config.providers.',
    'config.providers=null,secrets.providers.fal.existingSecret=key':
      'secrets.providers has fal, which is not in config.providers.',
    'worker.enabled=false': 'worker.enabled is false and workerGroups has no group: no process would run generations.',
    'config.minio.endpoint=null': 'config.minio.endpoint must say where the object store is.',
  };

  for (const [given, sentence] of Object.entries(refusals)) {
    it(`refuses ${given} with an explanation`, () => {
      const { code, complaint } = helm.run([...templateArguments('least'), '--set', given]);
      expect(code).to.equal(1);
      expect(complaint).to.include(sentence);
    });
  }
});

describe('the address for clients', () => {
  let helm: Helm;
  let chart: string;

  before(function () {
    helm = skipWithout(this, findHelm());
    chart = mkdtempSync(join(tmpdir(), 'darkroom-chart-'));
    cpSync(pathOf(CHART), chart, { recursive: true });
    // Without a cluster helm shows no notes, so this copy has them in a manifest as well.
    const notes = textOf(`${CHART}/templates/NOTES.txt`);
    writeFileSync(
      join(chart, 'templates/notes.yaml'),
      `{{- define "notes" -}}${notes}{{- end -}}\nkind: Notes\nnotes: {{ include "notes" . | toJson }}\n`,
    );
  });

  after(() => {
    if (chart) rmSync(chart, { recursive: true });
  });

  const ingress = 'ingress.enabled=true,ingress.host=a.example';
  const cases = {
    '': ['null', 'config.rest.public_url is not set, and there is no Ingress to take it from'],
    [ingress]: ['http://a.example', 'address for clients: http://a.example.'],
    [`${ingress},ingress.tlsSecret=tls`]: ['https://a.example', 'address for clients: https://a.example.'],
    [`${ingress},config.rest.public_url=https://b.example`]: [
      'https://b.example',
      'address for clients: https://b.example.',
    ],
  } as const;

  for (const [given, [address, note]] of Object.entries(cases)) {
    it(`is ${address} with ${given || 'neither an Ingress nor a value'}, as the notes say`, () => {
      const args = templateArguments('least').map((argument) => (argument === pathOf(CHART) ? chart : argument));
      const { code, output, complaint } = helm.run([...args, '--set', given]);
      expect(code, complaint).to.equal(0);
      // In the configuration of the processes, and in that of the migration.
      const found = [...output.matchAll(/^ +public_url: (\S+)$/gm)].map(([, url]) => url);
      expect(found).to.deep.equal([address, address]);
      const [notes] = documentsOf<{ kind: string; notes: string }>(output).filter(({ kind }) => kind === 'Notes');
      expect(notes?.notes).to.include(note);
    });
  }
});

describe('checkers from Python packages', () => {
  let checkers: Checkers;
  let folder: string;

  before(function () {
    this.timeout(10 * 60_000);
    checkers = skipWithout(this, pythonCheckers());
    folder = mkdtempSync(join(tmpdir(), 'darkroom-deploy-'));
  });

  after(() => {
    if (folder) rmSync(folder, { recursive: true });
  });

  it('hadolint reports no error for the Dockerfile, and an error for a faulty copy', () => {
    const { code, text } = checkers.hadolint([pathOf('deploy/Dockerfile')]);
    expect(code, text).to.equal(0);
    writeFileSync(join(folder, 'Dockerfile'), textOf('deploy/Dockerfile').replace('WORKDIR /app', 'WORKDIR app'));
    expect(checkers.hadolint([join(folder, 'Dockerfile')]).text).to.include('DL3000');
  });

  it('compose accepts the compose files, and refuses an unknown key in one', () => {
    for (const file of ['deploy/compose.yaml', 'deploy/quick-start/compose.yaml']) {
      const { code, text } = checkers.compose(['-f', pathOf(file), 'config', '--quiet']);
      expect(code, text).to.equal(0);
    }
    writeFileSync(
      join(folder, 'compose.yaml'),
      textOf('deploy/compose.yaml').replace('  proxy:\n', '  proxy:\n    replicas: 2\n'),
    );
    const worse = checkers.compose(['-f', join(folder, 'compose.yaml'), 'config', '--quiet']);
    expect(worse.code).not.to.equal(0);
    expect(worse.text).to.include("additional properties 'replicas' not allowed");
  });

  describe('overrides of deploy/compose.yaml', () => {
    interface Composed {
      readonly services: Readonly<
        Record<
          string,
          {
            readonly networks?: Readonly<Record<string, unknown>>;
            readonly ports?: readonly { readonly published: string }[];
            readonly secrets?: readonly { readonly target: string }[];
            readonly environment?: Readonly<Record<string, string>>;
            readonly depends_on?: Readonly<Record<string, unknown>>;
            readonly read_only: boolean;
            readonly cap_drop: readonly string[];
            readonly user: string;
          }
        >
      >;
      readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
    }

    /** All files together, with names of the two addresses. */
    const composed = (...overrides: readonly string[]): Composed => {
      const variables = join(folder, 'variables');
      writeFileSync(variables, 'SERVICE_HOST=a.example\nOBJECTS_HOST=b.example\n');
      const files = ['compose.yaml', ...overrides].flatMap((name) => ['-f', pathOf(`deploy/${name}`)]);
      const { code, text } = checkers.compose(['--env-file', variables, ...files, 'config', '--format', 'json']);
      expect(code, text).to.equal(0);
      return JSON.parse(text) as Composed;
    };
    const open = ({ services, networks }: Composed) =>
      Object.entries(services)
        .filter(([, { networks: own = {} }]) => Object.keys(own).some((name) => networks[name]?.internal !== true))
        .map(([name]) => name);

    it('give only workers a way out, and every process of the program the key of the provider', () => {
      const all = composed('compose.provider.yaml');
      expect(open(all)).to.have.members(['proxy', 'worker']);
      const withKey = Object.entries(all.services).filter(([, { secrets = [] }]) =>
        secrets.some(({ target }) => target === 'DARKROOM_PROVIDERS_FAL_API_KEY'),
      );
      expect(withKey.map(([name]) => name)).to.have.members(['migrate', 'rest', 'worker']);
    });

    it('start PostgreSQL in place of MongoDB, and give no container the secrets of MongoDB', () => {
      const { services } = composed('compose.postgres.yaml', 'compose.tls.yaml', 'compose.provider.yaml');
      expect(Object.keys(services)).to.include.members(['postgres', 'postgres-set-up', 'rest', 'worker', 'tls']);
      expect(Object.keys(services).filter((name) => name.startsWith('mongo'))).to.deep.equal([]);
      for (const name of ['migrate', 'rest', 'worker']) {
        const { secrets = [], environment = {}, depends_on = {} } = services[name] ?? {};
        const targets = secrets.map(({ target }) => target);
        expect(targets, name).to.include('DARKROOM_POSTGRES_URL').and.not.to.include('DARKROOM_MONGO_URL');
        expect(environment['DARKROOM_STORES_DATABASE'], name).to.equal('postgres');
        expect(Object.keys(depends_on), name).to.not.include('mongo-set-up');
      }
    });

    it('publish only Caddy, and name the addresses of TLS to every process of the program', () => {
      const { services } = composed('compose.tls.yaml', 'compose.provider.yaml');
      const published = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0);
      expect(published.map(([name, { ports }]) => [name, ports?.map((port) => port.published)])).to.deep.equal([
        ['tls', ['80', '443', '443']],
      ]);
      for (const name of ['migrate', 'rest', 'worker'])
        expect(services[name]?.environment, name).to.include({
          DARKROOM_REST_PUBLIC_URL: 'https://a.example',
          DARKROOM_MINIO_PUBLIC_ENDPOINT: 'https://b.example',
        });
    });

    it('run added services with the least privileges', () => {
      for (const name of ['tls', 'tls-folder']) {
        const { read_only, cap_drop, user } = composed('compose.tls.yaml').services[name] ?? {};
        expect({ read_only, cap_drop, user }, name).to.deep.equal({
          read_only: true,
          cap_drop: ['ALL'],
          user: '10001:10001',
        });
      }
    });

    it('need the names of both addresses for TLS', () => {
      const files = ['compose.yaml', 'compose.tls.yaml'].flatMap((name) => ['-f', pathOf(`deploy/${name}`)]);
      // Compose reports the missing variables in no order, so only one is missing at a time.
      for (const [missing, given] of [
        ['SERVICE_HOST', 'OBJECTS_HOST'],
        ['OBJECTS_HOST', 'SERVICE_HOST'],
      ]) {
        writeFileSync(join(folder, 'one-host'), `${given}=host.example\n`);
        expect(checkers.compose(['--env-file', join(folder, 'one-host'), ...files, 'config']).text).to.include(
          `set ${missing} in .env`,
        );
      }
    });
  });

  for (const name of CASES) {
    it(`Kubernetes accepts every manifest of ${name} values, and refuses an unknown key in one`, () => {
      const check = (path: string) =>
        checkers.kubernetes(['--kubernetes-version', KUBERNETES_VERSION, '--strict', path]);
      const { code, text } = check(pathOf(renderedFileOf(name)));
      expect(code, text).to.equal(0);
      expect(text).to.include('deployment/demo-darkroom-worker');
      writeFileSync(
        join(folder, 'worse.yaml'),
        renderedText(name).replaceAll('revisionHistoryLimit', 'revisionHistoryLimits'),
      );
      expect(check(join(folder, 'worse.yaml')).code).not.to.equal(0);
    });
  }
});
