import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../../apps/wiring/open-program.js';
import type { Json, JsonObject } from '../../core/json.js';
import { image } from '../fixtures/images.js';
import { PlainAnswers } from '../fixtures/plain-answers.js';
import { sha256Of } from '../fixtures/sha256.js';
import type { Answer, Client, LiveService, Tenant } from './live-service.js';

type Draw = (below: number) => number;

/** The answer to one step, without the parts that differ between two runs. */
export interface ToldAnswer {
  readonly step: string;
  readonly code: string;
  readonly data: Json;
}

export interface Told {
  readonly answers: readonly ToldAnswer[];
  /** Every ledger line of every account, in order. */
  readonly books: Json;
}

const BEHAVIOURS: readonly JsonObject[] = [
  { behaviour: 'succeed', n: 2 },
  { behaviour: 'partial', n: 3, deliver: 1 },
  { behaviour: 'partial', n: 2, deliver: 0 },
  { behaviour: 'fail', error_code: 'CONTENT_REJECTED_OUTPUT' },
  { behaviour: 'fail', retryable_attempts: 1 },
  { behaviour: 'refuse', error_code: 'INPUT_INVALID' },
  { behaviour: 'unknown_acceptance' },
  { behaviour: 'bad_output' },
];

/** One client's doings against a started program, one after the other, each brought to its end before the next. */
export class Scenario {
  private readonly answers: ToldAnswer[] = [];
  private readonly plainly = new PlainAnswers();
  private readonly made: { readonly key: string; readonly parameters: JsonObject; readonly id: string }[] = [];
  private keys = 0;

  private constructor(
    private readonly program: Program,
    private readonly rich: Tenant,
    private readonly poor: Tenant,
    private readonly clients: readonly [Client, Client],
  ) {}

  static async begin(service: LiveService): Promise<Scenario> {
    const [rich, poor] = [await service.tenant(10_000), await service.tenant(5)];
    return new Scenario(await service.open(), rich, poor, [service.client(rich.secret), service.client(poor.secret)]);
  }

  async take(draw: Draw): Promise<void> {
    const steps = [
      () => this.create(draw),
      () => this.create(draw),
      () => this.create(draw),
      () => this.repeat(draw),
      () => this.contradict(draw),
      () => this.createPoor(),
      () => this.cancel(),
      () => this.upload(draw),
      () => this.refused(draw),
      () => this.pryInto(draw),
    ];
    await steps[draw(steps.length)]?.();
  }

  async end(): Promise<Told> {
    // Whatever was drawn, these codes are worth comparing.
    for (let times = 0; times < 6; times += 1) await this.createPoor();
    await this.create(() => 0);
    await this.contradict(() => 0);
    await this.refused(() => 0);
    this.tell('balance', await this.client.request('GET', '/credits'));
    const books = await this.plainly.booksOf(this.program.context, [this.rich.accountId, this.poor.accountId]);
    await this.program.close();
    return { answers: this.answers, books };
  }

  private get client(): Client {
    return this.clients[0];
  }

  private nextKey(): string {
    this.keys += 1;
    return `key-${this.keys}`;
  }

  private async create(draw: Draw, more: JsonObject = {}): Promise<void> {
    const parameters = { size: '128x128', ...BEHAVIOURS[draw(BEHAVIOURS.length)] };
    const key = this.nextKey();
    const answer = await this.client.create(key, 'sandbox-test', parameters, more);
    const id = answer.data['generation_id'] as string;
    this.tell('create', { ...answer, data: without(answer.data, ['status', 'updated_at', 'progress']) });
    if (answer.status !== 202) return;
    if (Object.keys(more).length === 0) this.made.push({ key, parameters, id });
    await this.follow('ended', this.client, this.rich, id);
  }

  private async repeat(draw: Draw): Promise<void> {
    const made = this.made[draw(Math.max(1, this.made.length))];
    if (made === undefined) return;
    const answer = await this.client.create(made.key, 'sandbox-test', made.parameters);
    this.tell(`repeat, replayed ${answer.headers.get('idempotency-replayed')}`, answer);
  }

  private async contradict(draw: Draw): Promise<void> {
    const made = this.made[draw(Math.max(1, this.made.length))];
    if (made !== undefined)
      this.tell('contradict', await this.client.create(made.key, 'sandbox-test', { ...made.parameters, seed: 1 }));
  }

  private async createPoor(): Promise<void> {
    const client = this.clients[1];
    const answer = await client.create(this.nextKey(), 'sandbox-noop', { n: 2 });
    this.tell('create of the poor', { ...answer, data: without(answer.data, ['status', 'updated_at', 'progress']) });
    if (answer.status === 202)
      await this.follow('ended of the poor', client, this.poor, answer.data['generation_id'] as string);
  }

  private async cancel(): Promise<void> {
    const { data } = await this.client.create(this.nextKey(), 'sandbox-test', { behaviour: 'hang', size: '128x128' });
    const id = data['generation_id'] as string;
    await this.client.until(id, ['running']);
    await this.client.cancel(id);
    await this.follow('cancelled', this.client, this.rich, id);
    this.tell('cancel again', await this.client.cancel(id));
  }

  private async upload(draw: Draw): Promise<void> {
    const bytes = await image('png');
    const body = {
      filename: 'reference.png',
      media_type: 'image/png',
      byte_size: bytes.byteLength,
      role: 'reference_image',
      sha256: sha256Of(bytes),
    };
    const prepared = await this.client.request('POST', '/uploads', { key: this.nextKey(), body });
    this.tell('prepare', { ...prepared, data: without(prepared.data, ['upload_url', 'required_headers']) });
    const id = prepared.data['upload_id'] as string;
    const early = await this.client.request('POST', `/uploads/${id}/complete`, { key: this.nextKey(), body: {} });
    this.tell('complete too early', early);
    const put = await fetch(prepared.data['upload_url'] as string, {
      method: 'PUT',
      headers: prepared.data['required_headers'] as Record<string, string>,
      body: Buffer.from(bytes),
    });
    await put.arrayBuffer();
    this.tell(`put, ${put.ok ? 'taken' : 'refused'}`, { code: 'OK', data: {} });
    this.tell(
      'complete',
      await this.client.request('POST', `/uploads/${id}/complete`, { key: this.nextKey(), body: {} }),
    );
    await this.create(draw, { reference_upload_ids: [id] });
  }

  private async refused(draw: Draw): Promise<void> {
    const wrong = [{ size: '1x1' }, { behaviour: 'dance' }, { n: 5 }, { url: 'http://127.0.0.1' }][draw(4)] ?? {};
    this.tell('refused', await this.client.create(this.nextKey(), 'sandbox-test', wrong));
  }

  private async pryInto(draw: Draw): Promise<void> {
    const made = this.made[draw(Math.max(1, this.made.length))];
    if (made !== undefined) this.tell('pry', await this.clients[1].look(made.id));
  }

  /** Follows a generation to its end, to the end of its hold, and to every output's bytes. */
  private async follow(step: string, client: Client, { accountId }: Tenant, id: string): Promise<void> {
    const data = await client.until(id);
    const isHeld = async () => (await this.program.context.accounts.read(accountId))?.holds.has(id) ?? false;
    while (await isHeld()) await sleep(20);
    const outputs = await Promise.all(
      ((data['outputs'] ?? []) as JsonObject[]).map(async ({ url, ...output }) => {
        const response = await fetch(url as string);
        return {
          ...output,
          fetched: response.status,
          type: response.headers.get('content-type'),
          size: (await response.arrayBuffer()).byteLength > 0,
        };
      }),
    );
    this.tell(step, { code: 'OK', data: { ...data, outputs } });
  }

  private tell(step: string, { code, data }: Pick<Answer, 'code' | 'data'>): void {
    this.answers.push({ step, code, data: this.plainly.plain(data) });
  }
}

function without(data: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)));
}
