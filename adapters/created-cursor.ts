/** A place in a list that is ordered by creation, newest first, and then by id. */
export interface CreatedPlace {
  readonly createdAt: number;
  readonly generationId: string;
}

/** The place as the text of a cursor. */
export function cursorAt({ createdAt, generationId }: CreatedPlace): string {
  return `${createdAt}.${generationId}`;
}

/**
 * Behind which place a page begins: that of its cursor, else the first one that was created before `createdBefore`.
 */
export function placeBefore(cursor: string | undefined, createdBefore: number | undefined): CreatedPlace {
  if (cursor === undefined) return { createdAt: createdBefore ?? Number.MAX_SAFE_INTEGER, generationId: LEAST_ID };
  const [, createdAt, generationId] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  // One that no list has given out continues after the end.
  if (createdAt === undefined || generationId === undefined) return { createdAt: 0, generationId: LEAST_ID };
  return { createdAt: Number(createdAt), generationId };
}

/** Before every id: of those that were created at the time of the place itself, none is listed. */
const LEAST_ID = '00000000-0000-0000-0000-000000000000';
