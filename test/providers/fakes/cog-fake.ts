import type { JsonObject } from '../../../core/json.js';
import { image } from '../../fixtures/images.js';
import type { DescribedModel } from './described-model.js';
import { describedContainer } from './replicate-fake.js';
import type { FakeAnswer, FakeRequest, FakeRoute } from './fake-server.js';
import { VendorFake } from './vendor-fake.js';

interface TakenPrediction {
  readonly id: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** A container of Cog 0.23 as it was measured: one prediction at a time, which ends with the connection of its request. */
export class CogFake extends VendorFake {
  /** Every prediction that was taken, in order. */
  readonly predictions: TakenPrediction[] = [];
  /** Those that were stopped because their connection was closed. */
  readonly stopped: string[] = [];
  health: object = { status: 'READY', version: { coglet: '0.23.1' } };
  private running: string | undefined;
  private described: { readonly document: JsonObject; readonly model: DescribedModel } | undefined;

  private constructor(private readonly picture: Uint8Array) {
    super();
  }

  static async open(): Promise<CogFake> {
    return new CogFake(await image('png', 64, 64)).opened();
  }

  /** Serves this at /openapi.json, and takes predictions as it says. */
  describe(document: JsonObject, makes: 'image' | 'video' = 'image'): DescribedModel {
    const model = describedContainer(document, makes);
    this.described = { document, model };
    return model;
  }

  protected routes(): readonly FakeRoute[] {
    return [
      this.route('GET', '/openapi.json', 'check', () =>
        this.described === undefined ? { status: 404 } : { json: this.described.document },
      ),
      this.route('PUT', '/predictions/:id', 'submit', (request) => this.predict(request)),
      this.route('GET', '/health-check', 'check', () => ({ json: this.health })),
      this.route('GET', '/predictions/:id', [], () => ({ status: 405, headers: { allow: 'PUT' } })),
    ];
  }

  private async predict(request: FakeRequest): Promise<FakeAnswer> {
    const { id: path = '' } = request.params;
    const { id = path, input = {} } = request.json() as Partial<TakenPrediction>;
    if (id !== path)
      return { status: 422, json: { detail: [{ loc: ['body', 'id'], msg: 'prediction ID must match' }] } };
    const [fault] = this.described?.model.faultsOf(input as JsonObject) ?? [];
    if (fault !== undefined) return { status: 422, json: { detail: [{ loc: ['body', 'input'], msg: fault }] } };
    if (this.running === id) return { status: 202, json: { id, input, logs: '', metrics: {}, status: 'processing' } };
    if (this.running !== undefined) return full();
    this.running = id;
    this.predictions.push({ id, input });
    try {
      return input['prompt'] === 'endless' ? await this.untilGone(request, id) : await this.ended(id, input);
    } finally {
      this.running = undefined;
    }
  }

  private async untilGone({ gone }: FakeRequest, id: string): Promise<FakeAnswer> {
    if (!gone.aborted) await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
    this.stopped.push(id);
    return { json: { id, logs: '', metrics: { predict_time: 1 }, status: 'canceled' } };
  }

  private async ended(id: string, input: Readonly<Record<string, unknown>>): Promise<FakeAnswer> {
    const { prompt, num_outputs: count = 1 } = input;
    const metrics = { predict_time: 0.0019 };
    const failed = (error: string) => ({ json: { error, id, logs: '', metrics, status: 'failed' } });
    if (prompt === 'withheld') return failed('Prediction failed: ValueError: NSFW content detected in /src/weights');
    if (prompt === 'broken') return failed("Prediction failed: TypeError: 'str' object cannot be interpreted");
    if (prompt === 'crash') return failed('Worker crashed');
    if (this.described !== undefined) {
      const output = await dataOutput(this.described.model, input as JsonObject);
      return { json: { id, logs: '', metrics, output, status: 'succeeded' } };
    }
    const file = `data:image/png;base64,${Buffer.from(this.picture).toString('base64')}`;
    const output =
      prompt === 'nothing' ? [] : Array.from({ length: prompt === 'half' ? 1 : Number(count) }, () => file);
    return { json: { id, logs: 'a line of the log', metrics, output, status: 'succeeded' } };
  }
}

/** The output with its files in place of their addresses, as a container delivers it. */
async function dataOutput(model: DescribedModel, input: JsonObject): Promise<unknown> {
  const { answer, files } = await model.made(input, (index) => `file:${index}`);
  return JSON.parse(JSON.stringify(answer), (_, value: unknown) => {
    const [, index] = typeof value === 'string' ? (/^file:(\d+)$/.exec(value) ?? []) : [];
    const file = index === undefined ? undefined : files[Number(index)];
    return file ? `data:${file.mediaType};base64,${Buffer.from(file.bytes).toString('base64')}` : value;
  });
}

/** The answer of a container without a free slot. */
export function full(): FakeAnswer {
  return { status: 409, json: { error: 'At capacity - all prediction slots busy', status: 'failed' } };
}
