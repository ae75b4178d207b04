/*
 * Goal: `npm ci` and `npm start` build exactly when a source has changed, and a start without packages is refused with one
 * sentence.
 * Method: the script in a folder of its own, where the build only counts how often it ran.
 */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../docs/pages.js';

const FILES = [
  ...['core', 'adapters', 'apps', 'clients/typescript/src', 'test', 'bench', 'docs/examples'].map((at) => `${at}/a.ts`),
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.base.json',
  'node_modules/.package-lock.json',
];
const COUNT = `node -e "fs.appendFileSync('builds', 'x'); fs.mkdirSync('dist', { recursive: true })"`;

describe('deploy/ensure-built.mjs', () => {
  let folder: string;
  const write = (name: string, text = '') => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const build = (command: string) => write('package.json', JSON.stringify({ scripts: { build: command } }));
  const run = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'deploy/ensure-built.mjs')], {
      encoding: 'utf8',
    });
    return { status, output: stdout + stderr };
  };
  const builds = () => readFileSync(join(folder, 'builds'), 'utf8').length;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-built-'));
    for (const name of FILES) write(name);
    build(COUNT);
    mkdirSync(join(folder, 'deploy'));
    copyFileSync(join(ROOT, 'deploy/ensure-built.mjs'), join(folder, 'deploy/ensure-built.mjs'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('builds once, and again after a source was changed, replaced by an older one, or removed', () => {
    for (let start = 0; start < 2; start += 1) expect(run()).to.deep.equal({ status: 0, output: '' });
    expect(builds()).to.equal(1);
    const changes = [
      () => write('apps/a.ts', 'changed'),
      () => utimesSync(join(folder, 'core/a.ts'), 0, 0),
      () => rmSync(join(folder, 'adapters/a.ts')),
      () => rmSync(join(folder, 'dist'), { recursive: true }),
    ];
    changes.forEach((change, index) => {
      change();
      for (let start = 0; start < 2; start += 1) expect(run().status).to.equal(0);
      expect(builds()).to.equal(index + 2);
    });
  });

  it('fails as the build does, and builds again at the next start', () => {
    build('exit 3');
    expect(run().status).to.equal(3);
    build(COUNT);
    expect(run().status).to.equal(0);
    expect(builds()).to.equal(1);
  });

  it('says to run npm ci where no packages are installed', () => {
    rmSync(join(folder, 'node_modules'), { recursive: true });
    expect(run()).to.deep.equal({
      status: 1,
      output: 'The packages of Darkroom are not installed in this folder yet: run npm ci first.\n',
    });
  });
});
