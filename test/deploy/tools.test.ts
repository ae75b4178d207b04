/**
 * Goal: the files for Docker, compose, helm and Kubernetes are valid by the rules of those tools.
 * Method: run their own checkers, if a package registry has them. No checker is required: the other tests of this folder
 * check the project's own rules without them.
 */
import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CASES,
  CHART,
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

  const refusals = {
    'worker.replica=3': "additional properties 'replica' not allowed",
    'config.rest.prot=8081': "additional properties 'prot' not allowed",
    'config.minio.secret_key=hush': "additional properties 'secret_key' not allowed",
    'config.stores.database=sqlite': "value must be 'mongo'",
    'image.tag=latest': "'not' failed",
    'image.repository=': 'image.repository must say where the image of deploy/Dockerfile is.',
    'secrets.mongo.existingSecret=': "secrets.mongo.existingSecret must name a secret with MongoDB's address.",
    'config.grpc.port=50051,config.grpc.plaintext=true':
      'secrets.grpc.callers.existingSecret must name a secret with the file of callers.',
    'config.grpc.port=50051,secrets.grpc.callers.existingSecret=callers':
      'secrets.grpc.tls.existingSecret must name a secret with a certificate and its key, or config.grpc.plaintext say that something in front encrypts.',
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

  it('compose accepts the compose file, and refuses an unknown key in it', () => {
    const { code, text } = checkers.compose(['-f', pathOf('deploy/compose.yaml'), 'config', '--quiet']);
    expect(code, text).to.equal(0);
    writeFileSync(
      join(folder, 'compose.yaml'),
      textOf('deploy/compose.yaml').replace('  proxy:\n', '  proxy:\n    replicas: 2\n'),
    );
    const worse = checkers.compose(['-f', join(folder, 'compose.yaml'), 'config', '--quiet']);
    expect(worse.code).not.to.equal(0);
    expect(worse.text).to.include("additional properties 'replicas' not allowed");
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
