/** A place in a list that is ordered by creation, newest first, and then by id. */
export interface CreatedPlace {
  readonly createdAt: number;
  readonly id: string;
}

/** The place as the text of a cursor. */
export function cursorAt({ createdAt, id }: CreatedPlace): string {
  return `${createdAt}.${id}`;
}

/**
 * Behind which place a page begins: that of its cursor, else the first one that was created before `createdBefore`.
 */
export function placeBefore(cursor: string | undefined, createdBefore: number | undefined): CreatedPlace {
  if (cursor === undefined) return { createdAt: createdBefore ?? Number.MAX_SAFE_INTEGER, id: LEAST_ID };
  const [, createdAt, id] = /^(\d{1,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(cursor) ?? [];
  // One that no list has given out continues after the end.
  if (createdAt === undefined || id === undefined) return { createdAt: 0, id: LEAST_ID };
  return { createdAt: Number(createdAt), id };
}

/** Before every id: of those that were created at the time of the place itself, none is listed. */
const LEAST_ID = '00000000-0000-0000-0000-000000000000';

/** The place of a generation in such a list. */
export function placeOf({
  createdAt,
  generationId,
}: {
  readonly createdAt: number;
  readonly generationId: string;
}): CreatedPlace {
  return { createdAt, id: generationId };
}
