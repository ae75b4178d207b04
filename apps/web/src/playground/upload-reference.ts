import type { PreparedUpload, Role } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { change, newKey, RequestFailed } from '../server.js';

export interface UploadOf {
  readonly appId: string;
  readonly file: File;
  readonly role: Role;
  readonly signal: AbortSignal;
}

/** Uploads a reference file: prepares it, sends its bytes to the signed address, completes it. Answers its id. */
export async function uploadReference({ appId, file, role, signal }: UploadOf): Promise<string> {
  const bytes = await file.arrayBuffer();
  const sha256 = await sha256Of(bytes);
  const prepared = await change<PreparedUpload>(
    inApp(appId, '/uploads'),
    {
      filename: file.name,
      media_type: file.type,
      byte_size: file.size,
      role,
      ...(sha256 === undefined ? {} : { sha256 }),
    },
    { idempotencyKey: newKey(), signal },
  );
  await put(prepared, bytes, signal);
  const path = inApp(appId, `/uploads/${prepared.upload_id}/complete`);
  await change(path, {}, { idempotencyKey: newKey(), signal });
  return prepared.upload_id;
}

/** Undefined in a page without TLS, which browsers let compute none. */
async function sha256Of(bytes: ArrayBuffer): Promise<string | undefined> {
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  if (subtle === undefined) return undefined;
  const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** With exactly the headers that are signed. The browser sends the length itself, and lets no page set it. */
async function put(
  { upload_url: url, required_headers: headers }: PreparedUpload,
  body: ArrayBuffer,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(url, { method: 'PUT', headers: { ...headers }, body, signal }).catch(() => {
    throw new RequestFailed('The file could not be sent to where files are kept. Check your connection and try again.');
  });
  if (!response.ok)
    throw new RequestFailed(`The file was not taken where files are kept (status ${response.status}). Try again.`);
}
