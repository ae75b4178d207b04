import { mediaTypeOf } from './bytes.js';
import { TransferError } from './errors.js';
import type { GenerationTask, Output } from './generated/api.js';
import { anySignal } from './pause.js';
import { networkReason, PATIENT_TRIES, RETRIED_STATUSES, waitBeforeRetry } from './retry.js';

const DOWNLOAD_TIMEOUT_MS = 600_000;
const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

/** The verified bytes of an output. */
export interface Downloaded {
  readonly output: Output;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** MIME type, as `image/png`. */
  readonly mediaType: string;
  /** The media id with the extension of its type. */
  readonly filename: string;
}

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Downloads every output of a task, in their order. */
export async function downloadOutputs(task: GenerationTask, options: DownloadOptions = {}): Promise<Downloaded[]> {
  const files: Downloaded[] = [];
  for (const output of task.outputs) files.push(await downloadOutput(output, options));
  return files;
}

/** Downloads an output and checks that it is complete and of the promised kind, by its size, its type and its first bytes. */
export async function downloadOutput(output: Output, { signal }: DownloadOptions = {}): Promise<Downloaded> {
  for (let tries = 1; ; tries += 1) {
    let why: string;
    let retryAfter: string | null = null;
    try {
      const response = await openOutput(output, signal);
      if (response.ok) return verified(output, response.headers, new Uint8Array(await response.arrayBuffer()));
      why = `its address answered with status ${response.status}`;
      retryAfter = response.headers.get('retry-after');
      if (!RETRIED_STATUSES.has(response.status)) throw notDownloaded(output, why);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TransferError) throw error;
      why = networkReason(error);
    }
    if (tries >= PATIENT_TRIES) throw notDownloaded(output, why);
    await waitBeforeRetry(tries, retryAfter, signal);
  }
}

/** One try, without the credential: the address is signed. */
function openOutput({ url }: Output, signal: AbortSignal | undefined): Promise<Response> {
  return fetch(url, { signal: anySignal(signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)) });
}

function verified(output: Output, headers: Headers, bytes: Uint8Array<ArrayBuffer>): Downloaded {
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim() ?? '';
  const length = headers.get('content-length');
  // A length of encoded bytes says nothing about the decoded ones.
  if (length !== null && headers.get('content-encoding') === null && Number(length) !== bytes.byteLength)
    throw notDownloaded(output, `${bytes.byteLength} of ${length} bytes arrived`);
  if (!mediaType.startsWith(`${output.media_type}/`))
    throw notDownloaded(output, `it has the type ${mediaType || 'none'} and not that of a ${output.media_type}`);
  const actual = mediaTypeOf(bytes);
  if (mediaType in EXTENSIONS && actual !== mediaType)
    throw notDownloaded(output, `its bytes are not those of ${mediaType}`);
  const extension = EXTENSIONS[mediaType];
  return {
    output,
    bytes,
    mediaType,
    filename: extension === undefined ? output.media_id : `${output.media_id}.${extension}`,
  };
}

function notDownloaded({ media_id }: Output, why: string): TransferError {
  return new TransferError(`Output ${media_id} could not be downloaded: ${why}.`);
}
