import { createHash } from 'node:crypto';
import { Failure } from '../exit.js';
import type { ReferenceFile } from './reference-file.js';
import { Refused, type RestClient } from './rest-client.js';
import { MAX_TRIES, networkReason, waitBeforeRetry } from './retry.js';
import type { PreparedUpload } from './service-types.js';

const PUT_TIMEOUT_MS = 300_000;

/**
 * Uploads one file and answers the id that a generation refers to it by. `intent` names the generation it is for: the
 * same intent again finds the same upload and sends only what is missing.
 */
export function uploadReference(
  client: RestClient,
  file: ReferenceFile,
  intent: string,
  signal: AbortSignal,
): Promise<string> {
  return naming(file, () => upload(client, file, intent, signal));
}

async function upload(client: RestClient, file: ReferenceFile, intent: string, signal: AbortSignal): Promise<string> {
  const key = createHash('sha256').update(`${intent}\0${file.role}\0${file.sha256}\0${file.filename}`).digest('hex');
  const request = {
    filename: file.filename,
    media_type: file.mediaType,
    byte_size: file.bytes.length,
    sha256: file.sha256,
    role: file.role,
  };
  const prepared = await client.post<PreparedUpload>('/uploads', request, { idempotencyKey: `${key}.prepare`, signal });
  const { upload_id } = prepared.data;
  const complete = () =>
    client.post(
      `/uploads/${upload_id}/complete`,
      { sha256: file.sha256 },
      { idempotencyKey: `${key}.complete`, signal },
    );
  if (prepared.replayed && (await isComplete(complete))) return upload_id;
  await sendBytes(prepared.data, file, signal);
  await complete();
  return upload_id;
}

/** A refusal is about one of several files, and says which. */
async function naming<T>(file: ReferenceFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Failure(`${file.path}: ${error.message}`, error.exitCode, error.details);
  }
}

/** An earlier run may have sent the bytes already. */
async function isComplete(complete: () => Promise<unknown>): Promise<boolean> {
  try {
    await complete();
    return true;
  } catch (error) {
    if (error instanceof Refused && error.envelope.code === 'FIELD_INVALID') return false;
    throw error;
  }
}

/** To the signed target, with what it requires and without the credential. */
async function sendBytes(target: PreparedUpload, file: ReferenceFile, signal: AbortSignal): Promise<void> {
  // The length of the body is sent by fetch itself; saying it twice would make two of it.
  const headers = Object.entries(target.required_headers).filter(([name]) => name.toLowerCase() !== 'content-length');
  for (let tries = 1; ; tries += 1) {
    let why: string;
    let retryAfter: string | null = null;
    try {
      const response = await fetch(target.upload_url, {
        method: target.method,
        headers,
        body: file.bytes,
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(PUT_TIMEOUT_MS)]),
      });
      await response.arrayBuffer();
      if (response.ok) return;
      why = `the upload target answered with status ${response.status}`;
      retryAfter = response.headers.get('retry-after');
      if (response.status !== 503 && response.status !== 429)
        throw new Failure(`${file.path} was not uploaded: ${why}.`);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      why = networkReason(error);
    }
    if (tries >= MAX_TRIES) throw new Failure(`${file.path} was not uploaded: ${why}.`);
    await waitBeforeRetry(tries, retryAfter, signal);
  }
}
