import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Grid2x2, Images, List, SearchX, WandSparkles } from 'lucide-preact';
import { STATUSES, type UsageRow } from '../api-types.js';
import { appName, type UsableApps, useApps } from '../apps/usable-apps.js';
import { dayText, numberText } from '../format.js';
import { lazy } from '../frame/lazy.js';
import { Gallery, GallerySkeleton, overList } from '../media/gallery.js';
import { Picture, thumbnailsOf } from '../media/picture.js';
import { useModels } from '../models/use-models.js';
import { Button } from '../parts/buttons.js';
import { SearchField, Segments, SelectFilter } from '../parts/fields.js';
import { Icon } from '../parts/icon.js';
import { Dialog } from '../parts/overlays.js';
import { Badge, creditsText, Empty, Fault, Page, type PageProps, PlaceLink, Time } from '../parts/parts.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import { inApp } from '../server.js';
import type { AccountGeneration, Key } from '../server-types.js';
import { useData, useLatest } from '../use-data.js';
import { type GenerationFilter, type GenerationsList, useGenerationList } from './generation-list.js';
import { creatorText, isOpen, STATUS_LOOKS, STATUS_TEXTS, statusOf } from './generation-texts.js';

/** Loaded with the first generation that is opened. */
const GenerationView = lazy(async () => (await import('./generation-view.js')).GenerationView);
const GenerationPage = lazy(async () => (await import('./generation-page.js')).GenerationPage, 'Generation');

const FILTERS = ['app', 'status', 'model', 'key', 'kind', 'q', 'from', 'to'] as const;
type View = 'grid' | 'list';

/** The generations of all Apps; one of them in a drawer over the others, or as a page where it was opened by its address. */
export function GenerationsPage({ overview }: PageProps) {
  const { id, query } = place.value;
  const [isDrawer] = useState(id === undefined);
  const filter = filterOf(query);
  const view: View = query['view'] === 'list' ? 'list' : 'grid';
  if (!isDrawer && id !== undefined) return <GenerationPage key={id} id={id} overview={overview} />;
  return (
    <Page
      title="Generations"
      width="wide"
      actions={
        <>
          <span class="wide-only">
            <Segments
              label="View"
              value={view}
              changed={(next) => changeQuery({ view: next === 'grid' ? undefined : next })}
              options={[
                { value: 'grid', text: <Icon of={Grid2x2} size={14} />, label: 'Grid' },
                { value: 'list', text: <Icon of={List} size={14} />, label: 'List' },
              ]}
            />
            <PlaceLink page="playground" class="button primary">
              <Icon of={WandSparkles} size={14} />
              New generation
            </PlaceLink>
          </span>
        </>
      }
    >
      <Filters filter={filter} />
      <Listing key={JSON.stringify(filter)} filter={filter} view={view} openId={isDrawer ? id : undefined} />
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
function Filters({ filter }: { readonly filter: GenerationFilter }) {
  const apps = useApps();
  const models = useModels();
  const keys = useData<{ readonly keys: readonly Key[] }>('/keys');
  const known = apps.value?.apps ?? [];
  const allKeys = keys.value?.keys ?? [];
  const range = RANGES.find((days) => filter.to === undefined && filter.from === daysAgo(Number(days) - 1));
  return (
    <search class="filters" aria-label="Filters">
      <SearchField
        key={filter.q ?? ''}
        label="Search in prompts, or by id or trace id"
        placeholder="Prompt, id or trace id"
        value={filter.q ?? ''}
        changed={(q) => changeQuery({ q })}
      />
      <SelectFilter
        label="App"
        none="All"
        value={filter.app}
        among={known.map(({ id }) => id)}
        text={(id) => nameOfApp(known, id)}
        changed={(app) => changeQuery({ app })}
      />
      <SelectFilter
        label="Status"
        value={filter.status}
        among={STATUSES}
        text={(one) => STATUS_TEXTS[one]}
        changed={(status) => changeQuery({ status })}
      />
      <SelectFilter
        label="Model"
        value={filter.model}
        among={(models.value ?? []).map(({ model_key: key }) => key)}
        text={(key) => key}
        changed={(model) => changeQuery({ model })}
      />
      <SelectFilter
        label="Key"
        value={filter.key}
        among={allKeys.map(({ id }) => id)}
        text={(id) => allKeys.find((key) => key.id === id)?.name ?? id}
        changed={(key) => changeQuery({ key })}
      />
      <SelectFilter
        label="Created"
        none="Any time"
        value={range ?? (filter.from === undefined && filter.to === undefined ? undefined : dayRangeText(filter))}
        among={RANGES}
        text={(days) => `Last ${days} days`}
        changed={(days) => changeQuery({ from: days === '' ? undefined : daysAgo(Number(days) - 1), to: undefined })}
      />
    </search>
  );
}

function nameOfApp(apps: UsableApps['apps'], id: string): string {
  const app = apps.find((one) => one.id === id);
  return app === undefined ? id : appName(app);
}

function dayRangeText({ from, to }: GenerationFilter): string {
  if (from === to) return from ?? '';
  return `${from ?? 'the beginning'} to ${to ?? 'today'}`;
}

interface ListingProps {
  readonly filter: GenerationFilter;
  readonly view: View;
  /** The generation in the drawer. */
  readonly openId: string | undefined;
}

function Listing({ filter, view, openId }: ListingProps) {
  const list = useGenerationList(filter);
  const { items, fault, waiting } = list;
  const end = useEndReached(list);
  return (
    <div class="generations">
      <Fault text={fault}>
        <Button isSmall onClick={() => void list.reload()}>
          Try again
        </Button>
      </Fault>
      {waiting === 0 ? null : (
        <button type="button" class="button primary small new-pill" onClick={list.showWaiting}>
          {waiting === 1 ? '1 new' : `${numberText(waiting)} new`}
        </button>
      )}
      {items === undefined ? (
        fault === undefined ? (
          <GallerySkeleton rows={3} />
        ) : null
      ) : items.length === 0 ? (
        <Nothing filter={filter} />
      ) : (
        <Days items={items} filter={filter} view={view} />
      )}
      <div ref={end} class="more">
        {list.hasMore ? (
          <Button isBusy={list.isReading} onClick={() => void list.more()}>
            Show more
          </Button>
        ) : null}
      </div>
      <GenerationDrawer id={openId} items={items ?? []} />
    </div>
  );
}

/** Loads the next page when the end of the list is near. The button does it for those who do not scroll. */
function useEndReached({ more, hasMore }: GenerationsList) {
  const end = useRef<HTMLDivElement>(null);
  const load = useLatest(() => void more());
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

function Nothing({ filter }: { readonly filter: GenerationFilter }) {
  if (Object.keys(filter).length === 0)
    return (
      <div class="panel">
        <Empty
          icon={Images}
          title="No generations yet"
          text="What the playground, the API and connected assistants create appears here."
        >
          <PlaceLink page="playground" class="button primary">
            Open the playground
          </PlaceLink>
          <PlaceLink page="keys" class="button">
            Copy a curl command
          </PlaceLink>
        </Empty>
      </div>
    );
  const parts = [
    ...(filter.q === undefined ? [] : [`“${filter.q}”`]),
    ...(statusOf(filter.status) === undefined ? [] : [STATUS_TEXTS[statusOf(filter.status) ?? 'queued']]),
    ...(filter.model === undefined ? [] : [filter.model]),
  ];
  return (
    <div class="panel">
      <Empty
        icon={SearchX}
        title={parts.length === 0 ? 'Nothing matches these filters' : `Nothing matches ${parts.join(', ')}`}
        text="Other generations of the account are hidden by the filters."
      >
        <Button onClick={clearFilters}>Clear filters</Button>
      </Empty>
    </div>
  );
}

interface DaysProps {
  readonly items: readonly AccountGeneration[];
  readonly filter: GenerationFilter;
  readonly view: View;
}

/** The generations by UTC day, each with the sums of the day where no filter hides a part of it. */
function Days({ items, filter, view }: DaysProps) {
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
          {view === 'grid' ? (
            <Gallery generations={ofDay} isFirst={index === 0} label={`Generations of ${dayTitle(day)}`} />
          ) : (
            <GenerationTable generations={ofDay} label={`Generations of ${dayTitle(day)}`} />
          )}
        </section>
      ))}
    </>
  );
}

function byDay(items: readonly AccountGeneration[]): { day: string; items: AccountGeneration[] }[] {
  const days = new Map<string, AccountGeneration[]>();
  for (const item of items) {
    const day = item.created_at.slice(0, 10);
    const known = days.get(day);
    if (known === undefined) days.set(day, [item]);
    else known.push(item);
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

function DaySum({ row }: { readonly row: UsageRow | undefined }) {
  if (row === undefined) return null;
  const count = row.generations === 1 ? '1 generation' : `${numberText(row.generations)} generations`;
  return <span class="small faint num">{`${count} · ${creditsText(row.charged_credits)} charged`}</span>;
}

interface GenerationTableProps {
  readonly generations: readonly AccountGeneration[];
  readonly label: string;
}

/** The same as the grid, one line each. */
function GenerationTable({ generations, label }: GenerationTableProps) {
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="panel scroll-x" tabIndex={0} aria-label={label}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Generation</th>
            <th scope="col">Status</th>
            <th scope="col">Model</th>
            <th scope="col">Created by</th>
            <th scope="col" class="number">
              Credits
            </th>
            <th scope="col" class="number">
              Created
            </th>
          </tr>
        </thead>
        <tbody>
          {generations.map((generation) => (
            <GenerationLine key={generation.generation_id} generation={generation} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function GenerationLine({ generation }: { readonly generation: AccountGeneration }) {
  const { generation_id: id, prompt, status, model_key: model, creator, outputs } = generation;
  const [output] = outputs;
  return (
    <tr>
      <th scope="row">
        <PlaceLink page="generations" id={id} class="row line-link" {...overList()}>
          <span class="line-picture">
            {output === undefined ? null : (
              <Picture output={output} thumbnails={thumbnailsOf(generation, output)} alt="" shownWidth={48} />
            )}
          </span>
          <span class="cut">{prompt === null || prompt === '' ? model : prompt}</span>
        </PlaceLink>
      </th>
      <td>
        <Badge look={STATUS_LOOKS[status]}>{STATUS_TEXTS[status]}</Badge>
      </td>
      <td>{model}</td>
      <td>{creatorText(creator)}</td>
      <td class="number">
        {isOpen(generation)
          ? `${numberText(generation.reserved_credits)} reserved`
          : numberText(generation.charged_credits)}
      </td>
      <td class="number faint">
        <Time at={generation.created_at} />
      </td>
    </tr>
  );
}

interface GenerationDrawerProps {
  readonly id: string | undefined;
  readonly items: readonly AccountGeneration[];
}

/** One generation over the list. The keys J and K go to the older and the newer one. */
function GenerationDrawer({ id, items }: GenerationDrawerProps) {
  const at = items.findIndex((one) => one.generation_id === id);
  const known = items[at];
  const { query } = place.value;
  const close = (): void => {
    if (id !== undefined) goTo(hrefOf('generations', { query }), { keepsScroll: true });
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
