import { assert } from './assert.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a client's text is a UUID, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The least UUID of version 7 (RFC 9562) that can be made at a time, in milliseconds since the epoch. */
export function leastIdAt(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}

/** A UUID of version 8 (RFC 9562) of the first bits of a digest in hex, of at least 32 digits. */
export function derivedUuid(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Whether an id was derived: those that are drawn are of other versions. */
export function isDerivedUuid(id: string): boolean {
  return id[14] === '8';
}

/** The subject of a wake-up: a kind of work and an id. Core defines the kinds; an adapter accepts any. */
export interface WakeUpSubject {
  /** 1 to 32 lower-case letters and dashes. */
  readonly kind: string;
  /** Without a colon; not empty. */
  readonly id: string;
}

/** The kind that releases before this one knew alone: its keys are bare ids, as theirs were. */
const BARE_KIND = 'generation';
const KIND = /^[a-z][a-z-]{0,31}$/;

/** A subject as one text, under which a store keeps its wake-up: one subject has one key, and the other way round. */
export function wakeUpKey({ kind, id }: WakeUpSubject): string {
  assert(KIND.test(kind), 'the kind of a wake-up is 1 to 32 lower-case letters and dashes');
  assert(id !== '' && !id.includes(':'), 'the id of a wake-up has no colon');
  return kind === BARE_KIND ? id : `${kind}:${id}`;
}

export function subjectOf(key: string): WakeUpSubject {
  const colon = key.indexOf(':');
  return colon === -1 ? { kind: BARE_KIND, id: key } : { kind: key.slice(0, colon), id: key.slice(colon + 1) };
}
