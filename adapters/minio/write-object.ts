import { createHash } from 'node:crypto';
import { textOf } from './answer-body.js';
import { MultipartUpload } from './multipart-upload.js';
import { PartBuffer } from './part-buffer.js';
import type { S3Bucket } from './s3-bucket.js';

/**
 * Stores a stream of unknown length: in one request up to 5 MiB, in parts of 5 MiB above, one after the other. Holds
 * one part in memory. Sends no request before a part is full, and no object appears before the stream has ended.
 */
export async function writeObject(
  s3: S3Bucket,
  key: string,
  bytes: AsyncIterable<Uint8Array>,
  limit: { readonly mediaType: string; readonly maxBytes: number },
): Promise<{ readonly byteSize: number; readonly sha256: string } | 'too-large'> {
  const hash = createHash('sha256');
  const part = new PartBuffer();
  let byteSize = 0;
  let upload: MultipartUpload | undefined;
  try {
    for await (const chunk of bytes) {
      byteSize += chunk.byteLength;
      if (byteSize > limit.maxBytes) break;
      hash.update(chunk);
      for (let rest = part.take(chunk); rest.byteLength > 0; rest = part.take(rest)) {
        upload ??= await MultipartUpload.begin(s3, key, limit.mediaType);
        await upload.add(part.bytes());
        part.clear();
      }
    }
    if (byteSize > limit.maxBytes) {
      await upload?.abandon();
      return 'too-large';
    }
    await finish(s3, key, limit.mediaType, part, upload);
  } catch (error) {
    await upload?.abandon();
    throw error;
  }
  return { byteSize, sha256: hash.digest('hex') };
}

async function finish(
  s3: S3Bucket,
  key: string,
  mediaType: string,
  part: PartBuffer,
  upload: MultipartUpload | undefined,
): Promise<void> {
  if (upload !== undefined) {
    await upload.add(part.bytes());
    await upload.complete({ onlyIfNew: false });
    return;
  }
  await textOf(
    s3,
    await s3.send({ method: 'PUT', key, headers: { 'Content-Type': mediaType }, body: part.bytes() }, {}),
  );
}
