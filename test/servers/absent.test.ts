/**
 * Goal: only a server that the environment names is used; a missing server skips its tests with a message, and fails
 * them in CI. Method: processes with separate environments, mocha among them, request servers.
 */
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { BareMachine } from './bare-machine.js';
import { ScriptProcess } from './script-process.js';
import { sizeOf } from '../harness/run-sizes.js';

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const SERVERS = new URL('./servers.js', import.meta.url).href;

describe('servers that are external or missing', () => {
  let machine: BareMachine;

  beforeEach(() => {
    machine = new BareMachine();
  });
  afterEach(() => machine.remove());

  const asking = (call: string, environment: Record<string, string>) =>
    ScriptProcess.ofLines(
      `const servers = await import(here + 'servers.js'); try { console.log(JSON.stringify(await servers.${call})); } catch (error) { console.log(error.message); }`,
      { ...machine.environment, ...environment },
    ).ended;

  describe('named by the environment', () => {
    let server: Server;
    let port: number;

    before(async () => {
      // Answers like an S3 store and like toxiproxy, as far as anybody asks whether it is there.
      server = createServer((request, response) => {
        response.writeHead(request.headers.authorization?.includes('Credential=other/') ? 403 : 200).end('{}');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      port = typeof address === 'object' && address ? address.port : 0;
    });
    after(() => server.close());

    it('is used, whatever is on the PATH', async () => {
      machine.command('minio', 'exit 1');
      const { output } = await asking(`s3Server('minio')`, {
        TEST_MINIO_URL: `http://me:a%2Fb@127.0.0.1:${port}/?region=eu-1`,
      });
      expect(JSON.parse(output)).to.deep.equal({
        endpoint: `http://127.0.0.1:${port}`,
        region: 'eu-1',
        accessKey: 'me',
        secretKey: 'a/b',
      });
      expect(machine.runs('minio')).to.equal(0);
      const proxy = await asking('toxiproxyServer()', { TEST_TOXIPROXY_URL: `http://127.0.0.1:${port}/` });
      expect(JSON.parse(proxy.output)).to.deep.equal({ url: `http://127.0.0.1:${port}` });
    });

    it('is reported with its variable when it does not serve', async () => {
      const { output } = await asking(`s3Server('versitygw')`, {
        TEST_VERSITYGW_URL: `http://other:keys@127.0.0.1:${port}`,
      });
      expect(output).to.match(/^The server that TEST_VERSITYGW_URL names cannot be used: it answers 403/);
      expect(output).not.to.include('keys');
    });

    it('is reported when its URL has another form', async () => {
      for (const url of ['nonsense', `http://127.0.0.1:${port}`, 'ftp://a:b@c']) {
        expect((await asking(`s3Server('minio')`, { TEST_MINIO_URL: url })).output).to.equal(
          'TEST_MINIO_URL must have the form http://access:secret@host:port.\n',
        );
      }
    });
  });

  describe('nowhere', () => {
    const calls = {
      TEST_MONGO_URL: `mongoServer('replica-set')`,
      TEST_MONGO_STANDALONE_URL: `mongoServer('standalone')`,
      TEST_POSTGRES_URL: `postgresServer('18')`,
      TEST_POSTGRES_15_URL: `postgresServer('15')`,
      TEST_MINIO_URL: `s3Server('minio')`,
      TEST_VERSITYGW_URL: `s3Server('versitygw')`,
      TEST_TOXIPROXY_URL: 'toxiproxyServer()',
    };
    for (const [variable, call] of Object.entries(calls).slice(0, sizeOf('absentServers'))) {
      it(`${call} says how to install it`, async () => {
        expect((await asking(call, {})).output).to.match(
          new RegExp(`^[^:]+ is not on this machine: run \`npm run servers:install\`, or set ${variable}\\.\n$`),
        );
      });
    }

    it('skips the suite with an explanation, and fails it in CI', async () => {
      const suite = join(machine.folder, 'suite.test.mjs');
      writeFileSync(
        suite,
        `const { mongoServer, orSkip } = await import(${JSON.stringify(SERVERS)});
        describe('over MongoDB', () => {
          before(async function () { await orSkip(this, mongoServer('standalone')); });
          it('one', () => undefined);
          describe('deeper', () => { it('two', () => undefined); });
        });
        describe('without', () => { it('three', () => undefined); });`,
      );
      const running = (environment: Record<string, string>) =>
        new ScriptProcess([MOCHA, '--no-config', suite], { ...machine.environment, ...environment }).ended;
      const skipped = await running({});
      expect(skipped.code).to.equal(0);
      expect(skipped.output)
        .to.include('Skipped: MongoDB is not on this machine')
        .and.match(/1 passing/)
        .and.match(/2 pending/);
      const failed = await running({ CI: '1' });
      expect(failed.code).not.to.equal(0);
      expect(failed.output)
        .to.match(/1 failing/)
        .and.include('MongoDB is not on this machine');
    });
  });
});
