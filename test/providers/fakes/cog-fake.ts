import { image } from '../../fixtures/images.js';
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

  private constructor(private readonly picture: Uint8Array) {
    super();
  }

  static async open(): Promise<CogFake> {
    return new CogFake(await image('png', 64, 64)).opened();
  }

  protected routes(): readonly FakeRoute[] {
    return [
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
    if (this.running === id) return { status: 202, json: { id, input, logs: '', metrics: {}, status: 'processing' } };
    if (this.running !== undefined) return full();
    this.running = id;
    this.predictions.push({ id, input });
    try {
      return input['prompt'] === 'endless' ? await this.untilGone(request, id) : this.ended(id, input);
    } finally {
      this.running = undefined;
    }
  }

  private async untilGone({ gone }: FakeRequest, id: string): Promise<FakeAnswer> {
    if (!gone.aborted) await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
    this.stopped.push(id);
    return { json: { id, logs: '', metrics: { predict_time: 1 }, status: 'canceled' } };
  }

  private ended(id: string, { prompt, num_outputs: count = 1 }: Readonly<Record<string, unknown>>): FakeAnswer {
    const metrics = { predict_time: 0.0019 };
    const failed = (error: string) => ({ json: { error, id, logs: '', metrics, status: 'failed' } });
    if (prompt === 'withheld') return failed('Prediction failed: ValueError: NSFW content detected in /src/weights');
    if (prompt === 'broken') return failed("Prediction failed: TypeError: 'str' object cannot be interpreted");
    if (prompt === 'crash') return failed('Worker crashed');
    const file = `data:image/png;base64,${Buffer.from(this.picture).toString('base64')}`;
    const output =
      prompt === 'nothing' ? [] : Array.from({ length: prompt === 'half' ? 1 : Number(count) }, () => file);
    return { json: { id, logs: 'a line of the log', metrics, output, status: 'succeeded' } };
  }
}

/** The answer of a container without a free slot. */
export function full(): FakeAnswer {
  return { status: 409, json: { error: 'At capacity - all prediction slots busy', status: 'failed' } };
}
