/**
 * Goal: what others read by their own rules is right by those rules: Docker, compose, helm and Kubernetes.
 * Method: their own checkers, where a package registry has them. None is a server that must be there; what depends on
 * rules of ours is held by the other tests of this folder without them.
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
  renderedFileOf,
  renderedText,
  templateArguments,
  valuesFileOf,
} from './chart-files.js';
import { pathOf, textOf } from './project-files.js';
import { findHelm, pythonCheckers, skipWithout, type Checkers, type Helm } from './tools.js';

describe('helm', () => {
  let helm: Helm;

  before(function () {
    helm = skipWithout(this, findHelm());
  });

  for (const name of CASES) {
    it(`finds nothing wrong with the chart and ${name} values`, () => {
      const { code, output } = helm.run(['lint', '--strict', pathOf(CHART), '--values', pathOf(valuesFileOf(name))]);
      expect(code, output).to.equal(0);
    });

    it(`renders ${name} values to what is in the project`, () => {
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

describe('checkers of Python', () => {
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

  it('hadolint finds nothing wrong with the Dockerfile, and something with a worse one', () => {
    const { code, text } = checkers.hadolint([pathOf('deploy/Dockerfile')]);
    expect(code, text).to.equal(0);
    writeFileSync(join(folder, 'Dockerfile'), textOf('deploy/Dockerfile').replace('WORKDIR /app', 'WORKDIR app'));
    expect(checkers.hadolint([join(folder, 'Dockerfile')]).text).to.include('DL3000');
  });

  it('compose takes the compose file, and no other key in it', () => {
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
    it(`Kubernetes takes every manifest of ${name} values, and no other key in one`, () => {
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
