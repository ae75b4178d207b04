import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Usage, UsageBy } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { read, sentenceOf } from '../server.js';
import type { Data } from '../use-data.js';
import type { Range } from './range.js';

const PAGE = 100;
/** A year of days has fewer rows; of models and keys the first so many are shown. */
const MAX_PAGES = 10;

export function usagePath(appId: string, by: UsageBy, { from, to }: Range): string {
  return inApp(appId, `/usage?${new URLSearchParams({ by, from, to }).toString()}`);
}

/** What was used in a range, all rows of it. */
export function useUsage(appId: string, by: UsageBy, range: Range): Data<Usage> {
  const path = usagePath(appId, by, range);
  const [known, setKnown] = useState<{ readonly path: string; readonly usage: Usage }>();
  const [fault, setFault] = useState<string>();
  const load = useCallback(async (): Promise<void> => {
    try {
      const usage = await readAll(path);
      setKnown({ path, usage });
      setFault(undefined);
    } catch (error) {
      setFault(sentenceOf(error));
    }
  }, [path]);
  useEffect(() => {
    setFault(undefined);
    void load();
  }, [load]);
  return { value: known?.path === path ? known.usage : undefined, fault, reload: load };
}

async function readAll(path: string): Promise<Usage> {
  let all: Usage | undefined;
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const more: Record<string, string> = cursor === undefined ? {} : { cursor };
    const page: Usage = await read<Usage>(
      `${path}&${new URLSearchParams({ limit: String(PAGE), ...more }).toString()}`,
    );
    all = all === undefined ? page : { ...page, usage: [...all.usage, ...page.usage] };
    cursor = page.next_cursor;
    if (cursor === undefined) return all;
  }
  return all as Usage;
}
