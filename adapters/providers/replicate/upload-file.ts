import type { ProviderCall, SubmitAnswer } from '../../../core/ports/provider.js';
import { ListedHosts } from '../../http/allow-list.js';
import { answerAddress } from '../../http/http-answer.js';
import { HttpError } from '../../http/http-error.js';
import { type BodyFile, formRequest } from '../../http/http-request.js';
import { submit } from '../../http/submission-outcome.js';
import type { Connection } from '../shared/connection.js';
import { refusal } from '../shared/sentences.js';
import { refusalOf } from './submission-refusal.js';

/** A reference file could not be uploaded. The task itself was not submitted, so the answer is certain. */
export class UploadRefused extends Error {
  constructor(
    readonly answer: SubmitAnswer,
    options?: ErrorOptions,
  ) {
    super('A reference file could not be uploaded.', options);
    this.name = 'UploadRefused';
  }
}

const NO_OTHER_HOSTS = new ListedHosts([]);

/**
 * Uploads a file, which the API keeps for a day, and gives the address that an input can have. A file whose upload has an
 * unknown outcome is left there; it is never used. Throws `UploadRefused`, and `HttpError` when the call was aborted.
 */
export async function uploadFile(connection: Connection, file: BodyFile, call: ProviderCall): Promise<string> {
  try {
    return await sent(connection, file, call);
  } catch (error) {
    if (call.signal.aborted || !(error instanceof HttpError)) throw error;
    throw new UploadRefused(refusal('no capacity'), { cause: error });
  }
}

async function sent(connection: Connection, file: BodyFile, { signal }: ProviderCall): Promise<string> {
  // The names that users give are not passed on.
  const fileName = `reference.${file.mediaType.replace(/^.*\//, '')}`;
  const form = formRequest([{ name: 'content', fileName, file }]);
  const answered = await submit(connection.client, {
    method: 'POST',
    url: connection.urlOf('files'),
    headers: { ...connection.credentials, accept: 'application/json', ...form.headers },
    body: form.body,
    signal,
  });
  if (answered.outcome === 'refused') throw new UploadRefused(refusalOf(answered));
  const { urls } = ((await answered.answer.json()) ?? {}) as { readonly urls?: { readonly get?: unknown } | null };
  return answerAddress(urls?.get, { base: connection.base, hosts: NO_OTHER_HOSTS }).url;
}
