import { useModels } from '../models/use-models.js';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Model, STATUSES, type Task, type TaskList } from '../api-types.js';
import { AppPicker, inApp, pickedApp, useApps } from '../apps/usable-apps.js';
import { textOf, timeText } from '../format.js';
import { followEvents } from '../live.js';
import { ShownOutput } from '../media/shown-output.js';
import { MoreButton, Button } from '../parts/buttons.js';
import { Choice, Loaded, PlaceLink, Page, type PageProps } from '../parts/parts.js';
import { changeQuery, place, titleOf } from '../places.js';
import type { Overview } from '../server-types.js';
import { read, sentenceOf } from '../server.js';
import { type Data } from '../use-data.js';
import { costText, GenerationDetail, isOpen, spokenText, STATUS_TEXTS } from './generation-detail.js';

/** A grid of the generations, or the one that the address names. */
function GenerationsSection({ overview }: { readonly overview: Overview }) {
  const { id } = place.value;
  return id === undefined ? (
    <GenerationList currency={overview.account.currency} />
  ) : (
    <GenerationDetail key={id} id={id} overview={overview} />
  );
}

function GenerationList({ currency }: { readonly currency: string }) {
  const apps = useApps();
  const models = useModels();
  return (
    <Loaded data={apps} what="Apps">
      {(usable) => {
        const picked = pickedApp(usable, 'console');
        const filter = currentFilter();
        return (
          <>
            <section class="panel" aria-label="What is shown">
              <AppPicker apps={usable} picked={picked} usual="console" />
              <Filters models={models.value ?? []} />
            </section>
            <OfApp
              key={JSON.stringify([picked, filter])}
              appId={picked}
              filter={filter}
              isPlayground={picked === usable.apps[0]?.id}
              currency={currency}
            />
          </>
        );
      }}
    </Loaded>
  );
}

interface OfAppProps {
  readonly appId: string;
  readonly filter: Filter;
  readonly isPlayground: boolean;
  readonly currency: string;
}

function OfApp({ appId, filter, isPlayground, currency }: OfAppProps) {
  const generations = useGenerations(appId, filter);
  return (
    <Loaded data={generations} what="generations">
      {(shown) =>
        shown.length === 0 && !generations.hasMore ? (
          <p class="panel empty">
            {isFiltered(filter) ? 'Nothing matches these filters.' : 'Nothing was made here yet.'}
            {isPlayground && !isFiltered(filter) ? (
              <>
                {' '}
                <PlaceLink page="playground">Make a first picture in the playground</PlaceLink>.
              </>
            ) : null}
          </p>
        ) : (
          <GenerationGrid generations={generations} tasks={shown} currency={currency} />
        )
      }
    </Loaded>
  );
}

/** The filters, as the address has them. The days are those of where the reader is. */
const FILTERS = ['status', 'model', 'trace', 'from', 'to'] as const;
export type Filter = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

function currentFilter(): Filter {
  const { query } = place.value;
  return Object.fromEntries(FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])));
}

function isFiltered(filter: Filter): boolean {
  return Object.keys(filter).length > 0;
}

/** The query of the list. */
function listQuery({ status, model, trace, from, to }: Filter): URLSearchParams {
  const query = new URLSearchParams();
  if (status !== undefined) query.set('status', status);
  if (model !== undefined) query.set('model_key', model);
  if (trace !== undefined) query.set('client_trace_id', trace);
  if (from !== undefined) query.set('created_after', startOfDay(from));
  if (to !== undefined) query.set('created_before', startOfDay(to, 1));
  return query;
}

/** Whether the task of an event belongs in the list. */
export function isListed(task: Task, filter: Filter): boolean {
  const created = Date.parse(task.created_at);
  return (
    (filter.status ?? task.status) === task.status &&
    (filter.model ?? task.model_key) === task.model_key &&
    (filter.trace ?? task.client_trace_id) === task.client_trace_id &&
    (filter.from === undefined || created >= Date.parse(startOfDay(filter.from))) &&
    (filter.to === undefined || created < Date.parse(startOfDay(filter.to, 1)))
  );
}

/** The beginning of a day, `YYYY-MM-DD`, or of one that many days later; text that is none is sent as it is. */
function startOfDay(day: string, later = 0): string {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return day;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}

/** Narrows the list. Each change is in the address, so that it can be kept and sent to others of the account. */
function Filters({ models }: { readonly models: readonly Model[] }) {
  const filter = currentFilter();
  const apply = (form: HTMLFormElement): void => {
    const fields = new FormData(form);
    changeQuery(Object.fromEntries(FILTERS.map((name) => [name, textOf(fields, name).trim()])));
  };
  const keys = models.map(({ model_key: key }) => key);
  const { model } = filter;
  // It may have made generations while it was in the catalog.
  const listed = model === undefined || keys.includes(model) ? keys : [...keys, model];
  return (
    <form
      class="filters"
      aria-label="Filters"
      onChange={({ currentTarget }) => apply(currentTarget)}
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
    >
      <Choice label="Status" name="status" value={filter.status} among={STATUSES} text={(one) => STATUS_TEXTS[one]} />
      <Choice label="Model" name="model" value={model} among={listed} text={(key) => key} />
      <label>
        Created from
        <input type="date" name="from" value={filter.from ?? ''} />
      </label>
      <label>
        Created to
        <input type="date" name="to" value={filter.to ?? ''} />
      </label>
      <label>
        Trace id
        <input
          name="trace"
          value={filter.trace ?? ''}
          maxLength={128}
          autocomplete="off"
          placeholder="client_trace_id"
        />
      </label>
      {isFiltered(filter) ? (
        <Button isSmall onClick={() => changeQuery(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
          Clear filters
        </Button>
      ) : null}
    </form>
  );
}

const PAGE = 24;
/**
 * The maximum number of empty pages to read in a row: a page with several filters may be empty although there are
 * more.
 */
const MAX_EMPTY_PAGES = 5;

/** The tasks of a list, newest first. */
interface Generations extends Data<readonly Task[]> {
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  /** Reads the next page. Returns its first task. */
  readonly more: () => Promise<Task | undefined>;
}

interface Listed {
  readonly tasks: readonly Task[];
  readonly cursor: string | undefined;
}

/**
 * The generations of an App, page by page, and what happens to them from then on. The list stays the one that was asked
 * for first: another one is another part of the page.
 */
function useGenerations(appId: string, filter: Filter): Generations {
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
      // The first page was requested at the same time.
      onOpen: () => {
        opened += 1;
        if (opened > 1) void load(undefined, refreshed);
      },
      onEvent: ({ task }) =>
        setListed((before) => before && { ...before, tasks: changed(before.tasks, task, wanted.filter) }),
    });
  }, [load, wanted]);

  return {
    value: listed?.tasks,
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

/** The next page. A task from an event is newer than the one in the page. */
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

interface GridProps {
  readonly generations: Generations;
  readonly tasks: readonly Task[];
  readonly currency: string;
}

/** Pictures and videos, newest first. */
function GenerationGrid({ generations, tasks, currency }: GridProps) {
  const list = useRef<HTMLUListElement>(null);
  const more = async (): Promise<void> => {
    const first = await generations.more();
    // The button stays next in the order; reading continues with the first new one.
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-id="${first?.generation_id ?? ''}"] a`)?.focus(),
    );
  };
  return (
    <>
      <ul class="grid-of-media" ref={list}>
        {tasks.map((task) => (
          <li key={task.generation_id} data-id={task.generation_id}>
            <GenerationTile task={task} currency={currency} />
          </li>
        ))}
      </ul>
      <MoreButton pages={{ more: generations.hasMore ? more : undefined, isReading: generations.isBusy }} />
    </>
  );
}

function GenerationTile({ task, currency }: { readonly task: Task; readonly currency: string }) {
  const [output] = task.outputs;
  const count = task.outputs.length;
  return (
    <PlaceLink
      page="generations"
      id={task.generation_id}
      class="tile"
      label={`${spokenText(task)}, ${timeText(task.created_at)}`}
    >
      <span class={`frame-of-media ${task.status}`}>
        {output === undefined ? (
          <span class="no-media" aria-busy={isOpen(task)}>
            {STATUS_TEXTS[task.status]}
          </span>
        ) : (
          <ShownOutput output={output} alt="" isPreview />
        )}
        {count > 1 ? <span class="count">{`${count} outputs`}</span> : null}
      </span>
      <span class="tile-text">
        <span>{task.model_key}</span>
        <span class="small muted">{timeText(task.created_at)}</span>
        <span class="small muted">{costText(task, currency)}</span>
      </span>
    </PlaceLink>
  );
}

export function GenerationsPage({ overview }: PageProps) {
  return (
    <Page title={titleOf(place.value)}>
      <div class="stack">
        <GenerationsSection overview={overview} />
      </div>
    </Page>
  );
}
