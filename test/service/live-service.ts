import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../apps/config/config.js';
import { loadConfig } from '../../apps/config/load-config.js';
import { migrateStores } from '../../apps/stores/migrate-stores.js';
import { openProgram, type Program } from '../../apps/wiring/open-program.js';
import type { Scope } from '../../core/access/credential.js';
import { createKey } from '../../core/access/manage.js';
import type { Json, JsonObject } from '../../core/json.js';
import { ServedProcess } from '../faults/served-process.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { CliProcess, CliRun, type Ran } from '../harness/cli-run.js';
import { freePort } from '../servers/free-port.js';
import type { OpenLane } from './lanes.js';
import { fullCatalog } from '../harness/full-catalog.js';

export interface LiveOptions {
  /** Keys of `darkroom.yaml`, by section; they go over the ones below. */
  readonly config?: JsonObject;
  /** The catalog's text, made from the one that comes with the program, in full. */
  readonly catalog?: (shipped: string) => string;
  /** The data folder; inside the service's own folder when absent. */
  readonly dataFolder?: string;
  /** The text of a callers' file; without one nothing listens for gRPC. */
  readonly callers?: string;
  /** The stores it works on, ready to be migrated; a data folder when absent. */
  readonly lane?: OpenLane;
  /** Another build's compiled program, which sets up its stores and is started; this build's when absent. */
  readonly program?: string;
}

export interface Tenant {
  readonly accountId: string;
  readonly appId: string;
  readonly keyId: string;
  readonly secret: string;
}

const DEFAULTS: Readonly<Record<string, JsonObject>> = {
  rest: { rate_limits: { reads_per_minute: 0, creates_per_minute: 0, failed_authentications_per_minute: 0 } },
  log: { level: 'warn', format: 'json' },
};

/** The real program over its own folder, with helpers that act as an operator. */
export class LiveService {
  private constructor(
    readonly folder: string,
    readonly configFile: string,
    readonly config: Config,
    readonly server: ServedProcess,
    private readonly lane: OpenLane | undefined,
  ) {}

  /** Writes its files and sets up its stores; nothing runs before `start`. */
  static async prepare({
    config = {},
    catalog = (shipped) => shipped,
    dataFolder = 'data',
    callers,
    lane,
    program,
  }: LiveOptions = {}): Promise<LiveService> {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-service-'));
    const port = await freePort();
    const sections: JsonObject = {
      ...DEFAULTS,
      ...lane?.config,
      ...config,
      data_folder: dataFolder,
      catalog: 'catalog.yaml',
    };
    sections['rest'] = { ...DEFAULTS['rest'], ...(sections['rest'] as JsonObject), port };
    if (callers !== undefined) {
      writeFileSync(join(folder, 'callers.yaml'), callers);
      sections['grpc'] = { port: await freePort(), callers_file: 'callers.yaml' };
    }
    const configFile = join(folder, 'darkroom.yaml');
    // JSON is YAML, too.
    writeFileSync(configFile, JSON.stringify(sections));
    writeFileSync(
      join(folder, 'catalog.yaml'),
      catalog(fullCatalog(readFileSync((await loadConfig({ folder: tmpdir(), environment: {} })).catalog, 'utf8'))),
    );
    const read = await loadConfig({ file: configFile, folder, environment: {} });
    if (lane) {
      mkdirSync(dirname(read.secretFile), { recursive: true, mode: 0o700 });
      writeFileSync(read.secretFile, 'ab'.repeat(32), { mode: 0o600 });
    }
    const server = new ServedProcess(configFile, folder, `http://127.0.0.1:${port}`, program);
    const service = new LiveService(folder, configFile, read, server, lane);
    if (lane) await (program === undefined ? migrateStores(read) : service.runBy(program, 'migrate'));
    return service;
  }

  static async start(options: LiveOptions = {}): Promise<LiveService> {
    const service = await LiveService.prepare(options);
    await service.server.start();
    return service;
  }

  get url(): string {
    return this.server.url;
  }

  /** The address of the gRPC server, if there is one. */
  get grpcAddress(): string {
    return `127.0.0.1:${this.config.grpc.port ?? 0}`;
  }

  /** Ends it if it runs, and removes its folder and whatever its stores are on. */
  async remove(): Promise<void> {
    await this.server.end('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
    await this.lane?.remove();
  }

  /** The program as one of the operator's commands has it, beside the server if that runs. */
  open(): Promise<Program> {
    return openProgram(this.config, 'tool', { publicUrl: () => this.url });
  }

  /** Work on the stores as one of the operator's commands does it. */
  async tool<T>(work: (program: Program) => Promise<T>): Promise<T> {
    const program = await this.open();
    try {
      return await work(program);
    } finally {
      await program.close();
    }
  }

  /** One command line, run in this process, in the service's folder and with its configuration. */
  run(...args: readonly string[]): Promise<Ran> {
    return new CliRun(this.folder, args, { environment: { DARKROOM_CONFIG: this.configFile } }).ended;
  }

  /** The same by another build's program, in a process; returns the JSON that it printed. Throws if it failed. */
  async runBy(program: string, ...args: readonly string[]): Promise<JsonObject> {
    const environment = { DARKROOM_CONFIG: this.configFile };
    const { code, stdout, stderr } = await new CliProcess(this.folder, [...args, '--json'], { environment, program })
      .ended;
    if (code !== 0) throw new Error(`darkroom ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as JsonObject;
  }

  async tenant(credits: number, scopes?: readonly Scope[]): Promise<Tenant> {
    return (await this.tenants(1, credits, scopes))[0] as Tenant;
  }

  /** So many, made by one opening of the stores. */
  tenants(count: number, credits: number, scopes?: readonly Scope[]): Promise<Tenant[]> {
    return this.tool(async ({ context }) => {
      const made: Tenant[] = [];
      while (made.length < count) {
        const { accountId, appId } = await newOwner(context, 'tenant', credits);
        const { key, secret } = await createKey(context, { appId, name: 'tenant', ...(scopes ? { scopes } : {}) });
        made.push({ accountId, appId, keyId: key.keyId, secret });
      }
      return made;
    });
  }

  client(secret: string): Client {
    return new Client(this.url, secret);
  }
}

export interface Answer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly data: JsonObject;
  readonly headers: Headers;
}

/** A client that calls the service with one key. */
export class Client {
  constructor(
    private readonly url: string,
    private readonly secret: string,
  ) {}

  async request(
    method: 'GET' | 'POST',
    path: string,
    { key, body }: { readonly key?: string; readonly body?: Json } = {},
  ): Promise<Answer> {
    const response = await fetch(`${this.url}/api/v1/developer${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.secret}`,
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const envelope = (await response.json()) as JsonObject;
    const data = (envelope['data'] ?? {}) as JsonObject;
    return {
      status: response.status,
      code: envelope['code'] as string,
      message: envelope['message'] as string,
      data,
      headers: response.headers,
    };
  }

  create(key: string, model: string, parameters: JsonObject = {}, more: JsonObject = {}): Promise<Answer> {
    return this.request('POST', '/generations', {
      key,
      body: { model_key: model, operation: 'image_generation', prompt: 'a lighthouse', parameters, ...more },
    });
  }

  /** Sends a file to a new target and completes the upload; returns the answer to the completion. */
  async upload(key: string, mediaType: string, bytes: Uint8Array): Promise<Answer> {
    const declared = {
      filename: `${key}.bin`,
      media_type: mediaType,
      byte_size: bytes.byteLength,
      role: 'reference_image',
    };
    const prepared = await this.request('POST', '/uploads', { key: `${key}-prepare`, body: declared });
    if (prepared.status >= 300) return prepared;
    const headers = prepared.data['required_headers'] as Record<string, string>;
    await fetch(prepared.data['upload_url'] as string, { method: 'PUT', headers, body: Buffer.from(bytes) });
    return this.request('POST', `/uploads/${prepared.data['upload_id'] as string}/complete`, {
      key: `${key}-complete`,
      body: {},
    });
  }

  look(generationId: string): Promise<Answer> {
    return this.request('GET', `/generations/${generationId}`);
  }

  cancel(generationId: string): Promise<Answer> {
    return this.request('POST', `/generations/${generationId}/cancel`);
  }

  async balance(): Promise<number> {
    return Number((await this.request('GET', '/credits')).data['balance_credits']);
  }

  /** The task once it has one of these statuses; the suite's timeout is the only bound. */
  async until(
    generationId: string,
    statuses: readonly string[] = ['succeeded', 'failed', 'cancelled'],
  ): Promise<JsonObject> {
    for (;;) {
      const { data } = await this.look(generationId);
      if (statuses.includes(data['status'] as string)) return data;
      await sleep(50);
    }
  }
}
