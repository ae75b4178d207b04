import type { Duplex } from 'node:stream';
import {
  graphAfterRun,
  graphRefusal,
  NODE_CLASSES,
  outputsOf,
  pythonJson,
  readPythonJson,
  refusal,
  type Graph,
} from './comfyui-nodes.js';
import { ComfyUiQueue, type HistoryItem, type QueueItem } from './comfyui-queue.js';
import {
  FakeServer,
  type FakeAnswer,
  type FakeRequest,
  type FakeRoute,
  type FakeServerOptions,
} from './fake-server.js';
import { WebSocketPeer } from './web-socket-peer.js';

/** A ComfyUI server as real ones of version 0.3.64 and 0.33.0 were seen to behave. */
export class ComfyUiFake {
  readonly queue = new ComfyUiQueue((to, type, data) => this.tell(to, type, data));
  /** WebSockets of clients, by the id that each gave. */
  readonly sockets = new Map<string, WebSocketPeer>();
  /** Upgrades that have come and get no answer, where `leavesUpgrades`. */
  readonly leftUpgrades: Duplex[] = [];
  leavesUpgrades = false;
  server!: FakeServer;
  private taken = 0;

  private constructor(
    /** Those of 0.3 have no `/api/jobs`. */
    readonly version: string,
    private readonly key: string | undefined,
  ) {}

  static async open({
    version = '0.33.0',
    key,
    tls,
  }: { readonly version?: string; readonly key?: string } & Pick<FakeServerOptions, 'tls'> = {}): Promise<ComfyUiFake> {
    const fake = new ComfyUiFake(version, key);
    fake.server = await FakeServer.open(fake.routes(), {
      otherwise: () => ({ status: 404, headers: { 'content-type': 'application/octet-stream' } }),
      onUpgrade: (request, socket) => {
        if (fake.leavesUpgrades) {
          fake.leftUpgrades.push(socket.resume().on('error', () => undefined));
          return;
        }
        const peer = WebSocketPeer.accept(request, socket);
        const client = peer.url.searchParams.get('clientId') ?? '';
        fake.sockets.set(client, peer);
        fake.tell(client, 'status', { status: { exec_info: { queue_remaining: 0 } }, sid: client });
      },
      ...(tls === undefined ? {} : { tls }),
    });
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  /** Tasks that were put into the queue. */
  get tasks(): number {
    return this.taken;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets.values()) socket.cut();
    await this.server.close();
  }

  private get hasJobs(): boolean {
    return !this.version.startsWith('0.3.');
  }

  private tell(to: string | undefined, type: string, data: object): void {
    if (to !== undefined) this.sockets.get(to)?.send(JSON.stringify({ type, data }));
  }

  private routes(): readonly FakeRoute[] {
    const { queue } = this;
    const routes: FakeRoute[] = [
      {
        method: 'GET',
        path: '/system_stats',
        of: 'check',
        handle: () => ({ json: { system: { comfyui_version: this.version } } }),
      },
      {
        method: 'GET',
        path: '/object_info/:name',
        handle: ({ params }) => ({ json: pick(NODE_CLASSES, params['name']) }),
      },
      { method: 'GET', path: '/prompt', handle: () => ({ json: { exec_info: { queue_remaining: this.remaining } } }) },
      { method: 'POST', path: '/prompt', of: 'submit', handle: (request) => this.submit(request) },
      {
        method: 'GET',
        path: '/queue',
        of: this.hasJobs ? [] : ['poll', 'recover'],
        handle: () => python(this.shownQueue()),
      },
      {
        method: 'GET',
        path: '/history/:id',
        of: [],
        handle: ({ params }) => python(this.shownHistory(params['id'] ?? '')),
      },
      {
        method: 'POST',
        path: '/queue',
        of: 'cancel',
        handle: (request) => {
          for (const id of (request.json() as { delete?: string[] }).delete ?? []) queue.delete(id);
          return {};
        },
      },
      { method: 'POST', path: '/interrupt', handle: (request) => this.interrupt(request) },
      { method: 'GET', path: '/view', of: 'output', handle: (request) => this.view(request) },
      { method: 'HEAD', path: '/view', handle: (request) => this.view(request) },
      { method: 'POST', path: '/upload/image', of: 'upload', handle: (request) => this.upload(request) },
    ];
    if (this.hasJobs)
      routes.push({
        method: 'GET',
        path: '/api/jobs/:id',
        of: ['poll', 'recover'],
        handle: ({ params }) => this.job(params['id'] ?? ''),
      });
    return routes.map((route) => ({
      ...route,
      handle: (request) => (this.isAllowed(request) ? route.handle(request) : { status: 401, json: { error: 'no' } }),
    }));
  }

  private isAllowed({ headers }: FakeRequest): boolean {
    return this.key === undefined || headers.authorization === `Bearer ${this.key}`;
  }

  private get remaining(): number {
    return this.queue.pending.length + (this.queue.running === undefined ? 0 : 1);
  }

  private submit(request: FakeRequest): FakeAnswer {
    const body = readPythonJson(request.body.toString()) as {
      readonly prompt?: Graph;
      readonly prompt_id?: string;
      readonly client_id?: string;
      readonly partial_execution_targets?: readonly string[];
    };
    if (body.prompt === undefined) return { status: 400, json: refusal('no_prompt', 'No prompt provided', '') };
    const { prompt: graph, prompt_id: id = crypto.randomUUID(), partial_execution_targets: targets } = body;
    if (this.hasJobs && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
      return { status: 400, json: refusal('invalid_prompt_id', 'prompt_id must be a valid UUID', '') };
    const refused = graphRefusal(graph, targets, (name) => this.queue.files.has(`input/${name}`));
    if (refused !== undefined) return { status: 400, json: refused };
    const number = (this.taken += 1);
    this.queue.put({ number, id, graph, clientId: body.client_id, outputs: outputsOf(graph, targets) });
    return { json: { prompt_id: id, number, node_errors: {} } };
  }

  private interrupt(request: FakeRequest): FakeAnswer {
    const { prompt_id: id } = (request.body.byteLength === 0 ? {} : request.json()) as { prompt_id?: string };
    if (id === undefined || this.queue.running?.id === id) this.queue.interrupt();
    return {};
  }

  private shownQueue() {
    const shown = ({ number, id, graph, clientId, outputs }: QueueItem) => [
      number,
      id,
      graph,
      { client_id: clientId },
      outputs,
    ];
    const { running, pending } = this.queue;
    return { queue_running: running === undefined ? [] : [shown(running)], queue_pending: pending.map(shown) };
  }

  private shownHistory(id: string) {
    const entry = this.queue.history.get(id);
    if (entry === undefined) return {};
    const { item, outputs } = entry;
    return {
      [id]: {
        prompt: [item.number, id, graphAfterRun(item.graph), {}, item.outputs],
        outputs,
        status: statusOf(entry),
      },
    };
  }

  private job(id: string): FakeAnswer {
    const { running, pending, history } = this.queue;
    const entry = history.get(id);
    if (entry !== undefined) return python(jobOf(id, entry));
    const isRunning = running?.id === id;
    if (!isRunning && pending.every((item) => item.id !== id)) return { status: 404, json: { error: 'Job not found' } };
    return { json: { id, status: isRunning ? 'in_progress' : 'pending', outputs_count: 0 } };
  }

  private view({ query }: FakeRequest): FakeAnswer {
    const [folder, subfolder, filename] = ['type', 'subfolder', 'filename'].map((name) => query.get(name) ?? '');
    const bytes = this.queue.files.get([folder, subfolder, filename].filter((part) => part !== '').join('/'));
    if (bytes === undefined) return { status: 404 };
    return { headers: { 'content-type': filename!.endsWith('.mp4') ? 'video/mp4' : 'image/png' }, body: bytes };
  }

  private async upload(request: FakeRequest): Promise<FakeAnswer> {
    const form = await request.form();
    const [file, subfolder] = [form.get('image'), form.get('subfolder') ?? ''];
    if (!(file instanceof File) || typeof subfolder !== 'string') return { status: 400 };
    const bytes = new Uint8Array(await file.arrayBuffer());
    const [, stem = '', extension = ''] = /^(.*?)(\.[^.]*)?$/.exec(file.name) ?? [];
    for (let count = 0; ; count += 1) {
      const name = count === 0 ? file.name : `${stem} (${count})${extension}`;
      const path = ['input', subfolder, name].filter((part) => part !== '').join('/');
      const present = this.queue.files.get(path);
      if (present !== undefined && Buffer.compare(present, bytes) !== 0) continue;
      this.queue.files.set(path, bytes);
      return { json: { name, subfolder, type: 'input' } };
    }
  }
}

function python(value: unknown): FakeAnswer {
  return { headers: { 'content-type': 'application/json; charset=utf-8' }, body: pythonJson(value) };
}

function statusOf({ status, messages }: HistoryItem) {
  return { status_str: status, completed: status === 'success', messages };
}

function jobOf(id: string, entry: HistoryItem) {
  const { messages, status, outputs } = entry;
  const error = messages.find(([event]) => event === 'execution_error')?.[1];
  const wasInterrupted = messages.some(([event]) => event === 'execution_interrupted');
  const failed = wasInterrupted ? 'cancelled' : 'failed';
  return {
    id,
    status: status === 'success' ? 'completed' : failed,
    ...(error === undefined ? {} : { execution_error: error }),
    outputs_count: Object.keys(outputs).length,
    outputs,
    execution_status: statusOf(entry),
    workflow: { prompt: graphAfterRun(entry.item.graph), extra_data: {} },
  };
}

function pick(from: Readonly<Record<string, unknown>>, name = ''): object {
  return Object.hasOwn(from, name) ? { [name]: from[name] } : {};
}
