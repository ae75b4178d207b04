import type { ErrorCode } from '../../../core/errors.js';

/** What an operation answers: the data of the envelope, as an object or already as JSON text. */
export interface Answer {
  readonly data: object | { readonly text: string };
  /** Whether this is the first answer of an Idempotency-Key, given again. */
  readonly replayed?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Id of the generation that the request created, for the log. */
  readonly createdId?: string;
}

/** An answer without envelope that is sent as it comes. A refusal must be thrown before it begins. */
export interface StreamedAnswer {
  /** Opens the stream. Not called for HEAD. */
  readonly stream: () => AsyncIterable<Uint8Array | string>;
  readonly mediaType: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** That there is nothing to be sent: 204. */
export interface NoContent {
  readonly noContent: true;
}

/** The JSON of an answer's data. */
export function dataText({ data }: Answer): string {
  return 'text' in data ? data.text : JSON.stringify(data);
}

/** The envelope every JSON answer is in, as text. The request id is checked or ours, so it needs no escaping. */
export function successEnvelope(requestId: string, data: string): string {
  return `{"success":true,"code":"OK","message":"OK","request_id":"${requestId}","data":${data}}`;
}

export function errorEnvelope(
  requestId: string,
  code: ErrorCode,
  message: string,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  return JSON.stringify({ success: false, code, message, request_id: requestId, ...more });
}
