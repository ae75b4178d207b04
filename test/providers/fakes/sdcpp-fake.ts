import sharp from 'sharp';
import { FakeServer, type FakeAnswer, type FakeRequest, type FakeRoute } from './fake-server.js';
import { readBySdServer, type ReadMask } from './read-masks.js';
import { SdcppJobs } from './sdcpp-jobs.js';

const ROOT = '/sdcpp/v1';

/** Jobs of so many steps run until they are released. */
export const HELD_STEPS = 100;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Plays the native routes of sd-server: answers in the shapes of `sdcpp-exchanges.ts`, which the real server is compared
 * with as well, including what it takes without a complaint. Its pictures are black.
 */
export class SdcppFake {
  readonly jobs = new SdcppJobs();
  /** The result for each mask and its picture. */
  readonly masks: ReadMask[] = [];
  /** Whether the server has the LoRA files that it is asked for. */
  takesLoras = false;
  /** The next job fails with this message. */
  failsWith: string | undefined;
  /** Some pictures of a job may be missing: no more than these are delivered. */
  deliversAtMost = Infinity;
  /** What each picture is, instead of a real one: base64, or what should be. */
  pictureText: string | undefined;
  private opened: FakeServer | undefined;

  static async open(): Promise<SdcppFake> {
    const fake = new SdcppFake();
    fake.opened = await FakeServer.open(fake.routes());
    return fake;
  }

  get server(): FakeServer {
    if (this.opened === undefined) throw new Error('The fake is not open.');
    return this.opened;
  }

  get url(): string {
    return this.server.url;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private routes(): readonly FakeRoute[] {
    const { jobs } = this;
    return [
      { method: 'GET', path: `${ROOT}/capabilities`, of: 'check', handle: () => ({ json: CAPABILITIES }) },
      { method: 'POST', path: `${ROOT}/img_gen`, of: 'submit', handle: ({ body }) => this.submit(body) },
      {
        method: 'POST',
        path: `${ROOT}/vid_gen`,
        of: 'submit',
        handle: () => refused('loaded model does not support vid_gen'),
      },
      { method: 'GET', path: `${ROOT}/jobs/:id`, of: ['poll', 'output'], handle: forId((id) => jobs.poll(id)) },
      { method: 'POST', path: `${ROOT}/jobs/:id/cancel`, of: 'cancel', handle: forId((id) => jobs.cancel(id)) },
    ];
  }

  private async submit(body: Buffer): Promise<FakeAnswer> {
    if (body.byteLength === 0) return refused('empty body');
    const fields = fieldsOf(body);
    if (fields === undefined) return refused('invalid json', '[json.exception.parse_error.101] parse error');
    const { output_format: format = 'png', strength = 0.75 } = fields;
    if (typeof format !== 'string') {
      const message = '[json.exception.type_error.302] type must be string, but is number';
      return { status: 500, json: { error: 'server_error', message } };
    }
    if (!['png', 'jpeg', 'webp'].includes(format))
      return refused('invalid output_format, must be one of [png, jpeg, webp]');
    const hasLora = !this.takesLoras && Array.isArray(fields['lora']) && fields['lora'].length > 0;
    const isOutside = typeof strength === 'number' && (strength < 0 || strength > 1);
    if (hasLora || isOutside || !(await areReadable(fields))) return refused('invalid generation parameters');
    const [picture, mask] = [fields['init_image'], fields['mask_image']].map(bytesOf);
    if (picture !== undefined && mask !== undefined) this.masks.push(await readBySdServer(picture, mask));
    return this.jobs.submit({
      outputFormat: format,
      isHeld: stepsOf(fields) === HELD_STEPS,
      pictures: () => this.pictures(fields, format),
    });
  }

  private async pictures(fields: Fields, format: string): Promise<readonly string[]> {
    const { failsWith, pictureText } = this;
    this.failsWith = undefined;
    if (failsWith !== undefined) throw new Error(failsWith);
    const picture = pictureText ?? (await blackPicture(sideOf(fields, 'width'), sideOf(fields, 'height'), format));
    const count = clamped(fields['batch_count'], 1, 8, 1);
    return Array.from({ length: Math.min(count, this.deliversAtMost) }, () => picture);
  }
}

/** What it says of itself, without the long lists. */
const CAPABILITIES = {
  current_mode: 'img_gen',
  limits: {
    max_batch_count: 8,
    max_height: 4096,
    max_queue_size: 64,
    max_width: 4096,
    min_height: 64,
    min_width: 64,
  },
  model: { name: 'zero.safetensors', path: '/models/zero.safetensors', stem: 'zero' },
  output_formats_by_mode: { img_gen: ['png', 'jpeg', 'webp'] },
  samplers: ['euler', 'euler_a'],
  schedulers: ['discrete', 'karras'],
  supported_modes: ['img_gen'],
};

function refused(error: string, message?: string): FakeAnswer {
  return { status: 400, json: message === undefined ? { error } : { error, message } };
}

/** Ids of other characters are no route. */
function forId(handle: (id: string) => FakeAnswer): (request: FakeRequest) => FakeAnswer {
  return ({ params: { id = '' } }) => (/^[A-Za-z0-9_-]+$/.test(id) ? handle(id) : { status: 404 });
}

function fieldsOf(body: Buffer): Fields | undefined {
  try {
    return JSON.parse(body.toString()) as Fields;
  } catch {
    return undefined;
  }
}

/** Whatever is no whole number is as if it were not there; what is outside is moved to the nearest bound. */
function clamped(value: unknown, least: number, most: number, fallback: number): number {
  return Number.isInteger(value) ? Math.min(most, Math.max(least, Number(value))) : fallback;
}

/** Sides are rounded up to multiples of 64. */
function sideOf(fields: Fields, name: 'width' | 'height'): number {
  return Math.ceil(clamped(fields[name], 1, 4_096, 512) / 64) * 64;
}

function stepsOf(fields: Fields): number {
  const sampling = fields['sample_params'];
  const steps = typeof sampling === 'object' && sampling !== null ? (sampling as Fields)['sample_steps'] : undefined;
  return clamped(steps, 1, HELD_STEPS, 20);
}

function bytesOf(picture: unknown): Buffer | undefined {
  return typeof picture === 'string' ? Buffer.from(picture.slice(picture.indexOf(',') + 1), 'base64') : undefined;
}

async function areReadable(fields: Fields): Promise<boolean> {
  const given = [fields['init_image'], fields['mask_image'], ...((fields['ref_images'] as unknown[]) ?? [])];
  for (const picture of given) {
    if (picture === undefined || picture === null) continue;
    const bytes = bytesOf(picture);
    if (bytes === undefined) return false;
    try {
      await sharp(bytes).metadata();
    } catch {
      return false;
    }
  }
  return true;
}

async function blackPicture(width: number, height: number, format: string): Promise<string> {
  const image = sharp({ create: { width, height, channels: 3, background: 'black' } });
  return (await image.toFormat(format as 'png' | 'jpeg' | 'webp').toBuffer()).toString('base64');
}
