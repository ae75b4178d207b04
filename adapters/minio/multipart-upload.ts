import { textOf } from './answer-body.js';
import type { S3Bucket } from './s3-bucket.js';

/** An object being written. It appears complete when it is completed, or never. */
export class MultipartUpload {
  private readonly etags: string[] = [];

  private constructor(
    private readonly s3: S3Bucket,
    private readonly key: string,
    private readonly uploadId: string,
  ) {}

  static async begin(s3: S3Bucket, key: string, mediaType: string): Promise<MultipartUpload> {
    const uploadId = await s3.call(async (client) =>
      client.initiateNewMultipartUpload(s3.name, key, { 'Content-Type': mediaType }),
    );
    return new MultipartUpload(s3, key, uploadId);
  }

  /** The next part. All but the last have at least 5 MiB, as S3 requires. */
  async add(part: Buffer): Promise<void> {
    const answer = await this.s3.send({ method: 'PUT', key: this.key, query: this.nextPart(), body: part }, {});
    await textOf(this.s3, answer);
    this.etags.push(answer.headers.etag ?? '');
  }

  /** The whole of another object, if it still has this etag, as the next part. The bytes do not pass through us. */
  async addCopy(from: string, ifEtag: string): Promise<'added' | 'missing' | 'changed'> {
    const headers = { 'x-amz-copy-source': `/${this.s3.name}/${from}`, 'x-amz-copy-source-if-match': `"${ifEtag}"` };
    const answer = await this.s3.send(
      { method: 'PUT', key: this.key, query: this.nextPart(), headers },
      { NoSuchKey: 'missing', PreconditionFailed: 'changed' },
    );
    if (typeof answer === 'string') return answer;
    const text = await textOf(this.s3, answer);
    const etag = /<ETag>(?:"|&#34;|&quot;)?([^<"&]+)/.exec(text)?.[1];
    if (etag === undefined) throw this.s3.unavailable(codeIn(text));
    this.etags.push(`"${etag}"`);
    return 'added';
  }

  /** Completes the parts into an object. `exists`: there is already an object at the key, and `onlyIfNew` was set. */
  async complete({ onlyIfNew }: { readonly onlyIfNew: boolean }): Promise<'completed' | 'exists'> {
    const parts = this.etags.map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
    const answer = await this.s3.send(
      {
        method: 'POST',
        key: this.key,
        query: queryOf(this.uploadId),
        headers: onlyIfNew ? { 'If-None-Match': '*' } : {},
        body: `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`,
      },
      { PreconditionFailed: 'exists' },
    );
    if (typeof answer === 'string') return answer;
    // A server may begin its answer with 200 before it knows how the completion ends.
    const text = await textOf(this.s3, answer);
    if (!text.includes('CompleteMultipartUploadResult')) throw this.s3.unavailable(codeIn(text));
    return 'completed';
  }

  /**
   * Aborts the upload. Never throws: parts that remain because the server is unavailable are removed when the bucket is
   * set up again, or by its rules.
   */
  async abandon(): Promise<void> {
    await abortUpload(this.s3, this.key, this.uploadId).catch(() => undefined);
  }

  private nextPart(): string {
    return `partNumber=${this.etags.length + 1}&${queryOf(this.uploadId)}`;
  }
}

/** Removes the parts of an upload; no error when it has ended. */
export async function abortUpload(s3: S3Bucket, key: string, uploadId: string): Promise<void> {
  const answer = await s3.send(
    { method: 'DELETE', key, query: queryOf(uploadId), expects: 204 },
    { NoSuchUpload: undefined },
  );
  if (answer !== undefined) await textOf(s3, answer);
}

function queryOf(uploadId: string): string {
  return `uploadId=${encodeURIComponent(uploadId)}`;
}

/** The code of an error that was sent with a success status. */
function codeIn(text: string): string {
  return /<Code>(\w+)</.exec(text)?.[1] ?? 'unknown';
}
