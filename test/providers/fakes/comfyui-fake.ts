import type { Duplex } from 'node:stream';
import { image } from '../../fixtures/images.js';
import { pngChunk, withPngChunks } from '../../fixtures/tagged-images.js';
import { muxedWithTags } from '../../fixtures/tagged-videos.js';
import {
  type Graph,
  graphAfterRun,
  graphRefusal,
  neededBy,
  NODE_CLASSES,
  outputsOf,
  pythonJson,
  readPythonJson,
  refusal,
} from './comfyui-nodes.js';
import { fakeTime } from './fake-request.js';
import type { FakeAnswer, FakeRequest, FakeRoute, FakeServerOptions } from './fake-server.js';
import { VendorFake } from './vendor-fake.js';
import { WebSocketPeer } from './web-socket-peer.js';

export interface QueueItem {
  readonly number: number;
  readonly id: string;
  readonly graph: Graph;
  readonly clientId: string | undefined;
  readonly outputs: readonly string[];
}

export interface SavedItem {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: 'output' | 'temp';
}

type NodeOutputs = Readonly<Record<string, readonly unknown[]>>;

export interface HistoryItem {
  readonly item: QueueItem;
  readonly outputs: Readonly<Record<string, NodeOutputs>>;
  readonly status: 'success' | 'error';
  readonly messages: readonly (readonly [string, Readonly<Record<string, unknown>>])[];
}

/** An error thrown by a node's code. */
export interface Breakage {
  readonly node: string;
  readonly exceptionType: string;
}

/** More blurs than this are taken for a task without an end. */
const MANY_BLURS = 30;

/** The queue of a ComfyUI server, which runs one graph at a time. */
export class ComfyUiQueue {
  pending: QueueItem[] = [];
  running: QueueItem | undefined;
  history = new Map<string, HistoryItem>();
  /** Saved files, by folder and path; they stay when the server starts again. */
  readonly files = new Map<string, Uint8Array>();
  /** Each time a graph was run, also from the cache. */
  readonly runs: string[] = [];
  /** The error that the next graphs throw when they run. */
  breakage: Breakage | undefined;
  /** While it is set, no graph starts; one that is already running continues. */
  isHeld = false;
  /** While it is set, each node waits for a `step`. */
  isStepped = false;
  /** Makes the output of a graph; if absent, it is an empty or a loaded picture. */
  paint?: (graph: Graph) => Uint8Array;
  /** When each task that was taken was no longer there to be worked on, in order; milliseconds since the epoch. */
  readonly ends: { readonly id: string; readonly at: number }[] = [];
  private readonly cache = new Map<string, NodeOutputs>();
  private interrupted = new Set<QueueItem>();
  private wakes: (() => void)[] = [];
  private temps = 0;

  constructor(private readonly tell: (to: string | undefined, type: string, data: object) => void) {}

  put(item: QueueItem): void {
    this.pending.push(item);
    this.next();
  }

  /** Another client's graph runs from now on, and does not end by itself. */
  occupy(): void {
    this.running = {
      number: -1,
      id: '00000000-0000-4000-8000-0000000000ff',
      graph: {},
      clientId: undefined,
      outputs: [],
    };
  }

  release(): void {
    this.isHeld = false;
    this.next();
  }

  step(): void {
    for (const wake of this.wakes.splice(0)) wake();
  }

  delete(id: string): void {
    const at = this.pending.findIndex((item) => item.id === id);
    if (at < 0) return;
    this.pending.splice(at, 1);
    this.ends.push({ id, at: fakeTime() });
  }

  interrupt(): void {
    if (this.running === undefined) return;
    this.interrupted.add(this.running);
    this.step();
  }

  /** Simulates a new process, which has only the files. */
  restart(): void {
    this.pending = [];
    this.running = undefined;
    this.history = new Map();
    this.cache.clear();
    this.interrupted = new Set();
  }

  private next(): void {
    if (this.isHeld || this.running !== undefined) return;
    const item = this.pending.shift();
    if (item === undefined) return;
    this.running = item;
    this.runs.push(item.id);
    setImmediate(() => void this.run(item));
  }

  private async run(item: QueueItem): Promise<void> {
    const outputs: Record<string, NodeOutputs> = {};
    const done: Record<string, object> = {};
    const messages: [string, Readonly<Record<string, unknown>>][] = [['execution_start', { prompt_id: item.id }]];
    this.tell(item.clientId, 'execution_cached', { nodes: [], prompt_id: item.id });
    const order = new Set(item.outputs.flatMap((output) => neededBy(item.graph, output)));
    const isEndless = [...order].filter((id) => item.graph[id]?.class_type === 'ImageBlur').length > MANY_BLURS;
    let status: HistoryItem['status'] = 'success';
    for (const id of order) {
      done[id] = { state: 'running', value: 0, max: 1, node_id: id, prompt_id: item.id };
      this.tell(item.clientId, 'progress_state', { prompt_id: item.id, nodes: { ...done } });
      await this.turn(isEndless);
      if (this.running !== item) return;
      if (this.interrupted.delete(item)) {
        messages.push(['execution_interrupted', { prompt_id: item.id, node_id: id, executed: Object.keys(done) }]);
        status = 'error';
        break;
      }
      if (await this.isBroken(item, id)) {
        messages.push(['execution_error', this.errorOf(item, id)]);
        status = 'error';
        break;
      }
      done[id] = { state: 'finished', value: 1, max: 1, node_id: id, prompt_id: item.id };
      const made = await this.outputOf(item.graph, id);
      if (made !== undefined) outputs[id] = made;
    }
    if (status === 'success') messages.push(['execution_success', { prompt_id: item.id }]);
    this.history.set(item.id, { item, outputs, status, messages });
    this.running = undefined;
    this.ends.push({ id: item.id, at: fakeTime() });
    this.tell(item.clientId, 'executing', { node: null, prompt_id: item.id });
    this.next();
  }

  private async turn(isEndless: boolean): Promise<void> {
    if (isEndless || this.isStepped) await new Promise<void>((resolve) => void this.wakes.push(resolve));
    else await new Promise((resolve) => setImmediate(resolve));
  }

  private async isBroken({ graph }: QueueItem, id: string): Promise<boolean> {
    if (this.breakage?.node === id) return true;
    const { class_type: name, inputs } = graph[id]!;
    if (name !== 'LoadImage') return false;
    const bytes = this.files.get(`input/${String(inputs['image'])}`);
    return bytes === undefined || !/^(?:\x89PNG|\xff\xd8|RIFF)/.test(Buffer.from(bytes).toString('latin1', 0, 4));
  }

  /** An error as a real server reports it: paths, traces and the inputs of the node. */
  private errorOf({ id, graph }: QueueItem, node: string): Readonly<Record<string, unknown>> {
    return {
      prompt_id: id,
      node_id: node,
      node_type: graph[node]?.class_type,
      executed: [],
      exception_message: `cannot identify image file '/root/ComfyUI/input/secret.png'`,
      exception_type: this.breakage?.exceptionType ?? 'PIL.UnidentifiedImageError',
      traceback: ['  File "/root/ComfyUI/execution.py", line 496, in execute\n'],
      current_inputs: { images: ['tensor([[[[0.1, 0.2]]]])'] },
      current_outputs: [],
    };
  }

  /** A node whose inputs are all the same as in an earlier run returns the cached output. */
  private async outputOf(graph: Graph, id: string): Promise<NodeOutputs | undefined> {
    const key = JSON.stringify(neededBy(graph, id).map((one) => graph[one]));
    const cached = this.cache.get(key);
    if (cached !== undefined) return cached;
    const made = await this.make(graph, id);
    if (made !== undefined) this.cache.set(key, made);
    return made;
  }

  private async make(graph: Graph, id: string): Promise<NodeOutputs | undefined> {
    const { class_type: name, inputs } = graph[id]!;
    if (name === 'PreviewAny') return { text: ['a text'] };
    if (name === 'SaveVideo') {
      const video = await muxedWithTags('index first', 'udta');
      return { images: [this.save(String(inputs['filename_prefix']), 'mp4', video)], animated: [true] };
    }
    if (name !== 'SaveImage' && name !== 'PreviewImage') return undefined;
    const { picture, count } = await this.pictureOf(graph, id);
    const items = Array.from({ length: count }, () =>
      name === 'SaveImage' ? this.save(String(inputs['filename_prefix']), 'png', picture) : this.preview(picture),
    );
    return { images: items };
  }

  /** A picture that contains the whole graph, like real ones. */
  private async pictureOf(graph: Graph, id: string): Promise<{ readonly picture: Uint8Array; readonly count: number }> {
    const behind = neededBy(graph, id).map((one) => graph[one]!);
    const loaded = behind.find((one) => one.class_type === 'LoadImage')?.inputs['image'];
    const {
      width = 64,
      height = 48,
      batch_size: count = 1,
    } = behind.find((one) => one.class_type === 'EmptyImage')?.inputs ?? {};
    const plain =
      this.paint?.(graph) ??
      this.files.get(`input/${String(loaded)}`) ??
      (await image('png', Number(width), Number(height)));
    return {
      picture: withPngChunks(plain, [pngChunk('tEXt', `prompt\0${JSON.stringify(graph)}`)]),
      count: Number(count),
    };
  }

  private save(prefix: string, extension: string, bytes: Uint8Array): SavedItem {
    const at = prefix.lastIndexOf('/');
    const [subfolder, start] = [prefix.slice(0, Math.max(at, 0)), prefix.slice(at + 1)];
    for (let count = 1; ; count += 1) {
      const filename = `${start}_${String(count).padStart(5, '0')}_.${extension}`;
      const path = `output/${subfolder === '' ? '' : `${subfolder}/`}${filename}`;
      if (this.files.has(path)) continue;
      this.files.set(path, bytes);
      return { filename, subfolder, type: 'output' };
    }
  }

  private preview(bytes: Uint8Array): SavedItem {
    const filename = `ComfyUI_temp_${String((this.temps += 1)).padStart(5, '0')}_.png`;
    this.files.set(`temp/${filename}`, bytes);
    return { filename, subfolder: '', type: 'temp' };
  }
}

/** A ComfyUI server as real ones of version 0.3.64 and 0.33.0 were seen to behave. */
export class ComfyUiFake extends VendorFake {
  readonly queue = new ComfyUiQueue((to, type, data) => this.tell(to, type, data));
  /** WebSockets of clients, by the id that each gave. */
  readonly sockets = new Map<string, WebSocketPeer>();
  /** Upgrades that have come and get no answer, where `leavesUpgrades`. */
  readonly leftUpgrades: Duplex[] = [];
  leavesUpgrades = false;
  /** Tasks that were put into the queue. */
  tasks = 0;

  private constructor(
    /** Those of 0.3 have no `/api/jobs`. */
    readonly version: string,
    private readonly key: string | undefined,
  ) {
    super();
  }

  static open({
    version = '0.33.0',
    key,
    tls,
  }: { readonly version?: string; readonly key?: string } & Pick<FakeServerOptions, 'tls'> = {}): Promise<ComfyUiFake> {
    const fake = new ComfyUiFake(version, key);
    return fake.opened({
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
  }

  override async close(): Promise<void> {
    for (const socket of this.sockets.values()) socket.cut();
    await super.close();
  }

  private get hasJobs(): boolean {
    return !this.version.startsWith('0.3.');
  }

  private tell(to: string | undefined, type: string, data: object): void {
    if (to !== undefined) this.sockets.get(to)?.send(JSON.stringify({ type, data }));
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    const isAllowed = this.key === undefined || headers.authorization === `Bearer ${this.key}`;
    return isAllowed ? undefined : { status: 401, json: { error: 'no' } };
  }

  protected routes(): readonly FakeRoute[] {
    const about = ['poll', 'recover'] as const;
    const stats = { system: { comfyui_version: this.version } };
    return [
      this.route('GET', '/system_stats', 'check', () => ({ json: stats })),
      this.route('GET', '/object_info/:name', [], ({ params }) => ({ json: pick(NODE_CLASSES, params['name']) })),
      this.route('GET', '/prompt', [], () => ({ json: { exec_info: { queue_remaining: this.remaining } } })),
      this.route('POST', '/prompt', 'submit', (request) => this.submit(request)),
      this.route('GET', '/queue', this.hasJobs ? [] : about, () => python(this.shownQueue())),
      this.route('GET', '/history/:id', [], ({ params }) => python(this.shownHistory(params['id'] ?? ''))),
      this.route('POST', '/queue', 'cancel', (request) => {
        for (const id of (request.json() as { delete?: string[] }).delete ?? []) this.queue.delete(id);
        return {};
      }),
      this.route('POST', '/interrupt', [], (request) => this.interrupt(request)),
      this.route('GET', '/view', 'output', (request) => this.view(request)),
      this.route('HEAD', '/view', [], (request) => this.view(request)),
      this.route('POST', '/upload/image', 'upload', (request) => this.upload(request)),
      ...(this.hasJobs
        ? [this.route('GET', '/api/jobs/:id', about, ({ params }) => this.job(params['id'] ?? ''))]
        : []),
    ];
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
    const number = (this.tasks += 1);
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
