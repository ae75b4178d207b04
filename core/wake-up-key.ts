import { assert } from './assert.js';
import type { WakeUpSubject } from './ports/wake-ups.js';

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
