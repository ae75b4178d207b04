import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../core/json.js';
import { textOf } from '../../history/values.js';
import type { Answer, Exchange, Fetched, Party, Request } from '../../history/recorded/history.js';
import type { RestName } from '../rounds/schedule.js';

type Open = { -readonly [M in keyof Exchange]: Exchange[M] };

/** Records the requests and answers of clients, by one monotonic clock that agrees with the machine's. */
export class Recorder {
  readonly exchanges: Open[] = [];
  /** Since when success is watched for, and when a request sent after that first succeeded; undefined until one has. */
  private watch: { readonly since: number; firstAt: number | undefined } | undefined;

  now(): number {
    return performance.timeOrigin + performance.now();
  }

  /**
   * Sends the request. Whatever it throws counts as no answer: a network error, a process that died, a client timeout.
   */
  async note(
    about: Pick<Exchange, 'by' | 'through' | 'request'>,
    ask: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const exchange: Open = { ...about, sentAt: this.now() };
    this.exchanges.push(exchange);
    try {
      const answer = await ask();
      exchange.answered = { at: this.now(), answer };
      if (this.watch && answer.status < 300 && exchange.sentAt >= this.watch.since) this.watch.firstAt ??= this.now();
      return answer;
    } catch {
      return undefined;
    }
  }

  /** `firstSuccessMs` returns the time from this call to the first success of a request sent after it. */
  watchForSuccess(): { firstSuccessMs(): number | undefined } {
    const watch = { since: this.now(), firstAt: undefined };
    this.watch = watch;
    return { firstSuccessMs: () => (watch.firstAt === undefined ? undefined : watch.firstAt - watch.since) };
  }

  /** Requests of one operation that an App sent, by their key. */
  sent<O extends Request['operation']>(
    operation: O,
  ): (Exchange & { readonly request: Extract<Request, { readonly operation: O }> })[] {
    return this.exchanges.flatMap((exchange) => (isOf(exchange, operation) ? [exchange] : []));
  }
}

function isOf<O extends Request['operation']>(
  exchange: Exchange,
  operation: O,
): exchange is Exchange & { readonly request: Extract<Request, { readonly operation: O }> } {
  return exchange.request.operation === operation;
}

const API = '/api/v1/developer';
/** How long a client waits for an answer before it fails the request, and may retry. */
const PATIENCE_MS = 7_000;

/** One party's access to the service, through either REST process. Everything is recorded. */
export class ApiClient {
  constructor(
    readonly party: Party,
    private readonly secret: string,
    private readonly urls: Readonly<Record<RestName, string>>,
    readonly recorder: Recorder,
    /** Named by each of the client's creates; receives the generation's end. */
    private readonly webhookUrl?: string,
  ) {}

  create(through: RestName, key: string, body: JsonObject): Promise<Answer | undefined> {
    return this.ask(through, { operation: 'create', key, body }, 'POST', '/generations', { key, body });
  }

  get(through: RestName, generationId: string): Promise<Answer | undefined> {
    return this.ask(through, { operation: 'get', generationId }, 'GET', `/generations/${generationId}`);
  }

  cancel(through: RestName, generationId: string): Promise<Answer | undefined> {
    return this.ask(through, { operation: 'cancel', generationId }, 'POST', `/generations/${generationId}/cancel`);
  }

  credits(through: RestName): Promise<Answer | undefined> {
    return this.ask(through, { operation: 'credits' }, 'GET', '/credits');
  }

  prepare(through: RestName, key: string, body: JsonObject): Promise<Answer | undefined> {
    return this.ask(through, { operation: 'prepare', key, body }, 'POST', '/uploads', { key, body });
  }

  complete(through: RestName, key: string, uploadId: string, body: JsonObject): Promise<Answer | undefined> {
    return this.ask(through, { operation: 'complete', key, uploadId, body }, 'POST', `/uploads/${uploadId}/complete`, {
      key,
      body,
    });
  }

  /** Sends bytes to a signed target, as the target specifies. */
  put(uploadId: string, target: JsonObject, bytes: Uint8Array): Promise<Answer | undefined> {
    const request: Request = { operation: 'put', uploadId, sha256: sha256Of(bytes), byteSize: bytes.byteLength };
    return this.recorder.note({ by: this.party.name, through: 's3', request }, async () => {
      const response = await fetch(textOf(target['upload_url']), {
        method: textOf(target['method']),
        headers: target['required_headers'] as Record<string, string>,
        body: bytes,
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      await response.arrayBuffer();
      return { status: response.status };
    });
  }

  /** Fetches a delivered output by its signed address, and inspects it. */
  fetchOutput(generationId: string, mediaId: string, url: string): Promise<Answer | undefined> {
    return this.recorder.note(
      { by: this.party.name, through: 's3', request: { operation: 'fetch', generationId, mediaId } },
      async () => {
        const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
        const bytes = Buffer.from(await response.arrayBuffer());
        return response.status === 200
          ? { status: 200, bytes: lookAt(bytes, response.headers.get('content-type') ?? '') }
          : { status: response.status };
      },
    );
  }

  /**
   * Opens an event stream after the event with this id, until the signal aborts it. Its events are not recorded here.
   */
  stream(url: string, after: string | undefined, signal: AbortSignal): Promise<Response> {
    const resumed = after === undefined ? {} : { 'Last-Event-ID': after };
    return fetch(url, { headers: { Authorization: `Bearer ${this.secret}`, ...resumed }, signal });
  }

  private ask(
    through: RestName,
    request: Request,
    method: string,
    path: string,
    sent: { readonly key?: string; readonly body?: JsonObject } = {},
  ): Promise<Answer | undefined> {
    return this.recorder.note({ by: this.party.name, through, request }, async () => {
      const response = await fetch(this.urls[through] + API + path, {
        method,
        headers: {
          Authorization: `Bearer ${this.secret}`,
          ...(sent.key === undefined ? {} : { 'Idempotency-Key': sent.key }),
          ...(sent.body ? { 'Content-Type': 'application/json' } : {}),
          ...(request.operation === 'create' && this.webhookUrl !== undefined
            ? { 'Darkroom-Webhook-Url': this.webhookUrl }
            : {}),
        },
        ...(sent.body ? { body: JSON.stringify(sent.body) } : {}),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const { code, message, data } = (await response.json()) as { code: string; message: string; data?: JsonObject };
      return { status: response.status, code, message, ...(data ? { data } : {}) };
    });
  }
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Detects the kind of a file from its first bytes, whatever its declared type. */
function lookAt(bytes: Buffer, contentType: string): Fetched {
  const facts = { contentType, byteSize: bytes.byteLength, sha256: sha256Of(bytes) };
  if (bytes.subarray(0, 8).equals(PNG))
    return { ...facts, kind: 'image', widthPx: bytes.readUInt32BE(16), heightPx: bytes.readUInt32BE(20) };
  return { ...facts, kind: bytes.subarray(4, 8).toString('latin1') === 'ftyp' ? 'video' : 'unknown' };
}

export interface Insistence {
  readonly mostTries: number;
  readonly betweenMs: number;
  /** Whether to try once more; always when absent. */
  readonly shouldContinue?: () => boolean;
  readonly pause?: (ms: number) => Promise<void>;
}

/** Retries until the request succeeds; returns undefined when it did not. `tries` counts the earlier attempts. */
export async function insist(
  ask: (tries: number) => Promise<Answer | undefined>,
  { mostTries, betweenMs, shouldContinue = () => true, pause = sleep }: Insistence,
): Promise<Answer | undefined> {
  for (let tries = 0; tries < mostTries && shouldContinue(); tries += 1) {
    const answer = await ask(tries);
    if (answer !== undefined && answer.status < 300) return answer;
    await pause(betweenMs);
  }
  return undefined;
}
