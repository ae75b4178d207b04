import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { STATUSES, type UsageRow } from '../api-types.js';
import { appName, useApps } from '../use-apps.js';
import { dayText, numberText } from '../format.js';
import { lazy } from '../frame/lazy.js';
import { isWider } from '../frame/preferences.js';
import { Gallery, GallerySkeleton, NoGenerations, overList } from '../media/gallery.js';
import { Picture, thumbnailsOf } from '../media/picture.js';
import { useModels } from '../models/use-models.js';
import { Button, MoreButton } from '../parts/buttons.js';
import { SearchField, Segments, SelectFilter } from '../parts/fields.js';
import { Icon } from '../parts/icon.js';
import { Dialog } from '../parts/overlays.js';
import { Badge, creditsText, Empty, Fault, Page, PlaceLink, Time } from '../parts/parts.js';
import { type Column, Table } from '../parts/table.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import { inApp } from '../server.js';
import type { AccountGeneration, Key } from '../server-types.js';
import { useData, useLatest } from '../use-data.js';
import type { Followed } from '../use-followed.js';
import { type GenerationFilter, useGenerationList } from './generation-list.js';
import { creatorText, isOpen, promptOf, STATUS_LOOKS, STATUS_TEXTS, statusOf } from './generation-texts.js';

/** Loaded with the first generation that is opened. */
const GenerationView = lazy(async () => (await import('../later-pages.js')).GenerationView);
const GenerationPage = lazy(async () => (await import('../later-pages.js')).GenerationPage, 'Generation');

/** Whether the window has room for the list view. Narrow windows hide its switch. */
const hasList = isWider(861);
const FILTERS = ['app', 'status', 'model', 'key', 'kind', 'q', 'from', 'to'] as const;

/** The generations of all Apps; one of them in a drawer over the others, or as a page where it was opened by its address. */
export function GenerationsPage() {
  const { id, query } = place.value;
  const [isDrawer] = useState(id === undefined);
  const filter = filterOf(query);
  const view = query['view'] === 'list' && hasList.value ? 'list' : 'grid';
  if (!isDrawer && id !== undefined) return <GenerationPage key={id} id={id} />;
  return (
    <Page
      title="Generations"
      width="wide"
      actions={
        <span class="wide-only">
          <Segments
            label="View"
            value={view}
            changed={(next) => changeQuery({ view: next === 'grid' ? undefined : next })}
            options={[
              { value: 'grid', text: <Icon of="grid-2x2" size={14} />, label: 'Grid' },
              { value: 'list', text: <Icon of="list" size={14} />, label: 'List' },
            ]}
          />
          <PlaceLink page="playground" class="button primary">
            <Icon of="wand-sparkles" size={14} />
            New generation
          </PlaceLink>
        </span>
      }
    >
      <Filters filter={filter} />
      <Listing
        key={JSON.stringify(filter)}
        filter={filter}
        isGrid={view === 'grid'}
        openId={isDrawer ? id : undefined}
      />
    </Page>
  );
}

function filterOf(query: Readonly<Record<string, string>>): GenerationFilter {
  return Object.fromEntries(FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])));
}

function clearFilters(): void {
  changeQuery(Object.fromEntries(FILTERS.map((name) => [name, undefined])));
}

const RANGES = ['7', '30', '90'] as const;
const DAY_MS = 86_400_000;

function daysAgo(count: number): string {
  return new Date(Date.now() - count * DAY_MS).toISOString().slice(0, 10);
}

/** Narrows the list. Each change is in the address, so that it can be kept and sent to others of the account. */
function Filters({ filter }: { filter: GenerationFilter }) {
  const apps = useApps().value?.apps ?? [];
  const models = useModels().value ?? [];
  const keys = useData<{ readonly keys: readonly Key[] }>('/keys').value?.keys ?? [];
  const { q = '', from, to } = filter;
  const range = RANGES.find((days) => to === undefined && from === daysAgo(Number(days) - 1));
  const select = (
    label: string,
    name: 'app' | 'status' | 'model' | 'key',
    texts: readonly (readonly [value: string, text: string])[],
    none = 'Any',
  ) => (
    <SelectFilter
      label={label}
      none={none}
      value={filter[name]}
      among={texts.map(([value]) => value)}
      text={(value) => texts.find(([one]) => one === value)?.[1] ?? value}
      changed={(value) => changeQuery({ [name]: value })}
    />
  );
  return (
    <search class="filters" aria-label="Filters">
      <SearchField
        key={q}
        label="Search in prompts, or by id or trace id"
        placeholder="Prompt, id or trace id"
        value={q}
        changed={(text) => changeQuery({ q: text })}
      />
      {select(
        'App',
        'app',
        apps.map((app) => [app.id, appName(app)]),
        'All',
      )}
      {select(
        'Status',
        'status',
        STATUSES.map((one) => [one, STATUS_TEXTS[one]]),
      )}
      {select(
        'Model',
        'model',
        models.map(({ model_key: key }) => [key, key]),
      )}
      {select(
        'Key',
        'key',
        keys.map(({ id, name }) => [id, name]),
      )}
      <SelectFilter
        label="Created"
        none="Any time"
        value={range ?? (from === undefined && to === undefined ? undefined : dayRangeText(filter))}
        among={RANGES}
        text={(days) => `Last ${days} days`}
        changed={(days) => changeQuery({ from: days === '' ? undefined : daysAgo(Number(days) - 1), to: undefined })}
      />
    </search>
  );
}

function dayRangeText({ from, to }: GenerationFilter): string {
  if (from === to) return from ?? '';
  return `${from ?? 'the beginning'} to ${to ?? 'today'}`;
}

interface ListingProps {
  filter: GenerationFilter;
  isGrid: boolean;
  /** The generation in the drawer. */
  openId: string | undefined;
}

function Listing({ filter, isGrid, openId }: ListingProps) {
  const list = useGenerationList(filter);
  const { items, fault, waiting } = list;
  const end = useEndReached(list.more);
  const showNew = (): void => {
    list.showWaiting();
    window.scrollTo(0, 0);
  };
  return (
    <div class="generations">
      <Fault text={fault}>
        {list.isFinal ? null : (
          <Button isSmall onClick={() => void list.reload()}>
            Try again
          </Button>
        )}
      </Fault>
      {waiting === 0 ? null : (
        <button type="button" class="button primary small new-pill" onClick={showNew}>
          {waiting === 1 ? '1 new' : `${numberText(waiting)} new`}
        </button>
      )}
      {items === undefined && fault === undefined ? <GallerySkeleton rows={3} /> : null}
      {items === undefined ? null : items.length === 0 ? (
        <Nothing filter={filter} />
      ) : (
        <Days items={items} filter={filter} isGrid={isGrid} hasMore={list.more !== undefined} />
      )}
      <div ref={end}>
        <MoreButton pages={list} />
      </div>
      <GenerationDrawer id={openId} items={items ?? []} />
    </div>
  );
}

/** Loads the next page when the end of the list is near. The button does it for those who do not scroll. */
function useEndReached(more: Followed<unknown>['more']) {
  const end = useRef<HTMLDivElement>(null);
  const load = useLatest(() => void more?.());
  const hasMore = more !== undefined;
  useEffect(() => {
    const element = end.current;
    if (element === null || !hasMore) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) load();
      },
      { rootMargin: '400px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasMore, load]);
  return end;
}

function Nothing({ filter }: { filter: GenerationFilter }) {
  const { q, status, model } = filter;
  if (Object.keys(filter).length === 0)
    return <NoGenerations text="What the playground, the API and connected assistants create appears here." />;
  const state = statusOf(status);
  const parts = [q && `“${q}”`, state && STATUS_TEXTS[state], model].filter(Boolean);
  return (
    <div class="panel">
      <Empty
        icon="search-x"
        title={parts.length === 0 ? 'Nothing matches these filters' : `Nothing matches ${parts.join(', ')}`}
        text="Other generations of the account are hidden by the filters."
      >
        <Button onClick={clearFilters}>Clear filters</Button>
      </Empty>
    </div>
  );
}

interface DaysProps {
  items: readonly AccountGeneration[];
  filter: GenerationFilter;
  isGrid: boolean;
  hasMore: boolean;
}

/** The generations by UTC day, each with the sums of the day where no filter hides a part of it. */
function Days({ items, filter, isGrid, hasMore }: DaysProps) {
  const days = useMemo(() => byDay(items), [items]);
  const sums = useDaySums(days.at(-1)?.day);
  const isWhole = Object.keys(filter).every((name) => name === 'from' || name === 'to');
  return (
    <>
      {days.map(({ day, items: ofDay }, index) => (
        <section key={day} aria-labelledby={`day-${day}`} class="day">
          <div class="day-head">
            <h2 id={`day-${day}`} title={`${day} (UTC)`}>
              {dayTitle(day)}
            </h2>
            {isWhole ? <DaySum row={sums.get(day)} /> : null}
          </div>
          {isGrid ? (
            <Gallery
              generations={ofDay}
              isFirst={index === 0}
              hasMore={hasMore && index === days.length - 1}
              label={`Generations of ${dayTitle(day)}`}
            />
          ) : (
            <div class="panel">
              <Table
                labelledBy={`day-${day}`}
                scrolls={`Generations of ${dayTitle(day)}`}
                items={ofDay}
                idOf={({ generation_id: id }) => id}
                columns={COLUMNS}
              />
            </div>
          )}
        </section>
      ))}
    </>
  );
}

const COLUMNS: readonly Column<AccountGeneration>[] = [
  [
    'Generation',
    (generation) => (
      <PlaceLink page="generations" id={generation.generation_id} class="row line-link" {...overList()}>
        <span class="line-picture">
          {generation.outputs.slice(0, 1).map((output) => (
            <Picture
              key={output.media_id}
              output={output}
              thumbnails={thumbnailsOf(generation, output)}
              alt=""
              shownWidth={48}
            />
          ))}
        </span>
        <span class="cut">{promptOf(generation)}</span>
      </PlaceLink>
    ),
  ],
  ['Status', ({ status }) => <Badge look={STATUS_LOOKS[status]}>{STATUS_TEXTS[status]}</Badge>],
  ['Model', ({ model_key: model }) => model],
  ['Created by', ({ creator }) => creatorText(creator)],
  [
    'Credits',
    (one) => (isOpen(one) ? `${numberText(one.reserved_credits)} reserved` : numberText(one.charged_credits)),
    'number',
  ],
  ['Created', ({ created_at: at }) => <Time at={at} />, 'number'],
];

function byDay(items: readonly AccountGeneration[]): { day: string; items: AccountGeneration[] }[] {
  const days = new Map<string, AccountGeneration[]>();
  for (const item of items) {
    const day = item.created_at.slice(0, 10);
    days.set(day, [...(days.get(day) ?? []), item]);
  }
  return [...days].map(([day, ofDay]) => ({ day, items: ofDay }));
}

function dayTitle(day: string): string {
  if (day === daysAgo(0)) return 'Today';
  return day === daysAgo(1) ? 'Yesterday' : dayText(day);
}

/** The usage of each day from the first one on. */
function useDaySums(first: string | undefined): ReadonlyMap<string, UsageRow> {
  const apps = useApps();
  const app = apps.value?.apps[0]?.id;
  const range = new URLSearchParams({ by: 'day', from: first ?? daysAgo(0), to: daysAgo(0), limit: '100' });
  const isKnown = app !== undefined && first !== undefined;
  const path = isKnown ? inApp(app, `/usage?${range.toString()}`) : '/usable-apps';
  const { value } = useData<{ readonly usage?: readonly UsageRow[] }>(path);
  return new Map((value?.usage ?? []).flatMap((row) => (row.day === undefined ? [] : [[row.day, row] as const])));
}

function DaySum({ row }: { row: UsageRow | undefined }) {
  if (row === undefined) return null;
  const count = row.generations === 1 ? '1 generation' : `${numberText(row.generations)} generations`;
  return <span class="small faint num">{`${count} · ${creditsText(row.charged_credits)} charged`}</span>;
}

/** One generation over the list. The keys J and K go to the older and the newer one. */
function GenerationDrawer({ id, items }: { id: string | undefined; items: readonly AccountGeneration[] }) {
  const at = items.findIndex((one) => one.generation_id === id);
  const known = items[at];
  const { query } = place.value;
  const close = (): void => {
    if (id === undefined) return;
    // Opened from the list, it is behind this place in the history.
    if (history.state === true) history.back();
    else goTo(hrefOf('generations', { query }), { keepsScroll: true });
  };
  const linkTo = (index: number): string | undefined => {
    const other = at < 0 ? undefined : items[index];
    return other && hrefOf('generations', { id: other.generation_id, query });
  };
  return (
    <Dialog isOpen={id !== undefined} close={close} class="drawer" label="Generation">
      {id === undefined ? null : (
        <GenerationView key={id} id={id} known={known} newer={linkTo(at - 1)} older={linkTo(at + 1)} close={close} />
      )}
    </Dialog>
  );
}
