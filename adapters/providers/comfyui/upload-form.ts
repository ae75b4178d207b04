import { createHash, randomBytes } from 'node:crypto';
import type { ProviderReference } from '../../../core/ports/provider.js';

/** A form with one file, to be sent with its length. */
export interface UploadForm {
  readonly contentType: string;
  readonly body: { readonly stream: AsyncIterable<Uint8Array>; readonly byteSize: number };
}

/** Reference files that a server keeps for tasks of this service. */
export const UPLOAD_FOLDER = 'darkroom';

const EXTENSIONS: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };

/** The name of a file by its content: equal bytes have an equal name, and are kept once. */
export async function nameByContent(reference: ProviderReference): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of await reference.open()) hash.update(piece);
  return `${hash.digest('hex')}.${EXTENSIONS[reference.mediaType] ?? 'bin'}`;
}

/** The form of `POST /upload/image`. The file is read while it is sent. */
export function uploadForm(reference: ProviderReference, filename: string): UploadForm {
  const boundary = `darkroom-${randomBytes(18).toString('hex')}`;
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const head = Buffer.from(
    `${field('type', 'input')}${field('subfolder', UPLOAD_FOLDER)}--${boundary}\r\n` +
      `Content-Disposition: form-data; name="image"; filename="${filename}"\r\n` +
      `Content-Type: ${EXTENSIONS[reference.mediaType] === undefined ? 'application/octet-stream' : reference.mediaType}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: {
      stream: joined(head, reference, tail),
      byteSize: head.byteLength + reference.byteSize + tail.byteLength,
    },
  };
}

async function* joined(head: Uint8Array, reference: ProviderReference, tail: Uint8Array): AsyncGenerator<Uint8Array> {
  yield head;
  yield* await reference.open();
  yield tail;
}
