/*
 * Written from these pages of platform.minimax.io: "Text to Video", "First & Last Frame to Video", "Query Video Generation
 * Task Status", "Video Download" (each with its OpenAPI document), and "Error Codes". No answer of the real API was
 * recorded.
 */
import { mp4 } from '../../fixtures/videos.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { fileRoute, VendorFake } from './vendor-fake.js';

type Json = Readonly<Record<string, unknown>>;
type Status = 'Preparing' | 'Queueing' | 'Processing' | 'Success' | 'Fail';

interface MinimaxTask {
  readonly id: string;
  readonly body: Json;
  status: Status;
}

/** Codes of tasks that fail, by their prompts. */
const FAILURES: Readonly<Record<string, number>> = { 'forbidden late': 1026, 'forbidden result': 1027, 'broken': 1000 };
/** Codes with which a submission is refused, by its prompt. */
const REFUSED: Readonly<Record<string, number>> = { forbidden: 1026, poor: 1008, limited: 1002 };
const MODELS = ['MiniMax-Hailuo-02'];
const FIRST_FILE = 205_258_526_306_433;

/** Video generation of MiniMax: every answer has status 200, and its own code in `base_resp`. */
export class MinimaxFake extends VendorFake {
  /** Every task that was taken, in order. */
  readonly tasks: MinimaxTask[] = [];

  private constructor(
    readonly key: string,
    /** The bytes of every file. */
    public video: Uint8Array,
  ) {
    super('/v1');
  }

  static async open(key = 'minimax-test-key'): Promise<MinimaxFake> {
    return new MinimaxFake(key, await mp4()).opened();
  }

  protected override refused({ headers: { authorization } }: FakeRequest): FakeAnswer | undefined {
    if (authorization === undefined) return said(1004, 'login fail: Please carry the API secret key');
    return authorization === `Bearer ${this.key}` ? undefined : said(2049, 'invalid api key');
  }

  protected routes(): readonly FakeRoute[] {
    return [
      this.route('POST', '/video_generation', 'submit', (request) => this.take(request)),
      this.route('GET', '/query/video_generation', ['poll', 'check'], ({ query }) => this.show(query.get('task_id'))),
      this.route('GET', '/files/retrieve', 'poll', ({ query }) => this.retrieve(query.get('file_id'))),
      fileRoute('/cdn/:file', () => ({ headers: { 'content-type': 'video/mp4' }, body: this.video })),
    ];
  }

  private take(request: FakeRequest): FakeAnswer {
    const body = request.json() as Json;
    const fault = requestFault(body);
    if (fault !== undefined) return said(2013, `invalid params, ${fault}`, { task_id: '' });
    const refused = REFUSED[String(body['prompt'])];
    if (refused !== undefined) return said(refused, 'the request was refused for a reason', { task_id: '' });
    const task: MinimaxTask = { id: String(106_916_112_212_032 + this.tasks.length), body, status: 'Preparing' };
    this.tasks.push(task);
    return said(0, 'success', { task_id: task.id });
  }

  private show(id: string | null): FakeAnswer {
    const at = this.tasks.findIndex((one) => one.id === id);
    const task = this.tasks[at];
    if (task === undefined) return said(2013, 'invalid params, task_id is not known');
    const prompt = String(task.body['prompt']);
    const failed = FAILURES[prompt];
    if (task.status === 'Preparing') task.status = 'Processing';
    else if (prompt !== 'endless') task.status = failed === undefined ? 'Success' : 'Fail';
    const { status } = task;
    const isDone = status === 'Success';
    const shown = { task_id: id, status, file_id: isDone ? String(FIRST_FILE + at) : '' };
    if (status === 'Fail') return said(failed ?? 1000, 'the task has failed for a reason', shown);
    return said(0, 'success', isDone ? { ...shown, video_width: 1_366, video_height: 768 } : shown);
  }

  private retrieve(id: string | null): FakeAnswer {
    const at = Number(id) - FIRST_FILE;
    if (this.tasks[at]?.status !== 'Success') return said(2013, 'invalid params, file_id is not known');
    const file = {
      file_id: Number(id),
      bytes: this.video.byteLength,
      created_at: 1_700_469_398,
      filename: 'output_aigc.mp4',
      purpose: 'video_generation',
      download_url: `${this.server.url}/cdn/output_aigc.mp4?Expires=1700502000&Signature=0a1b2c`,
    };
    return said(0, 'success', { file });
  }
}

const MEMBERS = 'model prompt first_frame_image last_frame_image duration resolution prompt_optimizer'.split(' ');

/** The first fault of a request; undefined if there is none. */
function requestFault(body: Json): string | undefined {
  const { model, prompt, duration = 6, resolution = '768P', first_frame_image: first, last_frame_image: last } = body;
  const unknown = Object.keys(body).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) return `${unknown} is not known`;
  if (!MODELS.includes(model as string)) return 'model is not supported';
  if (typeof prompt !== 'string' || [...prompt].length > 2_000) return 'prompt is too long';
  if (![6, 10].includes(duration as number)) return 'duration must be 6 or 10';
  if (!['768P', '1080P'].includes(resolution as string)) return 'resolution is not supported';
  if (resolution === '1080P' && duration !== 6) return 'the model does not support 1080P with this duration';
  const isPicture = (value: unknown) =>
    typeof value === 'string' && /^data:image\/[a-z]+;base64,[\w+/]+=*$/.test(value);
  return [first, last].every((one) => one === undefined || isPicture(one)) ? undefined : 'a picture cannot be read';
}

function said(code: number, message: string, more: Json = {}): FakeAnswer {
  return { json: { ...more, base_resp: { status_code: code, status_msg: message } } };
}
