import { openAiError, type OpenAiVendor } from './openai-error.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';
import { MaskUnusable, readByOpenAi, type ReadMask } from './read-masks.js';

/** The fields that each vendor documents for pictures; OpenAI refuses others, and the rest ignore them. */
const OPENAI_FIELDS = new Set(
  'model prompt n size quality background moderation output_format output_compression input_fidelity user stream partial_images mask'.split(
    ' ',
  ),
);

export interface TakenImages {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The reference files, with the names of their fields. */
  readonly files: readonly {
    readonly field: string;
    readonly name: string;
    readonly type: string;
    readonly bytes: Buffer;
  }[];
}

/**
 * The Images API. The prompt decides: `forbidden` and `forbidden result` meet the content policy, `fewer` delivers one
 * picture less, `nothing` none, `by address` delivers addresses, and anything else pictures in base64.
 */
export class ImagesFake {
  readonly taken: TakenImages[] = [];
  /** The result for each mask and the first picture. */
  readonly masks: ReadMask[] = [];
  origin = '';
  /** In place of the pictures' own addresses. */
  address: string | undefined;
  /** In place of `picture`, by the prompt. */
  paint?: (prompt: string) => Uint8Array;

  constructor(
    private readonly vendor: OpenAiVendor,
    /** What it delivers, whatever was asked for. */
    public picture: Uint8Array,
  ) {}

  generate(request: FakeRequest): FakeAnswer {
    const fields = request.json() as Record<string, unknown>;
    return this.make({ fields, files: [] });
  }

  async edit(request: FakeRequest): Promise<FakeAnswer> {
    const fields: Record<string, unknown> = {};
    const files: TakenImages['files'][number][] = [];
    for (const [field, value] of await request.form()) {
      if (typeof value === 'string') fields[field] = value;
      else files.push({ field, name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) });
    }
    if (files.length === 0) return openAiError(400, { type: 'invalid_request_error', code: null, param: 'image' });
    return (await this.refusedMask(files)) ?? this.make({ fields, files });
  }

  content(): FakeAnswer {
    return { headers: { 'content-type': 'image/png' }, body: this.picture };
  }

  private async refusedMask(files: TakenImages['files']): Promise<FakeAnswer | undefined> {
    const mask = files.find(({ field }) => field === 'mask');
    const picture = files.find(({ field }) => field.startsWith('image'));
    if (this.vendor !== 'openai' || mask === undefined || picture === undefined) return undefined;
    try {
      this.masks.push(await readByOpenAi(picture.bytes, mask.bytes));
      return undefined;
    } catch (error) {
      if (!(error instanceof MaskUnusable)) throw error;
      return openAiError(400, { type: 'invalid_request_error', code: null, param: 'mask' });
    }
  }

  private make(task: TakenImages): FakeAnswer {
    const refused = this.refusal(task.fields);
    if (refused !== undefined) return refused;
    this.taken.push(task);
    const { prompt, n = 1, output_format: format = 'png' } = task.fields;
    const count = prompt === 'nothing' ? 0 : Number(n) - (prompt === 'fewer' ? 1 : 0);
    const data = Array.from({ length: count }, (_, index) => this.entry(String(prompt), index));
    return { json: { created: 1_763_913_600, data, ...this.about(String(format)) } };
  }

  private refusal(fields: Readonly<Record<string, unknown>>): FakeAnswer | undefined {
    const { prompt, model } = fields;
    if (typeof prompt !== 'string')
      return openAiError(400, { type: 'invalid_request_error', code: 'missing_required_parameter', param: 'prompt' });
    if (prompt === 'forbidden' || prompt === 'forbidden result') return forbidden(prompt);
    if (this.vendor !== 'openai') return undefined;
    if (model !== 'gpt-image-2')
      return openAiError(404, { type: 'invalid_request_error', code: 'model_not_found', param: 'model' });
    const unknown = Object.keys(fields).find((field) => !OPENAI_FIELDS.has(field));
    return unknown === undefined
      ? undefined
      : openAiError(400, { type: 'invalid_request_error', code: 'unknown_parameter', param: unknown });
  }

  private entry(prompt: string, index: number): object {
    if (prompt === 'by address')
      return { b64_json: null, url: this.address ?? `${this.origin}/v1/images/${index}/content` };
    return { b64_json: Buffer.from(this.paint?.(prompt) ?? this.picture).toString('base64'), revised_prompt: null };
  }

  private about(format: string): object {
    const counted = this.vendor === 'openai' ? { total_tokens: 1_100, input_tokens: 44, output_tokens: 1_056 } : {};
    switch (this.vendor) {
      case 'openai':
        return { background: 'opaque', output_format: format, quality: 'low', size: '1024x1024', usage: counted };
      case 'localai':
        return { usage: { total_tokens: 0, input_tokens: 0, output_tokens: 0 } };
      case 'sglang':
        return { id: 'image-1', inference_time_s: 1.2345, peak_memory_mb: 1024.5 };
      case 'vllm-omni':
        return { output_format: null, size: null };
    }
  }
}

function forbidden(prompt: string): FakeAnswer {
  const stage = prompt === 'forbidden' ? 'input' : 'output';
  return openAiError(400, {
    type: 'image_generation_user_error',
    code: 'moderation_blocked',
    moderation_details: { moderation_stage: stage, categories: ['violence'] },
  });
}
