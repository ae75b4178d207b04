import { image } from '../../fixtures/images.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { readByWebUi, type ReadMask } from './read-masks.js';
import { VendorFake } from './vendor-fake.js';

/** The project whose source code the fake follows where they differ. */
export type A1111Vendor = 'a1111' | 'forge' | 'sdnext';

/** A refusal by the API's own code. */
export function a1111Error(vendor: A1111Vendor, status: number, detail: string): FakeAnswer {
  if (vendor === 'forge') return { status, json: { detail } };
  return { status, json: report(vendor, { status, error: 'HTTPException', detail, errors: '' }) };
}

/** An exception that nothing has caught. */
export function a1111Exception(vendor: A1111Vendor, error: string, errors: string): FakeAnswer {
  if (vendor === 'forge') return { status: 500, json: { error, detail: '', body: '', message: errors } };
  return { status: 500, json: report(vendor, { status: 500, error, detail: '', errors }) };
}

interface Report {
  readonly status: number;
  readonly error: string;
  readonly detail: string;
  readonly errors: string;
}

function report(vendor: A1111Vendor, { status, ...rest }: Report): object {
  return { ...rest, body: '', ...(vendor === 'sdnext' ? { code: status } : {}) };
}

/** The types of the fields that are checked; others are ignored. */
const TYPES: Readonly<Record<string, string>> = {
  prompt: 'string',
  negative_prompt: 'string',
  sampler_name: 'string',
  width: 'number',
  height: 'number',
  steps: 'number',
  seed: 'number',
  cfg_scale: 'number',
  n_iter: 'number',
  batch_size: 'number',
  inpainting_fill: 'number',
  mask_blur: 'number',
  inpaint_full_res: 'boolean',
};

export const CHECKPOINTS = [
  {
    title: 'v1-5-pruned-emaonly.safetensors [6ce0161689]',
    model_name: 'v1-5-pruned-emaonly',
    hash: '6ce0161689',
    sha256: '6ce0161689b3853acaa03779ec93eafe75a02f4ced659bee03f50797806fa2fa',
    filename: '/srv/webui/models/Stable-diffusion/v1-5-pruned-emaonly.safetensors',
    config: null,
  },
];
const SAMPLERS = [
  { name: 'DPM++ 2M', aliases: ['k_dpmpp_2m'], options: { scheduler: 'karras' } },
  { name: 'Euler a', aliases: ['k_euler_a', 'k_euler_ancestral'], options: { uses_ensd: 'True' } },
];
const SCHEDULERS = [{ name: 'karras', label: 'Karras', aliases: null, default_rho: 7, need_inner_model: false }];

export interface TakenTask {
  readonly route: 'txt2img' | 'img2img';
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Stable Diffusion web UI 1.10, Forge of June 2025 and SD.Next of March 2025, made from their source. The prompt decides: `fewer` delivers one picture less,
 * `more` one more, `nothing` none, `nan` meets an exception, and anything else the pictures that were asked for.
 */
export class A1111Fake extends VendorFake {
  readonly taken: TakenTask[] = [];
  /** The result for each mask and the first picture. */
  readonly masks: ReadMask[] = [];
  /** How the options of the server have pictures written. */
  samplesFormat = 'png';

  private constructor(
    readonly vendor: A1111Vendor,
    /** A user name and a password, with a colon between them. Without them, no authentication is required. */
    readonly auth: string | undefined,
    private readonly pictures: Readonly<Record<string, Uint8Array>>,
  ) {
    super();
  }

  static async open(vendor: A1111Vendor = 'a1111', auth?: string): Promise<A1111Fake> {
    const fake = new A1111Fake(vendor, auth, {
      png: await image('png', 8, 8),
      jpg: await image('jpeg', 8, 8),
      webp: await image('webp', 8, 8),
      tiff: Buffer.from('II*\0 and the rest of a file'),
    });
    return fake.opened({ otherwise: () => ({ status: 404, json: { detail: 'Not Found' } }) });
  }

  protected routes(): readonly FakeRoute[] {
    const lists = {
      'sd-models': () => CHECKPOINTS,
      'samplers': () => SAMPLERS,
      ...(this.vendor === 'sdnext' ? {} : { schedulers: () => SCHEDULERS }),
      'options': () => ({ samples_format: this.samplesFormat, jpeg_quality: 80 }),
    };
    return [
      this.route('POST', '/sdapi/v1/txt2img', 'submit', (request) => this.make('txt2img', request)),
      this.route('POST', '/sdapi/v1/img2img', 'submit', (request) => this.make('img2img', request)),
      this.route('POST', '/sdapi/v1/interrupt', 'cancel', () => ({ json: {} })),
      ...Object.entries(lists).map(([name, list]) =>
        this.route('GET', `/sdapi/v1/${name}`, 'check', () => ({ json: list() })),
      ),
    ];
  }

  protected override refused({ headers }: FakeRequest): FakeAnswer | undefined {
    const expected = this.auth === undefined ? undefined : `Basic ${Buffer.from(this.auth).toString('base64')}`;
    if (expected === undefined || headers.authorization === expected) return undefined;
    return a1111Error(this.vendor, 401, 'Incorrect username or password');
  }

  private async make(route: TakenTask['route'], request: FakeRequest): Promise<FakeAnswer> {
    const fields = request.json() as Record<string, unknown>;
    const refused = this.refusal(route, fields);
    if (refused !== undefined) return refused;
    const { init_images: [given] = [], mask, inpainting_mask_invert: inverts = 0 } = fields as MaskedFields;
    if (given !== undefined && mask !== undefined)
      this.masks.push(await readByWebUi(bytesOf(given), bytesOf(mask), Boolean(inverts)));
    this.taken.push({ route, fields });
    const { prompt, n_iter: batches = 1, batch_size: size = 1 } = fields;
    if (prompt === 'nan')
      return a1111Exception(this.vendor, 'NansException', 'A tensor with all NaNs was produced in Unet.');
    const count = prompt === 'nothing' ? 0 : Number(batches) * Number(size) + (EXTRA[String(prompt)] ?? 0);
    const picture = Buffer.from(this.pictures[this.samplesFormat] ?? []).toString('base64');
    const parameters = { ...fields, init_images: null };
    const info = JSON.stringify({ prompt, seed: 7, all_seeds: [7], sd_model_name: 'v1-5-pruned-emaonly' });
    return { json: { images: Array.from({ length: count }, () => picture), parameters, info } };
  }

  private refusal(route: TakenTask['route'], fields: Readonly<Record<string, unknown>>): FakeAnswer | undefined {
    const wrong = Object.entries(TYPES).find(([name, type]) => name in fields && typeof fields[name] !== type);
    if (wrong !== undefined)
      return { status: 422, json: { detail: [{ loc: ['body', wrong[0]], msg: 'wrong type', type: 'type_error' }] } };
    const { sampler_name: sampler = 'Euler a' } = fields;
    if (!SAMPLERS.some(({ name }) => name === sampler))
      return a1111Error(this.vendor, this.vendor === 'sdnext' ? 404 : 400, 'Sampler not found');
    if (route === 'txt2img') return undefined;
    const { init_images: images } = fields;
    if (!Array.isArray(images)) return a1111Error(this.vendor, 404, 'Init image not found');
    return images.every(isPicture) ? undefined : a1111Error(this.vendor, 500, 'Invalid encoded image');
  }
}

const EXTRA: Readonly<Record<string, number>> = { fewer: -1, more: 1 };

function isPicture(base64: unknown): boolean {
  return typeof base64 === 'string' && Buffer.from(base64, 'base64').toString('latin1', 1, 4) === 'PNG';
}

interface MaskedFields {
  readonly init_images?: readonly string[];
  readonly mask?: string;
  readonly inpainting_mask_invert?: number | boolean;
}

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}
