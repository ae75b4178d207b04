import type { ErrorCode } from '../../../core/errors.js';

/** The envelope every JSON answer is in, as text. The request id is checked or ours, so it needs no escaping. */
export function successEnvelope(requestId: string, dataText: string): string {
  return `{"success":true,"code":"OK","message":"OK","request_id":"${requestId}","data":${dataText}}`;
}

export function errorEnvelope(
  requestId: string,
  code: ErrorCode,
  message: string,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  return JSON.stringify({ success: false, code, message, request_id: requestId, ...more });
}
