import { demand } from './demand.js';

const BODY_LENGTH = 43;
const PREFIX = 'svc_live_';

/** Invariant 18: no API key, nor the part of it nobody can guess, in anything that is stored, logged or answered. */
export class Secrets {
  /** Large parts of records are the same objects from version to version; each is looked at once. */
  private readonly clean = new WeakSet<object>();

  constructor(private readonly secrets: () => readonly string[]) {}

  requireNone(value: unknown, where: () => string): void {
    if (typeof value === 'string') {
      if (value.length >= BODY_LENGTH) this.lookAt(value, where);
    } else if (typeof value === 'object' && value !== null && !this.clean.has(value)) {
      this.requireNoneWithin(value, where);
    }
  }

  private requireNoneWithin(value: object, where: () => string): void {
    this.clean.add(value);
    if (ArrayBuffer.isView(value)) return;
    if (value instanceof Error) {
      for (const part of [value.message, value.stack, value.cause]) this.requireNone(part, where);
    }
    for (const part of value instanceof Map ? value.values() : Object.values(value)) this.requireNone(part, where);
  }

  private lookAt(text: string, where: () => string): void {
    for (const secret of this.secrets()) {
      const body = secret.slice(PREFIX.length, PREFIX.length + BODY_LENGTH);
      demand(!text.includes(body), 18, () => `${where()} contains an API key's secret`);
    }
  }
}
