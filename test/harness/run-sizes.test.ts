// Goal: a full run plays everything, and the default run reports how much of it was left out.
// Method: the table in the environment of both runs, and the suites that mocha finds in each, counted without running
// them.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { FULL_RUN_VARIABLE, isFullRun, leftOut, OTHER_SCRIPTS, programEnvironment, RUN_SIZES } from './run-sizes.js';

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** The files that mocha finds for a pattern. It has no types. */
const { lookupFiles } = createRequire(import.meta.url)('mocha/lib/cli/lookup-files.js') as {
  readonly lookupFiles: (pattern: string) => readonly string[];
};
const SUITES = ['../faults/*.test.js', '../upgrade/*.test.js', '../service/vectors.test.js'].map((glob) =>
  fileURLToPath(new URL(glob, import.meta.url)),
);

function mocha(args: readonly string[], environment: Readonly<Record<string, string>> = {}): string {
  return execFileSync(process.execPath, [MOCHA, '--no-config', ...args], {
    env: { ...programEnvironment(), ...environment },
    encoding: 'utf8',
  });
}

describe('how much of each check is run', () => {
  it('is not less in a full run than by default', () => {
    for (const [check, { byDefault, inFull }] of Object.entries(RUN_SIZES))
      expect(byDefault, check).to.be.at.most(inFull);
  });

  it('is full if the environment says all, and not otherwise', () => {
    expect(['all', 'ALL', '1', '', undefined].map((value) => isFullRun({ [FULL_RUN_VARIABLE]: value }))).to.deep.equal([
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it('is listed, with a line for each check that the default run omits or runs in part', () => {
    const lines = leftOut();
    const parts = Object.values(RUN_SIZES).filter(({ byDefault, inFull }) => byDefault < inFull);
    expect(lines).to.have.length(parts.length + Object.keys(OTHER_SCRIPTS).length);
    expect(lines)
      .to.include('19,994 of 20,000 seeds of the simulation')
      .and.to.include('12 of 12 kills of one worker of three, one every second')
      .and.to.include('the pages in a browser (npm run test:browser)');
  });

  it('names the rounds, kills and stores of each run', () => {
    const [byDefault, inFull] = [
      mocha(['--dry-run', ...SUITES]),
      mocha(['--dry-run', ...SUITES], { [FULL_RUN_VARIABLE]: 'all' }),
    ];
    expect(byDefault).to.include('killed 2 times').and.include('minio, 1 rounds of faults');
    for (const absent of ['versitygw', 'the started service on', 'every second', 'of two builds', 'release before'])
      expect(byDefault).not.to.include(absent);
    for (const said of [
      'killed 30 times',
      'minio, 10 rounds',
      'versitygw, 10 rounds',
      'every second, 12 times',
      'of two builds over MongoDB and minio, 2 rounds of faults',
      'upgrade from the release before, over SQLite',
      'hit something',
      'the started service on SQLite',
      'the started service on MongoDB',
      '(replica-set), minio',
      '(standalone), versitygw',
    ])
      expect(inFull).to.include(said);
  });
});

describe('npm test', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const command = scripts['test'] ?? '';

  it('runs every test once, those that take longest first, but for those of other scripts', () => {
    const filesOf = (script: string) =>
      [...(scripts[script] ?? '').matchAll(/'([^']+)'/g)].flatMap(([, glob = '']) => lookupFiles(join(ROOT, glob)));
    const files = ['test', ...Object.keys(OTHER_SCRIPTS)].flatMap(filesOf);
    expect(files.toSorted()).to.deep.equal(lookupFiles(join(ROOT, 'dist/**/*.test.js')).toSorted());
    expect(filesOf('test')[0]).to.match(/\/dist\/test\/(simulation|properties|faults|service)\//);
  });

  it('is followed in CI and in npm run verify by the scripts of what it leaves out', () => {
    const ci = readFileSync(new URL('../../../.ci/run', import.meta.url), 'utf8');
    expect(ci).to.include('count_as_one npm run --silent test:searches\n');
    expect(scripts['verify']).to.include('npm run test:searches && ');
    for (const script of Object.keys(OTHER_SCRIPTS)) {
      expect(ci).to.include(`run_tests npm run ${script}\n`);
      expect(scripts['verify']).to.include(`npm test && `).and.to.include(`npm run ${script} && `);
    }
  });

  it('says once, after its counts, what it left out; a full run says nothing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-left-out-'));
    try {
      for (const name of ['one', 'two'])
        writeFileSync(
          join(folder, `${name}.test.cjs`),
          `describe('${name}', () => { it('passes', () => undefined); it.skip('waits', () => undefined); });`,
        );
      const required = fileURLToPath(new URL('./left-out.js', import.meta.url));
      expect(command).to.include(`--require ./dist/test/harness/left-out.js`);
      const args = ['--parallel', '--jobs', '2', '--require', required, join(folder, '*.test.cjs')];
      const said = mocha(args);
      const lines = [
        'Left out here, and run by npm run verify:all, or by the script that is named:',
        ...leftOut().map((line) => `  ${line}`),
        '',
      ];
      expect(said.slice(said.indexOf('pending')).split('\n').slice(2)).to.deep.equal(lines);
      // The same count as in .ci/run.
      expect(
        [...said.matchAll(/^ +([0-9]+) (passing|failing|pending)/gm)].map(([, count, what]) => [count, what]),
      ).to.deep.equal([
        ['2', 'passing'],
        ['2', 'pending'],
      ]);
      expect(said.match(/^ +- .*/gm)).to.deep.equal(['    - waits', '    - waits']);
      expect(mocha(args, { [FULL_RUN_VARIABLE]: 'all' })).to.match(/2 pending\s+$/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('npm run verify:all', () => {
  function scripts(npm: string): { readonly status: number | null; readonly said: string } {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-verify-all-'));
    try {
      for (const [command, then] of [
        ['npm', npm],
        ['node', 'exit 0'],
        ['npx', 'exit 0'],
      ] as const) {
        const script = `#!/bin/sh\necho "$* with $${FULL_RUN_VARIABLE}"\n${then}\n`;
        writeFileSync(join(folder, command), script, { mode: 0o755 });
      }
      const program = fileURLToPath(new URL('./verify-all.js', import.meta.url));
      const { status, stdout } = spawnSync(process.execPath, [program], { env: { PATH: folder }, encoding: 'utf8' });
      return { status, said: stdout };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  it('runs what CI runs in full, then what npm test leaves out', () => {
    const { status, said } = scripts('exit 0');
    expect(status).to.equal(0);
    const [first, ...others] = said.split('\n');
    expect(first).to.equal('run verify with all');
    expect(others[0]).to.equal('dist/test/openapi/main.js with all');
    expect(others[1]).to.match(/^--no-install mocha .*\/on-mongo\.js dist\/test\/fronts\/openai\/.* with all$/);
    expect(others.slice(2)).to.deep.equal(['']);
  });

  it('stops at the first that fails', () => {
    expect(scripts('exit 3')).to.deep.equal({ status: 3, said: 'run verify with all\n' });
  });
});
