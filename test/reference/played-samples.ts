import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCOPES } from '../../core/access/credential.js';
import type { JsonObject } from '../../core/json.js';
import { LiveService } from '../service/live-service.js';
import { builtPages, samplesOn } from './built-pages.js';

/** A picture of 64 by 64 pixels: the file that the examples of uploads are of. */
const FILE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEUUPHiReLaHAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAG0lEQVRYw+3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAEZszF2AAAAAElFTkSuQmCC',
  'base64',
);

/** How samples of a language are run: what reads them from its standard input. */
export interface Interpreter {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

type Ids = Readonly<Record<string, string>>;

/** Plays the samples of all operations in one language, each as it is shown, against a started service. */
export class PlayedSamples {
  /** The operations that were played; those that have no sample in this language are among them. */
  readonly played = new Set<string>();

  private constructor(
    private readonly service: LiveService,
    private readonly secret: string,
    private readonly folder: string,
    private readonly language: string,
    private readonly interpreter: Interpreter,
  ) {}

  /** `folder` is where the samples run, and where they find the packages that they import. */
  static async start(folder: string, language: string, interpreter: Interpreter): Promise<PlayedSamples> {
    const service = await LiveService.start();
    writeFileSync(join(folder, 'reference.png'), FILE);
    const { secret } = await service.tenant(1_000, SCOPES);
    return new PlayedSamples(service, secret, folder, language, interpreter);
  }

  close(): Promise<void> {
    return this.service.remove();
  }

  /** Every operation of the developer API, in an order in which each has what it needs. */
  async playDeveloper(): Promise<void> {
    for (const name of ['listModels', 'getModel', 'getCredits']) await this.play(name);
    await this.play('prepareUpload');
    const prepared = await this.data('POST', '/uploads', UPLOAD, 'prepared');
    const headers = prepared['required_headers'] as Record<string, string>;
    await fetch(prepared['upload_url'] as string, { method: 'PUT', headers, body: FILE });
    const upload = { UPLOAD_ID: prepared['upload_id'] as string };
    for (const name of ['completeUpload', 'getUpload', 'deleteUpload']) await this.play(name, upload);

    await this.play('createWebhook');
    const { webhook_id: webhookId } = await this.data('POST', '/webhooks', {
      url: 'https://app.example/other',
      events: ['generation.succeeded'],
    });
    const webhook = { WEBHOOK_ID: webhookId as string };
    for (const name of ['rotateWebhookSecret', 'getWebhook', 'listWebhooks']) await this.play(name, webhook);

    for (const name of ['estimateGeneration', 'createGeneration']) await this.play(name);
    const { generation_id: generationId } = await this.created();
    const generation = { GENERATION_ID: generationId as string };
    for (const name of ['getGeneration', 'getThumbnails', 'listGenerations', 'watchGeneration', 'cancelGeneration'])
      await this.play(name, generation);
    await this.playEndless('watchEvents');
    for (const name of ['getUsage', 'listCreditEntries']) await this.play(name);

    const { deliveries } = await this.data('GET', `/webhooks/${webhook.WEBHOOK_ID}/deliveries`);
    const [{ delivery_id: deliveryId } = {}] = deliveries as unknown as readonly JsonObject[];
    await this.play('listWebhookDeliveries', webhook);
    await this.play('replayWebhookDelivery', { ...webhook, DELIVERY_ID: deliveryId as string });
    for (const name of ['replayWebhookDeliveries', 'testWebhook', 'updateWebhook', 'deleteWebhook'])
      await this.play(name, webhook);
    await this.play('deleteGeneration', generation);
  }

  /** Every operation of the OpenAI-compatible API. */
  async playOpenAi(): Promise<void> {
    const play = (name: string, ids?: Ids): Promise<void> => this.play(name, ids, 'openai');
    await play('listModels');
    await play('getModel');
    await play('createImage');
    writeFileSync(join(this.folder, 'lighthouse.png'), FILE);
    await play('createImageEdit');
    await play('createVideo');
    const [{ id = '' } = {}] = ((await this.request('GET', '/v1/videos'))['data'] ?? []) as { id?: string }[];
    for (;;) {
      const { status } = await this.request('GET', `/v1/videos/${id}`);
      if (status === 'completed') break;
      expect(status).to.be.oneOf(['queued', 'in_progress']);
      await sleep(50);
    }
    for (const name of ['getVideo', 'listVideos', 'getVideoContent', 'deleteVideo']) await play(name, { VIDEO_ID: id });
  }

  /** The operations with a sample for curl, which are all. */
  static operationsOn(isOpenAi: boolean): readonly string[] {
    return [...builtPages()].flatMap(([name, text]) =>
      (name === 'openai') === isOpenAi && !name.startsWith('guides/')
        ? samplesOn(text).flatMap(({ language, operationId }) => (language === 'curl' ? [operationId] : []))
        : [],
    );
  }

  private async play(operationId: string, ids: Ids = {}, page?: string): Promise<void> {
    this.played.add(operationId);
    const code = this.sampleOf(operationId, page);
    if (code === undefined) return;
    const { status, stdout, stderr } = await this.run(code, ids);
    expect(status, `${operationId}: ${stdout}${stderr}`).to.equal(0);
  }

  /** A sample that follows events without end: it is ended once it has printed an event. */
  private async playEndless(operationId: string): Promise<void> {
    this.played.add(operationId);
    const code = this.sampleOf(operationId);
    if (code === undefined) return;
    const state = { hasEnded: false };
    const ran = this.run(code, {}, { endsAtOutput: true }).finally(() => (state.hasEnded = true));
    // Something happens until it has printed what happened.
    while (!state.hasEnded) await this.created();
    const { stdout, stderr } = await ran;
    expect(stdout, `${operationId}: ${stderr}`).to.not.equal('');
  }

  private sampleOf(operationId: string, page?: string): string | undefined {
    const found = [...builtPages()].flatMap(([name, text]) =>
      page === undefined ? (name === 'openai' ? [] : samplesOn(text)) : name === page ? samplesOn(text) : [],
    );
    return found.find((sample) => sample.operationId === operationId && sample.language === this.language)?.code;
  }

  private async run(code: string, ids: Ids, { endsAtOutput = false } = {}) {
    const { command, args, environment } = this.interpreter;
    const child = spawn(command, [...args], {
      cwd: this.folder,
      // Its own group, so that what it starts ends with it.
      detached: true,
      env: { ...process.env, DARKROOM_URL: this.service.url, DARKROOM_API_KEY: this.secret, ...environment, ...ids },
    });
    let [stdout, stderr, hasEnded] = ['', '', false];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (endsAtOutput && !hasEnded) process.kill(-(child.pid as number), 'SIGKILL');
      hasEnded = endsAtOutput;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.on('error', () => undefined).end(code);
    const [status] = (await once(child, 'close')) as [number | null];
    return { status, stdout, stderr };
  }

  /** A generation that has ended. */
  private created(): Promise<JsonObject> {
    this.keys += 1;
    const body = { model_key: 'sandbox-image', operation: 'image_generation', prompt: 'a cat' };
    return this.data('POST', '/generations', body, `created-${this.keys}`, { Prefer: 'wait=60' });
  }
  private keys = 0;

  private async data(...request: Parameters<PlayedSamples['call']>): Promise<JsonObject> {
    return (await this.call(...request))['data'] as JsonObject;
  }

  private call(method: string, path: string, body?: JsonObject, key = '', more: Ids = {}): Promise<JsonObject> {
    const headers = { ...more, ...(key === '' ? {} : { 'Idempotency-Key': key }) };
    return this.request(method, `/api/v1/developer${path}`, body, headers);
  }

  private async request(method: string, path: string, body?: JsonObject, headers: Ids = {}): Promise<JsonObject> {
    const response = await fetch(this.service.url + path, {
      method,
      headers: { 'Authorization': `Bearer ${this.secret}`, 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.ok, `${method} ${path}: ${text}`).to.equal(true);
    return JSON.parse(text) as JsonObject;
  }
}

const UPLOAD: JsonObject = {
  filename: 'reference.png',
  media_type: 'image/png',
  byte_size: FILE.byteLength,
  role: 'reference_image',
};
