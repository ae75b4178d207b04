import type { AgendaDatabase } from './agenda-database.js';
import { AgendaRefused } from './agenda-refused.js';

/** How a process learns of wake-ups that others have scheduled. */
export type WokenBy = 'auto' | 'change-streams' | 'polling';

/**
 * Whether there is to be a change stream. Throws `AgendaRefused` if one is configured for a server that has none, and
 * `StoreUnavailable`.
 */
export async function hearsOfChanges(database: AgendaDatabase, wokenBy: WokenBy): Promise<boolean> {
  if (wokenBy === 'polling') return false;
  const hello = await database.ask(() => database.db.command({ hello: 1 }));
  // Only members of a replica set have a name for it, and only a router answers with this message.
  const tells = hello['setName'] !== undefined || hello['msg'] === 'isdbgrid';
  if (wokenBy === 'change-streams' && !tells) {
    throw new AgendaRefused(
      'The MongoDB server is not part of a replica set, so it has no change streams; set agenda.woken_by to auto or polling.',
    );
  }
  return tells;
}
