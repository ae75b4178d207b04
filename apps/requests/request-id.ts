const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's own id of a request, when it can be given back and logged safely. */
export function safeRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined;
}
