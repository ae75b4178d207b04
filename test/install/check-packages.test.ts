// Goal: an install that npm reports as successful and that is incomplete fails with one sentence, wherever the project
// installs packages; nothing that the project runs makes npx download a package.
// Method: deploy/check-packages.mjs runs over folders in which a package is emptied, missing or another one, and over this
// checkout; scripts and pages are read as text.
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HERE = { os: [process.platform], cpu: [process.arch] };

describe('deploy/check-packages.mjs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-packages-'));
    write('package.json', { dependencies: { alpha: '1.0.0' }, devDependencies: { beta: '1.0.0' } });
    write('package-lock.json', {
      packages: {
        '': {},
        'node_modules/alpha': { version: '1.0.0' },
        'node_modules/alpha/node_modules/@scope/inner': { version: '2.0.0' },
        'node_modules/beta': { version: '1.0.0', dev: true },
        'node_modules/alias': { name: 'empty-npm-package', version: '1.0.0' },
        'node_modules/native-here': { version: '1.0.0', optional: true, ...HERE },
        'node_modules/native-elsewhere': { version: '1.0.0', optional: true, os: ['plan9'], cpu: ['x64'] },
        'node_modules/extra': { version: '1.0.0', optional: true },
      },
    });
    add('alpha', { main: './lib', bin: { alpha: 'bin/alpha.js' } }, ['lib/index.js', 'bin/alpha.js']);
    add('alpha/node_modules/@scope/inner', { name: '@scope/inner', version: '2.0.0' }, ['data.json']);
    add('beta', { main: 'beta' }, ['beta.js']);
    add('alias', { name: 'empty-npm-package' }, ['index.js']);
    add('native-here', { main: 'here.node' }, ['here.node']);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (path: string, content: string | object) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
  };
  const add = (path: string, manifest: object, files: readonly string[]) => {
    write(`node_modules/${path}/package.json`, { name: path, version: '1.0.0', ...manifest });
    for (const file of files) write(`node_modules/${path}/${file}`, '');
  };
  const check = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'deploy/check-packages.mjs'), ...args, folder],
      { encoding: 'utf8' },
    );
    return { status, text: stdout + stderr };
  };

  it('passes what is complete, without what another platform or nothing needs', () => {
    expect(check()).to.deep.equal({ status: 0, text: 'check-packages: 5 packages are complete\n' });
    expect(check('--import')).to.include({ status: 0 });
  });

  const at = (path: string) => join(folder, 'node_modules', path);
  for (const [fault, sentence, spoil] of [
    [
      'an emptied package',
      'node_modules/alpha is empty',
      () => {
        rmSync(at('alpha'), { recursive: true });
        mkdirSync(at('alpha'));
      },
    ],
    ['a missing package', 'node_modules/alpha is missing', () => rmSync(at('alpha'), { recursive: true })],
    [
      'a package within another',
      'node_modules/alpha/node_modules/@scope/inner is missing',
      () => rmSync(at('alpha/node_modules'), { recursive: true }),
    ],
    [
      'a package without package.json',
      'node_modules/beta has no package.json that can be read',
      () => rmSync(at('beta/package.json')),
    ],
    [
      'a package.json that was cut off',
      'node_modules/beta has no package.json that can be read',
      () => writeFileSync(at('beta/package.json'), '{ "name"'),
    ],
    ['a missing main file', 'node_modules/alpha has no ./lib', () => rmSync(at('alpha/lib'), { recursive: true })],
    ['a missing command', 'node_modules/alpha has no bin/alpha.js', () => rmSync(at('alpha/bin/alpha.js'))],
    [
      'a package without content',
      'node_modules/alpha/node_modules/@scope/inner has nothing but its package.json',
      () => rmSync(at('alpha/node_modules/@scope/inner/data.json')),
    ],
    [
      'another version',
      'node_modules/beta is beta 1.0.1 in place of beta 1.0.0',
      () => add('beta', { version: '1.0.1' }, []),
    ],
    [
      'another package',
      'node_modules/alias is alias 1.0.0 in place of empty-npm-package 1.0.0',
      () => add('alias', {}, []),
    ],
    [
      'a missing binary for this platform',
      'node_modules/native-here is missing',
      () => rmSync(at('native-here'), { recursive: true }),
    ],
  ] as const)
    it(`names ${fault} in one sentence`, () => {
      spoil();
      const { status, text } = check();
      expect(status).to.equal(1);
      expect(text).to.match(
        /^check-packages: [12] of 5 packages in .+ are not installed completely \(.+\); run npm ci again\.\n$/,
      );
      expect(text).to.include(`(${sentence})`);
    });

  it('leaves out development packages where npm did', () => {
    rmSync(at('beta'), { recursive: true });
    expect(check()).to.include({ status: 1 });
    expect(check('--omit=dev')).to.include({ status: 0 });
  });

  it('loads the dependencies if asked to', () => {
    writeFileSync(at('alpha/lib/index.js'), "require('nothing-like-this');");
    expect(check()).to.include({ status: 0 });
    const { status, text } = check('--import');
    expect(status).to.equal(1);
    expect(text).to.match(/^check-packages: alpha cannot be loaded \(Cannot find module .+\); run npm ci again\.\n$/);
  });

  it('says in one sentence that there is no lock file', () => {
    rmSync(join(folder, 'package-lock.json'));
    const { status, text } = check();
    expect(status).to.equal(1);
    expect(text).to.match(
      /^check-packages: .+package-lock\.json cannot be read \(ENOENT\); run npm ci in its folder\.\n$/,
    );
  });

  it('finds an emptied package in a copy of the own lock file, and nothing in this checkout', () => {
    const run = (of: string) =>
      spawnSync(process.execPath, [join(ROOT, 'deploy/check-packages.mjs'), of], { encoding: 'utf8' });
    expect(run(ROOT)).to.include({ status: 0, stderr: '' });
    cpSync(join(ROOT, 'package-lock.json'), join(folder, 'package-lock.json'));
    for (const name of readdirSync(join(ROOT, 'node_modules'))) mkdirSync(at(name), { recursive: true });
    expect(run(folder).stderr).to.match(/^check-packages: \d+ of \d+ packages in .+\n$/);
  });
});

describe('what the project installs', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const SCRIPTS = ['.ci/run', 'deploy/Dockerfile', 'package.json'];

  it('is checked in the image layer of every npm ci', () => {
    const steps = read('deploy/Dockerfile')
      .replaceAll('\\\n', '')
      .split('\n')
      .filter((line) => line.startsWith('RUN') && /\bnpm ci\b/.test(line));
    expect(steps).to.not.have.length(0);
    for (const step of steps) expect(step).to.match(/(?:^RUN| &&) npm ci .+ && node deploy\/check-packages\.mjs\b/);
    expect(read('.ci/run')).to.match(/npm ci && node deploy\/check-packages\.mjs/);
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
    expect(scripts['prepare']).to.match(/^node deploy\/check-packages\.mjs && /);
  });

  it('is run by npx without a download: by each script and page, and by the configuration of npm for the rest', () => {
    expect(read('.npmrc').split('\n')).to.include('yes=false');
    const pages = ['docs', 'clients'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true }).map((name) => `${folder}/${String(name)}`),
    );
    for (const path of [...SCRIPTS, 'README.md', 'CONTRIBUTING.md', ...pages.filter((name) => name.endsWith('.md'))])
      for (const [command] of read(path).matchAll(/(?<![\w/.])npx\s+\S+/g))
        // `npm link` makes this command; `-y` is of tools that a page has its reader download on purpose.
        expect(command, path).to.match(/^npx\s+(?:--no-install|darkroom|-y)/);
  });
});
