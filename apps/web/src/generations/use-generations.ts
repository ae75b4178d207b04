import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Task, TaskList } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { followEvents } from '../live.js';
import { read, sentenceOf } from '../server.js';
import { isListed, listQuery, type Filter } from './filters.js';

const PAGE = 24;
/** A page of several filters may hold none, although there are more: so many are asked for at a time. */
const MAX_EMPTY_PAGES = 5;

export interface Generations {
  /** Newest first; undefined until the first page is here. */
  readonly tasks: readonly Task[] | undefined;
  readonly fault: string | undefined;
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  /** Reads the next page. Answers the first task of it. */
  readonly more: () => Promise<Task | undefined>;
  /** Begins again with the first page. */
  readonly reload: () => Promise<void>;
}

interface Listed {
  readonly tasks: readonly Task[];
  readonly cursor: string | undefined;
}

/**
 * The generations of an App, page by page, and what happens to them from then on. The list stays the one that was asked
 * for first: another one is another part of the page.
 */
export function useGenerations(appId: string, filter: Filter): Generations {
  const [wanted] = useState({ appId, filter });
  const [listed, setListed] = useState<Listed>();
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  const load = useCallback(
    async (from: string | undefined, join: typeof joined): Promise<readonly Task[]> => {
      setBusy(true);
      try {
        const page = await readPage(wanted, from);
        setListed((before) => (before === undefined ? page : join(before, page)));
        setFault(undefined);
        return page.tasks;
      } catch (error) {
        setFault(sentenceOf(error));
        return [];
      } finally {
        setBusy(false);
      }
    },
    [wanted],
  );

  useEffect(() => {
    let opened = 0;
    void load(undefined, refreshed);
    return followEvents(inApp(wanted.appId, '/events'), {
      // The first page was asked for at the same time.
      onOpen: () => {
        opened += 1;
        if (opened > 1) void load(undefined, refreshed);
      },
      onEvent: ({ task }) =>
        setListed((before) => before && { ...before, tasks: changed(before.tasks, task, wanted.filter) }),
    });
  }, [load, wanted]);

  return {
    tasks: listed?.tasks,
    fault,
    hasMore: listed?.cursor !== undefined,
    isBusy,
    more: async () => (await load(listed?.cursor, joined))[0],
    reload: async () => void (await load(undefined, refreshed)),
  };
}

interface Wanted {
  readonly appId: string;
  readonly filter: Filter;
}

async function readPage({ appId, filter }: Wanted, from: string | undefined): Promise<Listed> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const query = listQuery(filter);
    query.set('limit', String(PAGE));
    if (cursor !== undefined) query.set('cursor', cursor);
    const answer = await read<TaskList>(inApp(appId, `/generations?${query.toString()}`));
    cursor = answer.next_cursor;
    if (answer.generations.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES)
      return { tasks: answer.generations, cursor };
  }
}

/** The next page. What an event has told meanwhile is newer than what the page says. */
function joined({ tasks: known }: Listed, { tasks, cursor }: Listed): Listed {
  const ids = new Set(known.map(({ generation_id: id }) => id));
  return { tasks: [...known, ...tasks.filter(({ generation_id: id }) => !ids.has(id))], cursor };
}

/** The first page once more: what was behind it stays. */
function refreshed(known: Listed, { tasks, cursor }: Listed): Listed {
  const last = tasks.at(-1);
  if (last === undefined || cursor === undefined) return { tasks, cursor };
  const ids = new Set(tasks.map(({ generation_id: id }) => id));
  const behind = known.tasks.filter((task) => task.created_at <= last.created_at && !ids.has(task.generation_id));
  return behind.length === 0 ? { tasks, cursor } : { tasks: [...tasks, ...behind], cursor: known.cursor };
}

function changed(known: readonly Task[], task: Task, filter: Filter): readonly Task[] {
  const isSame = ({ generation_id: id }: Task) => id === task.generation_id;
  const before = known.find(isSame);
  // Events may come twice, and an older one after a newer page.
  if (before !== undefined && before.updated_at > task.updated_at) return known;
  if (!isListed(task, filter)) return known.filter((one) => !isSame(one));
  if (before !== undefined) return known.map((one) => (isSame(one) ? task : one));
  return [task, ...known].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
}
