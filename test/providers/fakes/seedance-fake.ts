/*
 * Written from these pages of the ModelArk documentation of BytePlus: "Create a video generation task", "Query a video
 * generation task", "Query video generation tasks", "Cancel or delete a video generation task", and "Error codes". No
 * answer of the real API was recorded.
 */
import { mp4 } from '../../fixtures/videos.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { fileRoute, VendorFake } from './vendor-fake.js';

type Json = Readonly<Record<string, unknown>>;
type Status = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired';

interface SeedanceTask {
  readonly id: string;
  readonly body: Json;
  readonly prompt: string;
  status: Status;
  isDeleted: boolean;
}

/** The errors of tasks that fail, by their prompts. */
const ERRORS: Readonly<Record<string, string>> = {
  'forbidden result': 'OutputVideoSensitiveContentDetected.PolicyViolation',
  'broken': 'InternalServiceError',
};
/** Codes with which a submission is refused, by its prompt. */
const REFUSED: Readonly<Record<string, string>> = {
  'forbidden': 'InputTextSensitiveContentDetected',
  'forbidden picture': 'InputImageSensitiveContentDetected.PrivacyInformation',
  'risky': 'SensitiveContentDetected.Violence',
};
const MODEL = 'seedance-1-5-pro-251215';

/** Video generation tasks of ModelArk. A task begins at the first look at it, and ends at the second. */
export class SeedanceFake extends VendorFake {
  /** Every task that was taken, in order. */
  readonly tasks: SeedanceTask[] = [];

  private constructor(
    readonly key: string,
    /** The bytes of every file. */
    public video: Uint8Array,
  ) {
    super('/api/v3');
  }

  static async open(key = 'seedance-test-key'): Promise<SeedanceFake> {
    return new SeedanceFake(key, await mp4()).opened();
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    if (headers.authorization === `Bearer ${this.key}`) return undefined;
    return problem(401, 'AuthenticationError', 'The API key or AK/SK in the request is missing or invalid.');
  }

  protected routes(): readonly FakeRoute[] {
    const tasks = '/contents/generations/tasks';
    return [
      this.route('GET', tasks, 'check', () => ({ json: { total: 0, items: [] } })),
      this.route('POST', tasks, 'submit', (request) => this.take(request)),
      this.route('GET', `${tasks}/:id`, 'poll', ({ params }) => this.show(params['id'])),
      this.route('DELETE', `${tasks}/:id`, 'cancel', ({ params }) => this.remove(params['id'])),
      fileRoute('/bucket/:file', (request) => this.file(request)),
    ];
  }

  private take(request: FakeRequest): FakeAnswer {
    const body = request.json() as Json;
    const fault = requestFault(body);
    if (fault !== undefined) return problem(400, 'InvalidParameter', fault);
    const { text: prompt } = (body['content'] as readonly Json[])[0] as { readonly text: string };
    const refused = REFUSED[prompt];
    if (refused !== undefined)
      return problem(400, refused, 'The request failed because the input may contain sensitive information.');
    const task: SeedanceTask = {
      id: `cgt-20261128-${String(this.tasks.length).padStart(5, '0')}`,
      body,
      prompt,
      status: prompt === 'endless' ? 'running' : 'queued',
      isDeleted: false,
    };
    this.tasks.push(task);
    return { json: { id: task.id } };
  }

  private show(id: string | undefined): FakeAnswer {
    const task = this.find(id);
    if (task === undefined) return problem(404, 'NotFound', 'The specified task is not found.');
    if (task.status === 'queued' && task.prompt !== 'queued') task.status = 'running';
    else if (task.status === 'running' && task.prompt !== 'endless') task.status = endingOf(task.prompt);
    return { json: this.shown(task) };
  }

  private shown({ id, body, status, prompt }: SeedanceTask): Json {
    const code = ERRORS[prompt] ?? 'InternalServiceError';
    const { resolution = '720p', ratio = '16:9', duration = 5, seed = 78_674 } = body;
    return {
      id,
      model: MODEL,
      status,
      error: status === 'failed' ? { code, message: 'The request failed because of what is in it.' } : null,
      created_at: 1_779_348_818,
      updated_at: 1_779_348_874,
      ...(status === 'succeeded'
        ? {
            content: { video_url: `${this.server.url}/bucket/${id}.mp4?X-Tos-Signature=0a1b2c` },
            usage: { completion_tokens: 108_900, total_tokens: 108_900 },
            seed,
            resolution,
            ratio,
            duration,
            framespersecond: 24,
          }
        : {}),
      service_tier: 'default',
      execution_expires_after: 172_800,
    };
  }

  /** Cancels a task that waits; deletes the record of one that has ended. */
  private remove(id: string | undefined): FakeAnswer {
    const task = this.find(id);
    if (task === undefined) return problem(404, 'NotFound', 'The specified task is not found.');
    if (task.status === 'running' || task.status === 'cancelled')
      return problem(409, 'InvalidAction', `A task that is ${task.status} cannot be deleted.`);
    if (task.status === 'queued') task.status = 'cancelled';
    else task.isDeleted = true;
    return { json: {} };
  }

  /** A signed address of the object store, which takes no second credential. */
  private file({ headers }: FakeRequest): FakeAnswer {
    if (headers.authorization !== undefined)
      return { status: 400, body: '<Error><Code>InvalidArgument</Code></Error>' };
    return { headers: { 'content-type': 'video/mp4' }, body: this.video };
  }

  private find(id: string | undefined): SeedanceTask | undefined {
    return this.tasks.find((one) => one.id === id && !one.isDeleted);
  }
}

function endingOf(prompt: string): Status {
  if (prompt === 'expired') return 'expired';
  return ERRORS[prompt] === undefined ? 'succeeded' : 'failed';
}

const MEMBERS = 'model content resolution ratio duration seed camera_fixed watermark generate_audio'.split(' ');

/** The message for the first fault of a request; undefined if there is none. */
function requestFault(body: Json): string | undefined {
  const { model, content, resolution, ratio, duration } = body;
  const unknown = Object.keys(body).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) return `The parameter \`${unknown}\` specified in the request is not valid.`;
  if (model !== MODEL) return 'The parameter `model` specified in the request is not valid.';
  if (resolution !== undefined && !['480p', '720p', '1080p'].includes(resolution as string)) return 'resolution';
  const ratios = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'];
  if (ratio !== undefined && !ratios.includes(ratio as string)) return 'ratio';
  if (duration !== undefined && !(Number.isInteger(duration) && Number(duration) >= 4 && Number(duration) <= 12))
    return 'duration';
  if (!Array.isArray(content) || content.length === 0) return 'content';
  const [text, ...images] = content as readonly Json[];
  if (text?.['type'] !== 'text' || typeof text['text'] !== 'string') return 'content.text';
  if (!images.every(isImageItem)) return 'content.image_url';
  const roles = images.map(({ role }) => role);
  if (roles.some((role) => role !== 'first_frame' && role !== 'last_frame')) return 'content.role';
  return roles.includes('last_frame') && !roles.includes('first_frame') ? 'A last frame needs a first one.' : undefined;
}

function isImageItem({ type, image_url: image, role: _, ...others }: Json): boolean {
  const { url } = (image ?? {}) as Json;
  const isUrl = typeof url === 'string' && /^data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$/.test(url);
  return type === 'image_url' && isUrl && Object.keys(others).length === 0;
}

function problem(status: number, code: string, message: string): FakeAnswer {
  const type = status === 401 ? 'Unauthorized' : 'BadRequest';
  return { status, json: { error: { code, message: `${message} Request ID: 0217`, param: '', type } } };
}
