import { mediaTypeOf } from './bytes.js';
import { TransferError } from './errors.js';
import type { Output } from './generated/api.js';
import { anySignal } from './pause.js';
import { networkReason, PATIENT_TRIES, RETRIED_STATUSES, secondsOf, waitBeforeRetry } from './retry.js';

const DOWNLOAD_TIMEOUT_MS = 600_000;
/** The number of first bytes that identify the type of a file. */
const HEAD_BYTES = 12;
const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

/** The service's description of an output's bytes. */
export interface Received {
  /** MIME type, as `image/png`. */
  readonly mediaType: string;
  /** The media id with the extension of its type. */
  readonly filename: string;
}

/** Receives the bytes of an output. An error that it throws ends the download and is rethrown. */
export type Receive<T> = (bytes: ReadableStream<Uint8Array<ArrayBuffer>>, about: Received) => Promise<T>;

/**
 * Downloads an output and checks that it is complete and of the expected kind, by its size, its type and its first
 * bytes. An interrupted download is restarted a bounded number of times.
 */
export async function receiveOutput<T>(
  output: Output,
  receive: Receive<T>,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    let retryAfter: number | undefined;
    let why: string;
    let checked: CheckedBytes | undefined;
    try {
      const response = await fetch(output.url, { signal: anySignal(signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)) });
      if (response.ok && response.body) {
        const about = aboutOf(output, response.headers);
        checked = new CheckedBytes(output, about, response.headers);
        return await receive(checked.of(response.body), about);
      }
      await response.body?.cancel();
      why = `its address answered with status ${response.status}`;
      retryAfter = secondsOf(response.headers.get('retry-after'));
      if (!RETRIED_STATUSES.has(response.status)) throw notDownloaded(output, why);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TransferError) throw error;
      // Before the first bytes, all errors come from the connection; after that, they may come from the receiver.
      if (checked && checked.failure === undefined) throw error;
      if (checked?.failure instanceof TransferError) throw checked.failure;
      why = networkReason(checked?.failure ?? error);
    }
    if (tries >= PATIENT_TRIES) throw notDownloaded(output, why);
    await waitBeforeRetry(tries, retryAfter, signal);
  }
}

/** Counts the bytes that pass and looks at the first ones. */
class CheckedBytes {
  /** The error that ended the bytes early. */
  failure: unknown;
  private size = 0;
  private head = new Uint8Array();

  constructor(
    private readonly output: Output,
    private readonly about: Received,
    private readonly headers: Headers,
  ) {}

  of(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = body.getReader();
    return new ReadableStream(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read();
            if (done) {
              this.check();
              controller.close();
              return;
            }
            this.pass(value);
            controller.enqueue(value);
          } catch (error) {
            this.failure = error;
            throw error;
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  private pass(chunk: Uint8Array): void {
    this.size += chunk.byteLength;
    if (this.head.byteLength < HEAD_BYTES)
      this.head = Uint8Array.from([...this.head, ...chunk.subarray(0, HEAD_BYTES)]);
  }

  private check(): void {
    const length = this.headers.get('content-length');
    // A length of encoded bytes says nothing about the decoded ones.
    if (length !== null && this.headers.get('content-encoding') === null && Number(length) !== this.size)
      throw notDownloaded(this.output, `${this.size} of ${length} bytes arrived`);
    const { mediaType } = this.about;
    if (mediaType in EXTENSIONS && mediaTypeOf(this.head) !== mediaType)
      throw notDownloaded(this.output, `its bytes are not those of ${mediaType}`);
  }
}

function aboutOf(output: Output, headers: Headers): Received {
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim() ?? '';
  if (!mediaType.startsWith(`${output.media_type}/`))
    throw notDownloaded(
      output,
      `it has the type ${mediaType || 'none'} and not that of an output of the kind ${output.media_type}`,
    );
  const extension = EXTENSIONS[mediaType];
  return { mediaType, filename: extension === undefined ? output.media_id : `${output.media_id}.${extension}` };
}

function notDownloaded({ media_id }: Output, why: string): TransferError {
  return new TransferError(`Output ${media_id} could not be downloaded`, why);
}
