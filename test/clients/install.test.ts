// Goal: a language that is not on a machine, or too old, keeps nobody from working there, in CI either; packages that a
// registry did not give are told of, and fail CI.
// Method: machines with nothing on them but commands that stand in for the toolchains.
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { BareMachine } from '../servers/bare-machine.js';
import { ScriptProcess } from '../servers/script-process.js';

const INSTALL = fileURLToPath(new URL('./install.js', import.meta.url));

describe('installing what clients in other languages need', () => {
  let machine: BareMachine;
  beforeEach(() => { machine = new BareMachine(); });
  afterEach(() => machine.remove());

  const installing = (environment: Readonly<Record<string, string>> = {}) => new ScriptProcess([INSTALL], { ...machine.environment, ...environment }).ended;
  const goOf = (version: string, rest = 'exit 0') => machine.command('go', `if [ "$1" = env ]; then echo ${version}; exit 0; fi\n${rest}`);

  it('says what is not there, and is content', async () => {
    const { output, code } = await installing({ CI: 'true' });
    expect(output).to.match(/^Go client: Go is not on this machine: the Go client needs Go 1\.\d+ or newer\. Its tests are skipped\.$/m);
    expect(code).to.equal(0);
  });

  it('uses no toolchain that is too old, and looks at numbers', async () => {
    goOf('go1.9.7');
    expect(await installing({ CI: 'true' })).to.deep.include({ code: 0 }).and.property('output').to.include('Go is 1.9 here');
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

  it('does nothing when told to', async () => {
    goOf('go1.101');
    await installing({ TEST_SERVERS_INSTALL: 'never' });
    expect(machine.runs('go')).to.equal(0);
  });
});
