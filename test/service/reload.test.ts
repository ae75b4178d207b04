// Goal: SIGHUP loads a new catalog into a running service without changing what was accepted, and a faulty one changes
// nothing.
// Method: the compiled program as a child process; its files are rewritten and the signal is sent; clients read before
// and after.
import { expect } from 'chai';
import { EventEmitter } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { serve } from '../../apps/service/serve.js';
import { CliProcess } from '../harness/cli-run.js';
import { type Client, LiveService } from './live-service.js';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly fault?: string;
  readonly models?: number;
}

describe('SIGHUP', () => {
  let service: LiveService;
  let server: CliProcess;
  beforeEach(async () => {
    service = await LiveService.prepare({ config: { log: { level: 'info', format: 'json' } }, callers: 'callers: []' });
    server = new CliProcess(service.folder, ['serve'], { environment: { DARKROOM_CONFIG: service.configFile } });
    await server.until('stdout', 'Serving on');
  });
  afterEach(async () => {
    server.child.kill('SIGKILL');
    await server.ended;
    await service.remove();
  });

  /** The lines that the signal causes in the log, one of which has the text. */
  async function hangUp(until: string): Promise<readonly Line[]> {
    const before = server.stderr.length;
    server.child.kill('SIGHUP');
    while (!server.stderr.slice(before).includes(until)) await server.until('stderr', `${server.stderr}{`);
    return server.stderr
      .slice(before)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  const priced = (credits: number) =>
    readFileSync(service.config.catalog, 'utf8').replace(/credits_per_unit: \d+/, `credits_per_unit: ${credits}`);
  const models = (client: Client) => client.request('GET', '/models');

  it('makes new requests checked and priced by the new catalog, and leaves accepted generations unchanged', async () => {
    const tenant = await service.tenant(10_000);
    const client = service.client(tenant.secret);
    const before = await models(client);
    const { data: accepted } = await client.create('first', 'sandbox-image');
    writeFileSync(service.config.catalog, priced(7).replace('model_key: sandbox-test', 'model_key: sandbox-renamed'));
    expect(
      (await hangUp('callers read'))
        .filter(({ msg }) => msg.startsWith('catalog'))
        .map(({ msg, models: count }) => [msg, count]),
    ).to.deep.equal([['catalog read', 4]]);
    const after = await models(client);
    expect(after.headers.get('etag')).not.to.equal(before.headers.get('etag'));
    expect(JSON.stringify(after.data)).to.include('sandbox-renamed').and.not.include('sandbox-test');
    expect((await client.create('gone', 'sandbox-test')).code).to.equal('FIELD_INVALID');
    const { data: dearer } = await client.create('second', 'sandbox-image');
    expect(dearer['estimated_credits']).not.to.equal(accepted['estimated_credits']);
    for (const { generation_id: id, estimated_credits: credits } of [accepted, dearer]) {
      expect(await client.until(id as string)).to.include({ status: 'succeeded', charged_credits: credits });
    }
  });

  it('counts when it comes before the service has started', async () => {
    server.child.kill('SIGTERM');
    await server.ended;
    const signals = new EventEmitter();
    const events: string[] = [];
    const logger = pino({}, { write: (line: string) => void events.push((JSON.parse(line) as Line).msg) });
    const served = serve(service.config, { logger, signals, leaveBehind: () => undefined }, async () => {
      while (!events.includes('callers read')) await new Promise((resolve) => setTimeout(resolve, 10));
      signals.emit('SIGTERM', 'SIGTERM');
    });
    signals.emit('SIGHUP', 'SIGHUP');
    expect(await served).to.equal('stopped');
    expect(events.filter((event) => ['serving', 'catalog read'].includes(event))).to.deep.equal([
      'serving',
      'catalog read',
    ]);
  });

  it('reports a faulty catalog line by line and keeps the previous one', async () => {
    const { secret } = await service.tenant(10);
    const client = service.client(secret);
    const before = await models(client);
    const broken = readFileSync(service.config.catalog, 'utf8')
      .replace(/max_attempts: .+/, 'max_attempts: 0')
      .replace(/max_attempts: [1-9].*/, 'max_attempts: 99');
    writeFileSync(service.config.catalog, broken);
    const faults = (await hangUp('callers read')).filter(({ msg }) => msg.startsWith('catalog not reloaded'));
    const lines = broken
      .split('\n')
      .flatMap((line, index) => (/max_attempts: (?:0|99)$/.test(line) ? [index + 1] : []));
    expect(lines).to.have.length(2);
    expect(
      faults.map(({ level, fault = '' }) => [level, Number(/catalog\.yaml:(\d+): /.exec(fault)?.[1])]),
    ).to.deep.equal(lines.map((line) => ['error', line]));
    const after = await models(client);
    expect(after.headers.get('etag')).to.equal(before.headers.get('etag'));
  });

  it('keeps the callers when their file is faulty, and the process running', async () => {
    writeFileSync(`${service.folder}/callers.yaml`, 'callers: [');
    expect((await hangUp('callers not read')).map(({ msg }) => msg)).to.include('catalog read');
    server.child.kill('SIGTERM');
    expect((await server.ended).code).to.equal(0);
  });
});
