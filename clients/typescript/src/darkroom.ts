import { downloadOutput, downloadOutputs, type Downloaded, type DownloadOptions } from './download.js';
import { appEvents, generationEvents, type EventOptions, type SeenEvent } from './events.js';
import { receiveOutput, type Receive } from './receive.js';
import { ApiError } from './errors.js';
import type {
  Balance,
  Catalog,
  CompletedUpload,
  CompleteUploadRequest,
  ErrorCode,
  Estimate,
  GenerationList,
  GenerationTask,
  GetUsageQuery,
  LedgerEntry,
  ListCreditEntriesQuery,
  ListGenerationsQuery,
  Model,
  Output,
  OutputThumbnails,
  PreparedUpload,
  PrepareUploadRequest,
  Statement,
  ThumbnailList,
  Upload,
  Usage,
  UsageRow,
} from './generated/api.js';
import { type CreateRequest, generate, type GenerateInput, type GenerateOptions, type Generated } from './generate.js';
import { eachPage, queryText } from './pages.js';
import { BASE_PATH, Transport, type CallOptions, type RequestOptions } from './transport.js';
import { randomKey } from './bytes.js';
import { uploadReference, type Reference, type UploadOptions } from './upload.js';
import { waitFor, type WaitOptions } from './wait.js';
import { Webhooks } from './webhook-settings.js';

export interface DarkroomOptions {
  /** The address of the service, such as `https://darkroom.example`, with `/api/v1/developer` behind it or without. */
  readonly baseUrl: string;
  /** An API key or an access token; only the catalog does not need one. */
  readonly apiKey?: string | undefined;
}

/** Options of a call that is accepted once under its key, however often it is sent. */
export interface KeyedOptions extends RequestOptions {
  /** 1 to 255 visible ASCII characters; a random one when absent. */
  readonly idempotencyKey?: string;
}

export interface CreateOptions extends KeyedOptions {
  /**
   * A URL that is notified when the generation ends; needs the scope `webhooks:manage`, and the App's default secret.
   */
  readonly webhookUrl?: string;
}

/** The suffix that a base URL may have, as in the documentation of the API. */
const TRAILING_PATH = new RegExp(`(?:${BASE_PATH})?/*$`);

/** The API of a Darkroom service. Refusals are thrown as `ApiError`, missing answers as `ConnectionError`. */
export class Darkroom {
  /** The plain requests on which everything here is built, for endpoints that are newer than this library. */
  readonly transport: Transport;
  /** Endpoints that are notified when generations end. */
  readonly webhooks: Webhooks;

  constructor({ baseUrl, apiKey }: DarkroomOptions) {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new TypeError('baseUrl must be an http or https URL.');
    if (apiKey !== undefined && !/^[\x21-\x7e]{1,512}$/.test(apiKey))
      throw new TypeError('apiKey must be one word of visible ASCII characters.');
    this.transport = new Transport(url.href.replace(TRAILING_PATH, ''), apiKey);
    this.webhooks = new Webhooks(this.transport);
  }

  /**
   * Makes pictures or a video: uploads the references, creates the generation, waits for its end and downloads. However
   * often requests are repeated, one generation is created. Throws `GenerationFailed` if it ends without a success.
   */
  generate(input: GenerateInput, options: GenerateOptions = {}): Promise<Generated> {
    return generate(this.transport, input, options);
  }

  /** The catalog. */
  async models(options: RequestOptions = {}): Promise<Model[]> {
    return (await this.read<Catalog>('/models', options)).models;
  }

  model(modelKey: string, options: RequestOptions = {}): Promise<Model> {
    return this.read(`/models/${encodeURIComponent(modelKey)}`, options);
  }

  credits(options: RequestOptions = {}): Promise<Balance> {
    return this.read('/credits', options);
  }

  /** The ledger of the account, newest entry first. Fetches pages as they are needed; `limit` is the size of a page. */
  async *creditEntries(query: ListCreditEntriesQuery = {}, options: RequestOptions = {}): AsyncGenerator<LedgerEntry> {
    const pages = eachPage(query, (page: ListCreditEntriesQuery) => this.listCreditEntries(page, options));
    for await (const { entries } of pages) yield* entries;
  }

  /** One page of `creditEntries`, with the balances before and after it. */
  listCreditEntries(query: ListCreditEntriesQuery = {}, options: RequestOptions = {}): Promise<Statement> {
    return this.read(`/credits/entries${queryText(query)}`, options);
  }

  /**
   * The account's usage, with a row for each day, model, key or `client_trace_id` that has usage. Fetches pages as
   * they are needed; `limit` is the size of a page.
   */
  async *usage(query: GetUsageQuery = {}, options: RequestOptions = {}): AsyncGenerator<UsageRow> {
    const pages = eachPage(query, (page: GetUsageQuery) => this.usagePage(page, options));
    for await (const { usage } of pages) yield* usage;
  }

  /** One page of `usage`, with the total of all pages. */
  usagePage(query: GetUsageQuery = {}, options: RequestOptions = {}): Promise<Usage> {
    return this.read(`/usage${queryText(query)}`, options);
  }

  /** The credits that a create with this request would reserve. Nothing is stored. */
  estimate(request: CreateRequest, options: RequestOptions = {}): Promise<Estimate> {
    return this.write('/generations/estimate', request, options);
  }

  /** Creates a generation and returns it as accepted: `wait` waits until it has ended. */
  createGeneration(
    request: CreateRequest,
    { idempotencyKey = randomKey(), signal, webhookUrl }: CreateOptions = {},
  ): Promise<GenerationTask> {
    const headers = webhookUrl === undefined ? {} : { 'darkroom-webhook-url': webhookUrl };
    return this.write('/generations', request, { idempotencyKey, signal, headers });
  }

  generation(generationId: string, options: RequestOptions = {}): Promise<GenerationTask> {
    return this.read(`/generations/${encodeURIComponent(generationId)}`, options);
  }

  /** Addresses of small pictures of the outputs, which work without a credential until the end of the next UTC day. */
  async thumbnails(generationId: string, options: RequestOptions = {}): Promise<OutputThumbnails[]> {
    return (await this.read<ThumbnailList>(`/generations/${encodeURIComponent(generationId)}/thumbnails`, options))
      .outputs;
  }

  /** Requests a cancel. A generation that is running may still succeed, and may cost credits. */
  cancel(generationId: string, options: RequestOptions = {}): Promise<GenerationTask> {
    return this.write(`/generations/${encodeURIComponent(generationId)}/cancel`, undefined, options);
  }

  /**
   * Deletes the prompt and the outputs of a generation that has ended, permanently. Succeeds if they are already
   * deleted; refused with `CONFLICT` if the generation has not ended.
   */
  async deleteGeneration(generationId: string, options: RequestOptions = {}): Promise<void> {
    await this.remove(`/generations/${encodeURIComponent(generationId)}`, 'GENERATION_JOB_NOT_FOUND', options);
  }

  /** Generations of the App, newest first. Fetches pages as they are needed; `limit` is the size of a page. */
  async *generations(query: ListGenerationsQuery = {}, options: RequestOptions = {}): AsyncGenerator<GenerationTask> {
    const pages = eachPage(query, (page: ListGenerationsQuery) => this.listGenerations(page, options));
    for await (const { generations } of pages) yield* generations;
  }

  /** One page of `generations`. */
  listGenerations(query: ListGenerationsQuery = {}, options: RequestOptions = {}): Promise<GenerationList> {
    return this.read(`/generations${queryText(query)}`, options);
  }

  /**
   * The past and future events of a generation, until it has ended. A broken stream is resumed after the last event.
   */
  async *events(generationId: string, options: EventOptions = {}): AsyncGenerator<SeenEvent> {
    yield* generationEvents(this.transport, generationId, options);
  }

  /**
   * All future events of the App's generations, without end. A broken stream is resumed where it was. With the
   * `lastEventId` of an event of the last day, the stream starts after that event, and repeats some events before it.
   */
  async *appEvents(options: EventOptions = {}): AsyncGenerator<SeenEvent> {
    yield* appEvents(this.transport, options);
  }

  /** Waits until a generation has ended, and returns its outcome, which may be a failure. */
  wait(task: GenerationTask, options: WaitOptions = {}): Promise<GenerationTask> {
    return waitFor(this.transport, task, options);
  }

  /** The verified bytes of an output. */
  download(output: Output, options: DownloadOptions = {}): Promise<Downloaded> {
    return downloadOutput(output, options);
  }

  /**
   * Streams an output to `receive`, which is called again from the beginning if the connection breaks. The stream
   * ends with a `TransferError` if the bytes are not the expected ones.
   */
  receive<T>(output: Output, receive: Receive<T>, options: DownloadOptions = {}): Promise<T> {
    return receiveOutput(output, receive, options);
  }

  /** The verified bytes of all outputs of a task. */
  downloadAll(task: GenerationTask, options: DownloadOptions = {}): Promise<Downloaded[]> {
    return downloadOutputs(task, options);
  }

  /** Prepares an upload, sends the bytes and completes it; returns the id for `reference_upload_ids`. */
  upload(reference: Reference, options: Partial<UploadOptions> = {}): Promise<string> {
    return uploadReference(this.transport, reference, { intent: randomKey(), ...options });
  }

  prepareUpload(
    request: PrepareUploadRequest,
    { idempotencyKey = randomKey(), signal }: KeyedOptions = {},
  ): Promise<PreparedUpload> {
    return this.write('/uploads', request, { idempotencyKey, signal });
  }

  completeUpload(
    uploadId: string,
    request: CompleteUploadRequest = {},
    { idempotencyKey = randomKey(), signal }: KeyedOptions = {},
  ): Promise<CompletedUpload> {
    return this.write(`/uploads/${encodeURIComponent(uploadId)}/complete`, request, { idempotencyKey, signal });
  }

  uploadState(uploadId: string, options: RequestOptions = {}): Promise<Upload> {
    return this.read(`/uploads/${encodeURIComponent(uploadId)}`, options);
  }

  /** Deletes an upload that is not used by a generation. Succeeds if it is unknown or already deleted. */
  async deleteUpload(uploadId: string, options: RequestOptions = {}): Promise<void> {
    await this.remove(`/uploads/${encodeURIComponent(uploadId)}`, 'NOT_FOUND', options);
  }

  /** The response to an earlier try may have been lost, so `gone` counts as success. */
  private async remove(path: string, gone: ErrorCode, { signal }: RequestOptions): Promise<void> {
    try {
      await this.transport.call({ method: 'DELETE', path }, { signal });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === gone)) throw error;
    }
  }

  private async read<T>(path: string, options: CallOptions): Promise<T> {
    return (await this.transport.get<T>(path, options)).data;
  }

  private async write<T>(path: string, body: unknown, options: CallOptions): Promise<T> {
    return (await this.transport.post<T>(path, body, options)).data;
  }
}
