import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { AccountGeneration } from '../server-types.js';
import { type Followed, useFollowed } from '../use-followed.js';
import { isOpen } from './generation-texts.js';

export interface GenerationFilter {
  readonly app?: string | undefined;
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  readonly kind?: string | undefined;
  /** Words of the prompt, an id or a trace id. */
  readonly q?: string | undefined;
  /** UTC days, both included. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const DAY_MS = 86_400_000;
const PAGE = 24;

/** The query of the server for a filter. A text that is not a day is sent as it is, so that the server refuses it. */
function queryOf({ app, status, model, key, kind, q, from, to }: GenerationFilter): string {
  const startOf = (day: string, later: number): string => {
    const at = Date.parse(`${day}T00:00:00Z`);
    return Number.isNaN(at) ? day : new Date(at + later * DAY_MS).toISOString();
  };
  const given = {
    app_id: app,
    status,
    model_key: model,
    credential_id: key,
    modality: kind,
    q,
    created_after: from === undefined ? undefined : startOf(from, 0),
    created_before: to === undefined ? undefined : startOf(to, 1),
    limit: String(PAGE),
  };
  const entries = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(entries).toString();
}

/** The ids of generations that were deleted in this tab. Lists leave them out before the server's answer does. */
export const deleted = signal<readonly string[]>([]);

/** The delays between readings: while some are open, and otherwise. */
const POLL_MS = { open: 2_000, resting: 5_000 };
/** Scrolled further than this, in CSS pixels, new ones are not inserted above. */
const TOP_PX = 240;

/**
 * The generations of the account that a filter lets through, newest first. The list stays that of the filter that was given first:
 * another one is another component.
 */
export function useGenerationList(filter: GenerationFilter): Followed<AccountGeneration> {
  const [path] = useState(() => `/generations?${queryOf(filter)}`);
  const list = useFollowed<AccountGeneration>(path, {
    name: 'generations',
    idOf: ({ generation_id: id }) => id,
    delayOf: (items) => (items.some(isOpen) ? POLL_MS.open : POLL_MS.resting),
    isHeld: () => window.scrollY >= TOP_PX,
  });
  const gone = deleted.value;
  return { ...list, items: list.items?.filter(({ generation_id: id }) => !gone.includes(id)) };
}
