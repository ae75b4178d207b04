import type { FakeAnswer } from './fake-server.js';

/** Whose source a fake answers by, where they differ. */
export type A1111Vendor = 'a1111' | 'forge' | 'sdnext';

/** A refusal by the API's own code. */
export function a1111Error(vendor: A1111Vendor, status: number, detail: string): FakeAnswer {
  if (vendor === 'forge') return { status, json: { detail } };
  return { status, json: report(vendor, { status, error: 'HTTPException', detail, errors: '' }) };
}

/** An exception that nothing has caught. */
export function a1111Exception(vendor: A1111Vendor, error: string, errors: string): FakeAnswer {
  if (vendor === 'forge') return { status: 500, json: { error, detail: '', body: '', message: errors } };
  return { status: 500, json: report(vendor, { status: 500, error, detail: '', errors }) };
}

interface Report {
  readonly status: number;
  readonly error: string;
  readonly detail: string;
  readonly errors: string;
}

function report(vendor: A1111Vendor, { status, ...rest }: Report): object {
  return { ...rest, body: '', ...(vendor === 'sdnext' ? { code: status } : {}) };
}
