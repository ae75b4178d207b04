/**
 * `node dist/test/clients/openai/open-webui.js`: runs Open WebUI in front of the started program, configured as
 * docs/openai.md shows, makes and edits pictures with it, and writes the requests that it sent into the file that
 * test/fronts/openai/open-webui.test.ts replays. Outside CI, because its packages take more than 1 GB.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import type { JsonObject } from '../../../core/json.js';
import { OPEN_WEBUI, type RecordedRequest, type Recording } from '../../fronts/openai/recorded-requests.js';
import { freePort } from '../../servers/free-port.js';
import { installProgram } from '../../servers/install-program.js';
import { interpreterOf } from '../../servers/python-environment.js';
import { runProgram } from '../../simulation/command-line.js';
import { ClientService } from './client-service.js';
import { DocumentedExample } from './documented-example.js';
import { OPEN_WEBUI_PROGRAM, OPEN_WEBUI_VERSION } from './openai-tools.js';

const USAGE = 'Records the requests that Open WebUI sends to the OpenAI-compatible API. No options.\n';
const [ORIGINAL, FIXED_NAME] = ['sandbox-image', 'gpt-image-1'];
const CREDITS = 4;

/** One use of Open WebUI: what an administrator changes before, and what a user then asks of it. */
interface Use {
  readonly during: string;
  readonly settings?: JsonObject;
  readonly path: 'generations' | 'edit';
  readonly body: JsonObject;
  readonly pictures: number;
}

async function uses(): Promise<readonly Use[]> {
  const background = { r: 200, g: 30, b: 30 };
  const png = await sharp({ create: { width: 16, height: 16, channels: 3, background } })
    .png()
    .toBuffer();
  const image = `data:image/png;base64,${png.toString('base64')}`;
  const prompt = 'a lighthouse';
  const made = { path: 'generations', body: { prompt }, pictures: 1 } as const;
  const edited = { path: 'edit', body: { prompt, image }, pictures: 1 } as const;
  const version = '2025-04-01-preview';
  return [
    { ...made, during: 'a picture' },
    { ...edited, during: 'an edit of one picture' },
    { ...edited, during: 'an edit of two pictures', body: { prompt, image: [image, image] } },
    {
      ...made,
      during: 'two pictures of a model with a name of OpenAI, with a version of the API',
      settings: { IMAGE_GENERATION_MODEL: FIXED_NAME, IMAGES_OPENAI_API_VERSION: version },
      body: { prompt, n: 2 },
      pictures: 2,
    },
    {
      ...edited,
      during: 'an edit of a model with a name of OpenAI, with a version of the API',
      settings: { IMAGE_EDIT_MODEL: FIXED_NAME, IMAGES_EDIT_OPENAI_API_VERSION: version },
    },
    {
      ...made,
      during: 'a picture by its address',
      settings: {
        IMAGE_GENERATION_MODEL: ORIGINAL,
        IMAGES_OPENAI_API_VERSION: '',
        IMAGES_OPENAI_API_PARAMS: { response_format: 'url' },
      },
    },
  ];
}

/** A proxy that notes what passes. */
class Recorder {
  readonly requests: RecordedRequest[] = [];
  during = '';
  upstream = '';
  private readonly server = createServer((request, response) => void this.pass(request, response));

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const body = await buffer(request);
    const { 'host': _, 'connection': _connection, 'content-length': _length, ...sent } = headers;
    const texts = Object.entries(sent).map(([name, value]) => [name, String(value)] as const);
    const isText = headers['content-type'] === 'application/json';
    this.requests.push({
      during: this.during,
      method,
      path: url.replace(/^(\/v1\/files\/).*/, '$1'),
      headers: Object.fromEntries(texts.map(([name, value]) => [name, value.replace(/svc_live_\w+/, 'KEY')])),
      ...(body.byteLength === 0 ? {} : isText ? { text: body.toString() } : { base64: body.toString('base64') }),
    });
    const init = { method, headers: Object.fromEntries(texts), ...(body.byteLength > 0 ? { body } : {}) };
    const answer = await fetch(this.upstream + url, init);
    response.writeHead(answer.status, answer.statusText, {
      'Content-Type': answer.headers.get('content-type') ?? 'text/plain',
    });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }
}

/** A running Open WebUI with an administrator. */
class OpenWebUi {
  private token = '';

  private constructor(
    private readonly url: string,
    private readonly server: ChildProcess,
  ) {}

  static async start(
    interpreter: string,
    folder: string,
    variables: Readonly<Record<string, string>>,
  ): Promise<OpenWebUi> {
    const port = await freePort();
    const log = join(folder, 'log');
    const output = openSync(log, 'w');
    // A virtual environment that was moved has no scripts that can be run.
    const args = ['-c', 'from open_webui import app; app()', 'serve', '--host', '127.0.0.1', '--port', String(port)];
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      DATA_DIR: folder,
      STATIC_DIR: join(folder, 'static'),
      WEBUI_SECRET_KEY: randomBytes(32).toString('hex'),
      ...variables,
    };
    const server = spawn(interpreter, args, { cwd: folder, env, stdio: ['ignore', output, output] });
    const webUi = new OpenWebUi(`http://127.0.0.1:${port}`, server);
    while (!(await isReady(port))) {
      if (server.exitCode !== null) throw new Error(`Open WebUI ended: ${readFileSync(log, 'utf8').slice(-2_000)}`);
      await sleep(500);
    }
    return webUi;
  }

  end(): void {
    this.server.kill('SIGKILL');
  }

  async signUp(): Promise<void> {
    const account = { name: 'Admin', email: 'admin@example.com', password: randomBytes(12).toString('hex') };
    this.token = ((await this.call('auths/signup', account)) as { readonly token: string }).token;
  }

  /** Throws with the status and the detail of a refusal. */
  async call(path: string, body?: JsonObject): Promise<unknown> {
    const response = await this.fetch(path, body);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  fetch(path: string, body?: JsonObject): Promise<Response> {
    return fetch(`${this.url}/api/v1/${path}`, {
      headers: { 'Authorization': `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  }

  async use({ settings, path, body, pictures }: Use): Promise<void> {
    await this.change(settings ?? {});
    const files = (await this.call(`images/${path}`, body)) as readonly { readonly id: string }[];
    if (files.length !== pictures) throw new Error(`It has ${files.length} pictures and not ${pictures}.`);
    for (const { id } of files) {
      const file = Buffer.from(await (await this.fetch(`files/${id}/content`)).arrayBuffer());
      if ((await sharp(file).metadata()).width !== 512) throw new Error('The picture has another size.');
    }
  }

  async change(settings: JsonObject): Promise<void> {
    const config = (await this.call('images/config')) as JsonObject;
    await this.call('images/config/update', { ...config, ...settings });
  }
}

async function main(): Promise<number> {
  console.log('Installing Open WebUI, once on this machine; it takes some minutes.');
  const interpreter = interpreterOf(await installProgram(OPEN_WEBUI_PROGRAM));
  const recorder = new Recorder();
  const origin = await recorder.listen();
  try {
    const service = await ClientService.open({ config: { rest: { public_url: origin } }, catalog: withFixedName });
    try {
      recorder.upstream = service.live.url;
      await record(interpreter, service, recorder, origin);
    } finally {
      await service.close();
    }
  } finally {
    recorder.close();
  }
  return 0;
}

async function record(interpreter: string, service: ClientService, recorder: Recorder, origin: string): Promise<void> {
  const tenant = await service.tenant();
  const { folder, text } = new DocumentedExample(service, 'Open WebUI', 'ini');
  const documented = text.replaceAll(service.live.url, origin).replaceAll('svc_live_…', tenant.secret);
  const webUi = await OpenWebUi.start(interpreter, folder, {
    ...OFFLINE,
    ...Object.fromEntries(documented.split('\n').map((line) => line.split('=') as [string, string])),
  });
  try {
    await webUi.signUp();
    let pictures = 0;
    for (const use of await uses()) {
      recorder.during = use.during;
      await webUi.use(use);
      pictures += use.pictures;
      console.log(`${use.during}: made`);
    }
    const recording: Recording = { client: `Open WebUI ${OPEN_WEBUI_VERSION}`, requests: recorder.requests.slice() };
    await webUi.change({ IMAGE_GENERATION_MODEL: 'unknown' });
    const refused = await (await webUi.fetch('images/generations', { prompt: 'x' })).text();
    if (!refused.includes('model_not_found')) throw new Error(`Of an unknown model it shows ${refused}.`);
    await service.expectPaid(tenant, pictures * CREDITS);
    writeFileSync(OPEN_WEBUI, `${JSON.stringify(recording, null, 2)}\n`);
    console.log(`${recording.requests.length} requests are in ${OPEN_WEBUI}`);
  } finally {
    webUi.end();
  }
}

/** It asks nobody for models, updates or weights. */
const OFFLINE = {
  OFFLINE_MODE: 'true',
  ENABLE_OLLAMA_API: 'false',
  ENABLE_OPENAI_API: 'false',
  ENABLE_VERSION_UPDATE_CHECK: 'false',
  ANONYMIZED_TELEMETRY: 'false',
  BYPASS_EMBEDDING_AND_RETRIEVAL: 'true',
  RAG_EMBEDDING_ENGINE: 'openai',
  // The address of a picture is on this machine.
  ENABLE_LOCAL_WEB_FETCH: 'true',
};

/** The catalog with another model, under a name that Open WebUI treats in its own way. */
function withFixedName(shipped: string): string {
  const from = shipped.indexOf(`  - model_key: ${ORIGINAL}`);
  const entry = shipped.slice(from, shipped.indexOf('  - model_key:', from + 1));
  return `${shipped.slice(0, from)}${entry.replace(ORIGINAL, FIXED_NAME)}${shipped.slice(from)}`;
}

function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

await runProgram(USAGE, main);
