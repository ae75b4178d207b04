// Goal: runs of the command line in one process share nothing: each has its own output, variables, folder and terminal.
// Method: commands that wait for a server at the same time, compared with the same commands one after another; files of
// one name in two folders; streams that are terminals.
import { expect } from 'chai';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliRun, type Ran } from '../../harness/cli-run.js';

describe('runs of the command line in one process', () => {
  let folder: string;
  let server: Server;
  let url: string;
  /** Requests are answered only while this many wait. */
  let together = 1;
  const waiting: (() => void)[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-runs-'));
    server = createServer((request, response) => {
      const [, name = ''] = (request.url ?? '').split('/');
      const isKnown = request.headers.authorization === `Bearer key-of-${name}`;
      const envelope = isKnown
        ? { success: true, code: 'OK', message: '', request_id: name, data: { balance_credits: 7, currency: name } }
        : {
            success: false,
            code: 'DEVELOPER_TOKEN_INVALID',
            message: `It is not the key of ${name}.`,
            request_id: name,
          };
      waiting.push(() => {
        response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(envelope));
      });
      if (waiting.length >= together) for (const answer of waiting.splice(0)) answer();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('keep their output apart, when they run at the same time', async () => {
    const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
    const commands = NAMES.flatMap((name) => [
      { args: ['credits'], environment: { DARKROOM_URL: `${url}/${name}`, DARKROOM_API_KEY: `key-of-${name}` } },
      { args: ['credits', '--json'], environment: { DARKROOM_URL: `${url}/${name}`, DARKROOM_API_KEY: 'another' } },
      { args: ['credits', '--help'], environment: {} },
      { args: [`unknown-${name}`], environment: {} },
    ]);
    const runOf = ({ args, environment }: (typeof commands)[number]) => new CliRun(folder, args, { environment }).ended;
    together = 1;
    const alone: Ran[] = [];
    for (const command of commands) alone.push(await runOf(command));
    together = 2 * NAMES.length;
    expect(await Promise.all(commands.map(runOf))).to.deep.equal(alone);
    together = 1;
    expect(new Set(alone.map(({ stdout, stderr }) => stdout + stderr)).size, 'one help, all else different').to.equal(
      3 * NAMES.length + 1,
    );
    expect(alone.slice(0, 4).map(({ code }) => code)).to.deep.equal([0, 3, 0, 2]);
  });

  it('resolve relative paths each from its own folder, and show them as given', async () => {
    for (const [name, text] of [
      ['one', 'version: 1\nmodels: []\n'],
      ['two', 'version: 2\n'],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'models.yaml'), text);
    }
    const checked = await Promise.all(
      ['one', 'two'].map((name) => new CliRun(join(folder, name), ['catalog', 'check', 'models.yaml']).ended),
    );
    expect(
      checked.map(({ stderr }) =>
        stderr
          .split('\n')
          .find((line) => line.includes('models.yaml'))
          ?.replace('darkroom: ', ''),
      ),
    ).to.deep.equal(['models.yaml:2: models must have at least 1 item.', 'models.yaml:1: models is required.']);
  });

  it('ask for a key on a terminal, where it is not shown', async () => {
    const environment = { DARKROOM_URL: `${url}/typed`, DARKROOM_PROFILE: 'typed.json' };
    const login = new CliRun(folder, ['login'], { environment, columns: 80, stdin: 'key-of-typeX\u007fd\r' });
    const { code, stdout, stderr } = await login.ended;
    expect({ code, stdout, stderr }).to.deep.equal({
      code: 0,
      stdout: `Logged in to ${url}/typed. The account has 7 typed.\n`,
      stderr: `API key for ${url}/typed: \n`,
    });
    expect(login.rawModes).to.deep.equal([true, false]);
    expect(existsSync(join(folder, 'typed.json'))).to.equal(true);
    const stopped = new CliRun(folder, ['login'], { environment, columns: 80, stdin: 'key\u0003' });
    expect(await stopped.ended).to.deep.include({ code: 130, stdout: '' });
    expect(stopped.rawModes).to.deep.equal([true, false]);
  });

  it('break lines of help at the width of the terminal', async () => {
    const longest = async (columns?: number) => {
      const { stdout } = await new CliRun(folder, ['credits', '--help'], columns === undefined ? {} : { columns })
        .ended;
      return Math.max(...stdout.split('\n').map((line) => line.length));
    };
    const [narrow, piped, wide] = [await longest(70), await longest(), await longest(140)];
    expect(narrow).to.be.at.most(70);
    expect(piped).to.be.within(narrow + 1, 80);
    expect(wide).to.be.within(piped + 1, 140);
  });
});
