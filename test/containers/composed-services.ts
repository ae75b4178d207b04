import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientHistory } from '../faults/client-history.js';
import { ask, type Books, checkBooks } from './accounting.js';
import { documented, runCommands } from './documented.js';
import type { Engine } from './engine.js';
import { buildCommand, copyBuildContext } from './image-build.js';
import { PatientClients } from './patient-clients.js';

export const COMPOSE_PAGE = 'docs/deploying/compose.md';
const URL = 'http://localhost:8080';
const CLIENTS = 6;

/** The services of deploy/compose.yaml on an engine of their own, and what clients were promised by them. */
export class ComposedServices {
  readonly accepted = new Set<string>();
  private key = '';

  private constructor(
    readonly engine: Engine,
    private readonly folder: string,
  ) {}

  /** Copies the files that an operator needs, and builds the image unless the engine has it. */
  static async prepare(engine: Engine): Promise<ComposedServices> {
    const services = new ComposedServices(engine, mkdtempSync(join(tmpdir(), 'darkroom-services-')));
    copyBuildContext(services.folder);
    if (engine.docker('image', 'inspect', 'darkroom:0.1.0').status !== 0) await services.run(buildCommand(), '.');
    return services;
  }

  /** Starts the services by the documented commands, which show a key. */
  async start(): Promise<void> {
    await this.run('sh make-secrets.sh');
    // The stand-in for MongoDB has another name for its replica set.
    this.changeSecret('mongo_url', (url) => url.replace('replicaSet=rs0', 'directConnection=true'));
    const text = await this.run(documented(COMPOSE_PAGE, 'sh make-secrets.sh'), '.');
    this.key = /svc_live_\w+/.exec(text)?.[0] ?? '';
    expect(this.key).to.not.equal('');
  }

  async remove(): Promise<void> {
    await this.run('docker compose down --volumes');
    rmSync(this.folder, { recursive: true, force: true });
  }

  pathOf(name: string): string {
    return join(this.folder, 'deploy', name);
  }

  changeSecret(name: string, change: (text: string) => string): void {
    const path = this.pathOf(join('secrets', name));
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  }

  /** Runs clients meanwhile, by default until each has a generation, and waits until every generation has ended. */
  async underLoad(during: (history: ClientHistory) => Promise<unknown> = hasAccepted(CLIENTS)): Promise<void> {
    const clients = new PatientClients(URL, this.key);
    const { history } = clients;
    await clients.run(CLIENTS, () => during(history));
    expect(history.contradictions).to.deep.equal([]);
    for (const { generationId = '' } of history.accepted) {
      this.accepted.add(generationId);
      for (;;) {
        const { status } = await ask(URL, this.key, `/generations/${generationId}`);
        if (status !== 'queued' && status !== 'running') break;
        await sleep(100);
      }
    }
  }

  /** Counts generations and credits, prints them, and returns them. Throws if one is lost or charged twice. */
  async checkBooks(accepted: ReadonlySet<string> = this.accepted): Promise<Books> {
    const books = await checkBooks(URL, this.key, accepted);
    const { generations, entries, charged } = books;
    console.log(`      ${generations} generations, ${entries} entries, ${charged} credits charged`);
    return books;
  }

  /** Runs commands that must succeed. Returns what they print. */
  async run(commands: string, below = 'deploy'): Promise<string> {
    const { environment } = this.engine;
    const { code, text } = await runCommands(commands, { folder: join(this.folder, below), environment });
    expect(code, `${commands}\n${text.slice(-4_000)}`).to.equal(0);
    return text;
  }

  /** Counts the health checks that were sent while something happens, and those that were not answered with 200. */
  async failuresDuring(during: () => Promise<unknown>): Promise<{ readonly all: number; readonly failed: number }> {
    const over = new AbortController();
    const asked = { all: 0, failed: 0 };
    const asking = (async () => {
      while (!over.signal.aborted) {
        asked.all += 1;
        const status = await fetch(`${URL}/healthz`).then(
          (response) => response.status,
          () => 0,
        );
        if (status !== 200) asked.failed += 1;
        await sleep(50);
      }
    })();
    try {
      await during();
    } finally {
      over.abort();
      await asking;
    }
    return asked;
  }
}

/** Resolves once so many creates are accepted; the suite's timeout means that they never were. */
export function hasAccepted(count: number): (history: ClientHistory) => Promise<void> {
  return async (history) => {
    while (history.accepted.length < count) await sleep(200);
  };
}
