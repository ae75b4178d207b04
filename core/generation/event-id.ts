import { isUuid } from '../uuid.js';
import { BEGINNING, placeOf, type GenerationEvent, type Place } from './generation-events.js';

/** Where a client of an App's events was: up to when it had everything, and what it was told of last. */
export interface ResumedAt {
  readonly completeTo: number;
  /** Absent where it was told of none. */
  readonly last?: { readonly generationId: string; readonly place: Place };
}

/** The id of a place behind no event: everything from before `completeTo` was told. */
export function placeMark(completeTo: number): string {
  return `${Math.max(0, completeTo).toString(36)}_`;
}

/** The id of an event of an App's stream. */
export function eventIdOf(completeTo: number, { id, generation }: GenerationEvent): string {
  return `${placeMark(completeTo)}${generation.generationId}_${id}`;
}

/** Whether a stream can be resumed behind an event with this id. */
export function isEventId(text: string): boolean {
  return readEventId(text) !== undefined;
}

/** Undefined for text that no stream of an App has sent as an id. */
export function readEventId(text: string | undefined): ResumedAt | undefined {
  const [time = '', generationId, id, ...more] = (text ?? '').split('_');
  if (!/^[0-9a-z]{1,9}$/.test(time) || more.length > 0) return undefined;
  const completeTo = Number.parseInt(time, 36);
  if (generationId === '' && id === undefined) return { completeTo };
  const place = placeOf(id);
  if (generationId === undefined || !isUuid(generationId) || place === BEGINNING) return undefined;
  return { completeTo, last: { generationId: generationId.toLowerCase(), place } };
}
