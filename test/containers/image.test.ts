/**
 * Goal: the image is built and used as its page says, and a container that is killed or stopped at any moment loses no
 * generation and charges none twice.
 * Method: the commands of docs/deploying/docker.md, on a real engine: a build whose network fails, a build, a picture, a
 * kill and a stop with generations under way, a backup and a restore. Credits are counted from what REST shows.
 */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { defaultConcurrencyPerAccount } from '../../core/catalog/model.js';
import type { JsonObject } from '../../core/json.js';
import { textOf } from '../deploy/chart-files.js';
import { skipWithout } from '../deploy/tools.js';
import { ask, type Books, checkBooks } from './accounting.js';
import { BrokenRegistries } from './broken-registries.js';
import { documentedCommand, type Ran, runCommands } from './documented.js';
import { Engine } from './engine.js';
import { buildCommand, copyBuildContext, IMAGE_PAGE } from './image-build.js';
import { PatientClients } from './patient-clients.js';
import { RELAY_PORT } from './registry-proxy.js';

const PAGE = IMAGE_PAGE;
const URL = 'http://localhost:8080';
const OPEN_GENERATIONS = 24;
/** The most generations of sandbox-test that a process runs at once for one account. */
const SLOTS = slotsOfAccount('sandbox-test');
const CLIENTS = 6;
const STEPS = [
  'docker build',
  'docker run --detach --name darkroom',
  'docker exec darkroom cat /data/first-key',
  'darkroom backup /backups',
  'docker cp darkroom:/backups',
  ' restore /backups',
  'cp -R /copy /backups',
];
/** How long the container is watched at rest: two health checks and more. */
const REST_MS = 33_000;
const MOST_CPU_AT_REST = 0.03;
const MOST_MEMORY_AT_REST_MIB = 256;

describe('the page of the image', () => {
  it('has one command for each step that is tested', () => {
    for (const step of STEPS) expect(documentedCommand(PAGE, step)).to.include('docker');
  });
});

describe('the image', function suite() {
  this.timeout(600_000);
  let engine: Engine;
  let folder: string;
  let key: string;
  const accepted = new Set<string>();

  before(function before() {
    engine = skipWithout(this, Engine.ofEnvironment());
    folder = mkdtempSync(join(tmpdir(), 'darkroom-image-'));
    copyBuildContext(folder);
  });
  after(() => {
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it('is not built where the network fails during the build', async () => {
    const registries = await BrokenRegistries.after(4_000_000);
    engine.useRegistriesThrough(registries.port);
    try {
      // One attempt: npm would wait for half a minute and more between attempts.
      writeFileSync(join(folder, '.npmrc'), `${textOf('.npmrc')}\nfetch-retries=0\n`);
      const { code, text } = await run(buildCommand());
      expect(registries.isBroken, 'the network failed during the build').to.equal(true);
      expect(code, text).to.not.equal(0);
      expect(text).to.match(/npm ci|check-packages/);
      expect(docker('images', '--quiet', 'darkroom')).to.equal('');
    } finally {
      writeFileSync(join(folder, '.npmrc'), textOf('.npmrc'));
      engine.useRegistriesThrough(RELAY_PORT);
      registries.close();
    }
  });

  it('is built by the documented command', async () => {
    await succeeds(buildCommand());
    const own = Number(docker('image', 'inspect', '--format', '{{.Size}}', 'darkroom:0.1.0'));
    const base = Number(docker('image', 'inspect', '--format', '{{.Size}}', baseImage()));
    console.log(`      ${Math.round((own - base) / 1e6)} MB over its base image, ${Math.round(own / 1e6)} MB in all`);
  });

  it('starts by the documented command, says how the first key is read, and becomes healthy', async () => {
    await succeeds(start());
    await until(() => docker('inspect', '--format', '{{.State.Health.Status}}', 'darkroom') === 'healthy');
    const { text: log } = await run('docker logs darkroom');
    const [, reading = ''] = /^key=\$\((docker exec \S+ cat '\/data\/first-key')\)$/m.exec(log) ?? [];
    const shown = (await succeeds(reading)).trim();
    expect(log).to.not.include(shown);
    key = (
      await succeeds(`${documentedCommand(PAGE, 'docker exec darkroom cat /data/first-key')}\necho "$DARKROOM_API_KEY"`)
    ).trim();
    expect(key).to.equal(shown);
  });

  it('makes a first picture with the stored key, also after a restart', async () => {
    const picture = `docker exec darkroom darkroom generate "a lighthouse" --out /tmp/NAME.png; docker exec darkroom cat /tmp/NAME.png > NAME.png`;
    await succeeds(picture.replaceAll('NAME', 'first'));
    await succeeds('docker restart darkroom');
    await succeeds(picture.replaceAll('NAME', 'second'));
    for (const name of ['first', 'second'])
      expect(
        readFileSync(join(folder, `${name}.png`))
          .subarray(1, 4)
          .toString(),
      ).to.equal('PNG');
    expect((await run('docker logs darkroom')).text).to.not.include('process 1');
  });

  it('runs as an unprivileged user on a root file system that is only read, without a package manager of Node', async () => {
    const inside = (command: string): Promise<Ran> => run(`docker exec darkroom ${command}`);
    expect((await inside('id -u')).text.trim()).to.equal('10001');
    expect((await inside('touch /app/written')).text).to.include('Read-only file system');
    for (const tool of ['npm', 'npx', 'yarn', 'corepack'])
      expect((await inside(`which ${tool}`)).code, tool).to.equal(1);
    expect((await inside('ls -ld /backups')).text).to.match(/ 10001 +10001 /);
    expect((await inside('grep NoNewPrivs /proc/1/status')).text).to.match(/1$/m);
  });

  it('takes little CPU and memory at rest, health checks included', async () => {
    const before = cpuSeconds();
    await sleep(REST_MS);
    const share = (cpuSeconds() - before) / (REST_MS / 1_000);
    const memory = docker('stats', '--no-stream', '--format', '{{.MemUsage}}', 'darkroom').split(' ')[0] ?? '';
    console.log(`      at rest: ${(share * 100).toFixed(1)} % of a core, ${memory}`);
    expect(share).to.be.below(MOST_CPU_AT_REST);
    expect(Number.parseFloat(memory)).to.be.below(MOST_MEMORY_AT_REST_MIB);
  });

  it(`loses and doubles nothing when it is killed with ${OPEN_GENERATIONS} open generations`, async () => {
    // Those that never end by themselves take all slots of the model, so the others are open at the kill too.
    const endless = await createAll(SLOTS, { behaviour: 'hang', size: '128x128' });
    for (const id of endless)
      while ((await ask(URL, key, `/generations/${id}`))['status'] !== 'running') await sleep(100);
    const queued = await createAll(OPEN_GENERATIONS - SLOTS, { size: '128x128' });
    for (const id of [...endless, ...queued]) accepted.add(id);
    for (const id of accepted)
      expect((await ask(URL, key, `/generations/${id}`))['status']).to.be.oneOf(['queued', 'running']);
    await succeeds('docker kill darkroom && docker start darkroom');
    for (const id of endless) {
      expect((await ask(URL, key, `/generations/${id}`))['status']).to.be.oneOf(['queued', 'running']);
      await post(`/generations/${id}/cancel`);
    }
    await allEnd();
    for (const [ids, status] of [
      [endless, 'cancelled'],
      [queued, 'succeeded'],
    ] as const)
      for (const id of ids) expect((await ask(URL, key, `/generations/${id}`))['status']).to.equal(status);
    report(await checkBooks(URL, key, accepted));
  });

  it('loses and doubles nothing when it is stopped under load, and exits with 0', async () => {
    const clients = new PatientClients(URL, key);
    const { history } = clients;
    await clients.run(CLIENTS, async () => {
      await until(() => history.accepted.length >= OPEN_GENERATIONS);
      await succeeds('docker stop darkroom');
      const state = docker('inspect', '--format', '{{.State.ExitCode}} {{.State.OOMKilled}}', 'darkroom');
      expect(state).to.equal('0 false');
      await succeeds('docker start darkroom');
    });
    for (const { generationId = '' } of history.accepted) accepted.add(generationId);
    expect(history.contradictions).to.deep.equal([]);
    await allEnd();
    report(await checkBooks(URL, key, accepted));
  });

  it('is backed up and restored into a new volume by the documented commands', async () => {
    const before = await checkBooks(URL, key, accepted);
    const backup = documentedCommand(PAGE, 'darkroom backup /backups');
    await succeeds(backup);
    await succeeds(documentedCommand(PAGE, 'docker cp darkroom:/backups'));
    await succeeds('docker stop darkroom && docker rm darkroom && docker volume rm darkroom-data');
    const restore = documentedCommand(PAGE, ' restore /backups');
    expect(await succeeds(restore)).to.match(/agree/);
    expect((await run(restore)).code, 'a restore over data').to.not.equal(0);
    expect(
      await succeeds('docker run --rm --read-only --tmpfs /tmp -v darkroom-restored:/data darkroom:0.1.0 verify'),
    ).to.match(new RegExp(`${before.generations} generations agree`));
    await succeeds(start().replace('darkroom-data:', 'darkroom-restored:'));
    expect(await checkBooks(URL, key, accepted)).to.deep.equal(before);
    await succeeds('docker rm --force darkroom');
    // On another machine both volumes are new.
    const elsewhere = (command: string) =>
      command.replace('darkroom-backups:', 'other-backups:').replace('darkroom-restored:', 'other-data:');
    await succeeds(elsewhere(documentedCommand(PAGE, 'cp -R /copy /backups')));
    expect(await succeeds(elsewhere(restore))).to.match(/agree/);
  });

  function run(commands: string): Promise<Ran> {
    return runCommands(commands, { folder, environment: engine.environment });
  }

  async function succeeds(commands: string): Promise<string> {
    const { code, text } = await run(commands);
    expect(code, `${commands}\n${text.slice(-4_000)}`).to.equal(0);
    return text;
  }

  function docker(...args: readonly string[]): string {
    return engine.docker(...args).stdout.trim();
  }

  function start(): string {
    return documentedCommand(PAGE, 'docker run --detach --name darkroom');
  }

  /** CPU time of all processes in the container so far, from the kernel's own count. */
  function cpuSeconds(): number {
    const id = docker('inspect', '--format', '{{.Id}}', 'darkroom');
    const first = `/sys/fs/cgroup/cpuacct/docker/${id}/cpuacct.usage`;
    if (existsSync(first)) return Number(readFileSync(first, 'utf8')) / 1e9;
    const text = readFileSync(`/sys/fs/cgroup/docker/${id}/cpu.stat`, 'utf8');
    return Number(/^usage_usec (\d+)$/m.exec(text)?.[1]) / 1e6;
  }

  async function createAll(count: number, parameters: JsonObject): Promise<string[]> {
    const creates = Array.from({ length: count }, () =>
      post('/generations', {
        model_key: 'sandbox-test',
        operation: 'image_generation',
        prompt: 'A test card',
        parameters,
      }),
    );
    return (await Promise.all(creates)).map(({ generation_id: id }) => id);
  }

  async function post(path: string, body?: JsonObject): Promise<{ generation_id: string }> {
    const response = await fetch(`${URL}/api/v1/developer${path}`, {
      method: 'POST',
      headers: {
        'Authorization': `Bearer ${key}`,
        'Idempotency-Key': randomUUID(),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data } = (await response.json()) as { data?: { generation_id: string } };
    expect(response.ok, `${path} answered ${response.status}`).to.equal(true);
    return data ?? { generation_id: '' };
  }

  async function allEnd(): Promise<void> {
    for (const id of accepted) {
      for (;;) {
        const { status } = await ask(URL, key, `/generations/${id}`);
        if (status !== 'queued' && status !== 'running') break;
        await sleep(100);
      }
    }
  }
});

function report({ generations, entries, charged }: Books): void {
  console.log(`      ${generations} generations, ${entries} entries, ${charged} credits charged`);
}

function slotsOfAccount(modelKey: string): number {
  const { models } = parse(textOf('config/catalog.yaml')) as {
    readonly models: readonly { readonly model_key: string; readonly concurrency: number }[];
  };
  const model = models.find((one) => one.model_key === modelKey);
  if (model === undefined) throw new Error(`the catalog has no model ${modelKey}`);
  return defaultConcurrencyPerAccount(model.concurrency);
}

function baseImage(): string {
  return /^ARG NODE_IMAGE=(\S+)$/m.exec(textOf('deploy/Dockerfile'))?.[1] ?? '';
}

/** Waits for a condition; the suite's timeout means that it never held. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(200);
}
