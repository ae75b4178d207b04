// Goal: a missing or too old toolchain does not stop work on that machine, nor in CI; packages that a registry did not
// deliver are reported, and fail CI.
// Method: machines with nothing on them but commands that stand in for the toolchains.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { BareMachine } from '../servers/bare-machine.js';
import { ScriptProcess } from '../servers/script-process.js';

const INSTALL = fileURLToPath(new URL('./install.js', import.meta.url));

describe('installing what clients in other languages need', () => {
  let machine: BareMachine;
  beforeEach(() => {
    machine = new BareMachine();
  });
  afterEach(() => machine.remove());

  const installing = (environment: Readonly<Record<string, string>> = {}) =>
    new ScriptProcess([INSTALL], { ...machine.environment, ...environment }).ended;
  const goOf = (version: string, rest = 'exit 0') =>
    machine.command('go', `if [ "$1" = env ]; then echo ${version}; exit 0; fi\n${rest}`);

  it('reports what is missing, and succeeds', async () => {
    const { output, code } = await installing({ CI: 'true' });
    for (const language of ['Go', 'Python']) {
      expect(output).to.match(
        new RegExp(
          `^${language} client: ${language} is not on this machine: the ${language} client needs ${language} \\d+\\.\\d+ or newer\\. Its tests are skipped\\.$`,
          'm',
        ),
      );
    }
    expect(code).to.equal(0);
  });

  it('uses no toolchain that is too old, and compares versions as numbers', async () => {
    goOf('go1.9.7');
    expect(await installing({ CI: 'true' }))
      .to.deep.include({ code: 0 })
      .and.property('output')
      .to.include('Go is 1.9 here');
    expect(machine.runs('go')).to.equal(1);
    goOf('go1.101');
    expect((await installing()).output).to.include('Go client: its packages are there');
  });

  it('fails CI, and nothing else, when a registry gives no packages', async () => {
    goOf('go1.101', 'echo "no route to the registry" >&2; exit 1');
    const [here, ci] = [await installing(), await installing({ CI: 'true' })];
    expect([here.code, ci.code]).to.deep.equal([0, 1]);
    expect(here.output).to.include('go mod download: no route to the registry');
  });

  it('creates each environment for Python once, and completely', async () => {
    machine.command(
      'python3',
      `if [ "$1" = --version ]; then echo Python 3.100.1; exit 0; fi
      mkdir -p "$3/bin"; printf "#!/bin/sh\\necho with \\"\\$*\\" >> '${machine.folder}/pip'\\n" > "$3/bin/python3"; chmod +x "$3/bin/python3"`,
    );
    for (let times = 0; times < 2; times += 1)
      expect((await installing({ CI: 'true' })).output).to.include('Python client: its packages are there');
    expect(machine.cached).to.have.length(6);
    const ran = readFileSync(join(machine.folder, 'pip'), 'utf8').split('\n');
    expect(
      ran.filter((line) => line.includes('pip install')).map((line) => line.split('clients/').at(-1)),
    ).to.deep.equal([
      'python/requirements.txt',
      'mcp/python/requirements.txt',
      'python/requirements.txt',
      'openai/python/openai-1.txt',
      'openai/python/openai.txt',
      'openai/python/litellm.txt',
    ]);
  });

  it('does nothing if it is disabled', async () => {
    goOf('go1.101');
    await installing({ TEST_SERVERS_INSTALL: 'never' });
    expect(machine.runs('go')).to.equal(0);
  });
});
