import { bytesOf, pictureType, randomKey, sha256Hex, type FileSource } from './bytes.js';
import { ApiError, TransferError } from './errors.js';
import type { CompletedUpload, PreparedUpload, PrepareUploadRequest } from './generated/api.js';
import { anySignal } from './pause.js';
import { MAX_TRIES, networkReason, RETRIED_STATUSES, secondsOf, waitBeforeRetry } from './retry.js';
import type { Transport } from './transport.js';

const PUT_TIMEOUT_MS = 300_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** A reference file as the caller has it. */
export interface Reference {
  readonly file: FileSource;
  /** `reference_image` when absent; `start_frame` and `end_frame` are for videos. */
  readonly role?: PrepareUploadRequest['role'];
  /** Without a path; that of a `File`, or a made-up one, when absent. */
  readonly filename?: string;
  /** Found out from the bytes when absent. */
  readonly mediaType?: PrepareUploadRequest['media_type'];
}

export interface UploadOptions {
  /**
   * The request or generation that the file is for. The same intent, role, name and bytes again find the same upload,
   * and send only what is missing.
   */
  readonly intent: string;
  /** In bytes; more are not read. 64 MiB when absent, which is above what services take by default. */
  readonly maxBytes?: number;
  /** How often the bytes are sent before `TransferError` is thrown; 6 times when absent. */
  readonly maxTries?: number;
  /** Another address for the signed one, for a caller that reaches the store by another name. */
  readonly addressOf?: (url: string) => string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Uploads a file and returns the id by which a generation refers to it. Browsers give pages without TLS no SHA-256: there the
 * server checks the length of the file alone, and the same intent again makes another upload.
 */
export async function uploadReference(
  transport: Transport,
  reference: Reference,
  { intent, signal, maxBytes = MAX_BYTES, maxTries = MAX_TRIES, addressOf }: UploadOptions,
): Promise<string> {
  const bytes = await bytesOf(reference.file, maxBytes);
  const request = await describe(reference, bytes);
  const { sha256 } = request;
  const key =
    sha256 === undefined ? randomKey() : await sha256Hex(`${intent}\0${request.role}\0${sha256}\0${request.filename}`);
  const prepared = await transport.post<PreparedUpload>('/uploads', request, {
    signal,
    idempotencyKey: `${key}.prepare`,
  });
  const { upload_id } = prepared.data;
  const complete = () =>
    transport.post<CompletedUpload>(`/uploads/${upload_id}/complete`, sha256 === undefined ? {} : { sha256 }, {
      signal,
      idempotencyKey: `${key}.complete`,
    });
  if (prepared.replayed && (await isComplete(complete))) return upload_id;
  const { upload_url: url } = prepared.data;
  await sendBytes({ ...prepared.data, upload_url: addressOf?.(url) ?? url }, bytes, { maxTries, signal });
  await complete();
  return upload_id;
}

async function describe(
  { file, role = 'reference_image', filename, mediaType }: Reference,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<PrepareUploadRequest> {
  const type = mediaType ?? pictureType(bytes);
  if (type === undefined) throw new TypeError('A reference file must be a PNG, JPEG or WebP picture.');
  const ownName = typeof File === 'function' && file instanceof File ? file.name : undefined;
  return {
    filename: filename ?? ownName ?? `reference.${type.slice('image/'.length)}`,
    media_type: type,
    byte_size: bytes.byteLength,
    ...(hasDigests() ? { sha256: await sha256Hex(bytes) } : {}),
    role,
  };
}

/** Whether the runtime computes digests, contrary to what its types say: a page without TLS has no `subtle`. */
function hasDigests(): boolean {
  return (crypto.subtle as SubtleCrypto | undefined) !== undefined;
}

/** An earlier run may have sent the bytes already. */
async function isComplete(complete: () => Promise<unknown>): Promise<boolean> {
  try {
    await complete();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'FIELD_INVALID') return false;
    throw error;
  }
}

/** To the signed target, with what it requires and without the credential. */
async function sendBytes(
  target: PreparedUpload,
  bytes: Uint8Array<ArrayBuffer>,
  { maxTries, signal }: Required<Pick<UploadOptions, 'maxTries'>> & Pick<UploadOptions, 'signal'>,
): Promise<void> {
  // The length of the body is sent by fetch itself; saying it twice would make two of it.
  const headers = Object.entries(target.required_headers).filter(([name]) => name.toLowerCase() !== 'content-length');
  for (let tries = 1; ; tries += 1) {
    let why: string;
    let retryAfter: number | undefined;
    try {
      const response = await fetch(target.upload_url, {
        method: target.method,
        headers,
        body: bytes,
        redirect: 'error',
        signal: anySignal(signal, AbortSignal.timeout(PUT_TIMEOUT_MS)),
      });
      await response.arrayBuffer();
      if (response.ok) return;
      why = `the upload target answered with status ${response.status}`;
      retryAfter = secondsOf(response.headers.get('retry-after'));
      if (!RETRIED_STATUSES.has(response.status)) throw notUploaded(why);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TransferError) throw error;
      why = networkReason(error);
    }
    if (tries >= maxTries) throw notUploaded(why);
    await waitBeforeRetry(tries, retryAfter, signal);
  }
}

function notUploaded(why: string): TransferError {
  return new TransferError('A reference file was not uploaded', why);
}
