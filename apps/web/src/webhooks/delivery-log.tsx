import { useEffect, useState } from 'preact/hooks';
import { CircleSlash, SearchX, Send } from 'lucide-preact';
import { type Delivery, DELIVERY_STATES } from '../api-types.js';
import { numberText, preciseTimeText, spanText } from '../format.js';
import { Picture, thumbnailsOf } from '../media/picture.js';
import { ActionButton, Button, ConfirmDialog, MoreButton, shortId } from '../parts/buttons.js';
import { SearchField, SelectFilter } from '../parts/fields.js';
import { Icon } from '../parts/icon.js';
import { Dialog } from '../parts/overlays.js';
import { Empty, Fault, PageLink, SkeletonLines, Time } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, hrefOf, place } from '../places.js';
import type { AccountDelivery, AccountGeneration, App } from '../server-types.js';
import { change, read } from '../server.js';
import { useData } from '../use-data.js';
import { type DeliveryList, useDeliveryList } from './delivery-list.js';
import { DeliveryView } from './delivery-view.js';
import { pathOf } from './webhook-form.js';
import { HttpStatus, isWaiting, SENT_EVENTS, STATE_TEXTS } from './webhook-parts.js';

interface DeliveryLogProps {
  /** The id of a webhook, or `PER_REQUEST`. */
  readonly webhookId: string;
  readonly app: App;
  readonly createdAt?: string;
  /** Grows with each test message, which is then looked for at once. */
  readonly tests?: number;
  readonly test?: () => Promise<void>;
}

const PAGE = 50;

/** The deliveries of the last 30 days, and the selected one beside them. The address holds the filters and the selection. */
export function DeliveryLog(props: DeliveryLogProps) {
  const { webhookId, app, tests = 0 } = props;
  const { state, event, generation, delivery: named } = place.value.query;
  const query = new URLSearchParams({ webhook_id: webhookId, app_id: app.id, limit: String(PAGE) });
  for (const [name, value] of Object.entries({ state, event, generation_id: generation }))
    if (value !== undefined) query.set(name, value);
  const list = useDeliveryList(query.toString());
  const generations = useGenerations(app.id);
  const isWide = useMedia('(min-width: 1181px)');
  const { items, reload } = list;
  useEffect(() => void (tests > 0 && reload()), [tests, reload]);
  // The newest one of the beginning stays, whatever comes after it.
  const [first, setFirst] = useState<string>();
  const isFirstListed = items?.some(({ delivery_id: id }) => id === first);
  useEffect(() => {
    if (isFirstListed === false) setFirst(items?.[0]?.delivery_id);
  }, [items, isFirstListed]);
  const selected = named ?? (isWide ? first : undefined);
  const known = items?.find((one) => one.delivery_id === selected);
  const close = (): void => changeQuery({ delivery: undefined });
  const view =
    selected === undefined ? null : (
      <DeliveryView
        key={selected}
        id={selected}
        known={known}
        generation={generations.get(known?.generation_id ?? '')}
        changed={reload}
        close={isWide ? undefined : close}
      />
    );
  return (
    <div class="split">
      <section class="log" aria-labelledby="deliveries">
        <LogHead {...props} changed={reload} />
        <Fault text={list.fault}>
          <Button isSmall onClick={() => void reload()}>
            Try again
          </Button>
        </Fault>
        <Lines {...props} list={list} generations={generations} selected={selected} />
      </section>
      {isWide ? (
        view && <aside aria-label="Delivery">{view}</aside>
      ) : (
        <Dialog isOpen={named !== undefined} close={close} class="drawer" label="Delivery">
          {view}
        </Dialog>
      )}
    </div>
  );
}

function useMedia(query: string): boolean {
  const [isTrue, setTrue] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = (): void => setTrue(media.matches);
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, [query]);
  return isTrue;
}

type Generations = ReadonlyMap<string, AccountGeneration>;

const GENERATIONS_MS = 15_000;

/** The newest generations of an App, by id: the log shows the pictures and prompts of those it finds here. */
function useGenerations(appId: string): Generations {
  const { value } = useData<{ readonly generations: readonly AccountGeneration[] }>(
    `/generations?app_id=${appId}&limit=50`,
    { everyMs: GENERATIONS_MS },
  );
  return new Map((value?.generations ?? []).map((one) => [one.generation_id, one]));
}

function LogHead({ changed, ...props }: DeliveryLogProps & { readonly changed: () => Promise<void> }) {
  const { state, event, generation } = place.value.query;
  const [isAsking, setAsking] = useState(false);
  return (
    <div class="log-head">
      <h2 id="deliveries" tabIndex={-1}>
        Deliveries
      </h2>
      <search class="filters grow" aria-label="Filters">
        <SelectFilter
          label="State"
          value={state}
          among={DELIVERY_STATES}
          text={(one) => STATE_TEXTS[one]}
          changed={(chosen) => changeQuery({ state: chosen, delivery: undefined })}
        />
        <SelectFilter
          label="Event"
          value={event}
          among={SENT_EVENTS}
          text={(one) => one}
          changed={(chosen) => changeQuery({ event: chosen, delivery: undefined })}
        />
        <SearchField
          label="Generation id"
          placeholder="Generation id"
          value={generation ?? ''}
          changed={(id) => changeQuery({ generation: id, delivery: undefined })}
        />
      </search>
      <Button onClick={() => setAsking(true)}>Resend failed…</Button>
      <ResendDialog {...props} isOpen={isAsking} close={() => setAsking(false)} changed={changed} />
    </div>
  );
}

interface LinesProps extends DeliveryLogProps {
  readonly list: DeliveryList;
  readonly generations: Generations;
  readonly selected: string | undefined;
}

function Lines({ list, generations, selected, ...props }: LinesProps) {
  const { items, fault, more, isReading } = list;
  if (items === undefined)
    return fault === undefined ? (
      <div class="log-note" aria-busy="true">
        <span class="visually-hidden">Loading deliveries…</span>
        <SkeletonLines count={8} />
      </div>
    ) : null;
  if (items.length === 0) return <Nothing {...props} hasMore={more !== undefined} list={list} />;
  return (
    <>
      <table class="table log-table" aria-labelledby="deliveries">
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col" class="wide">
              Event
            </th>
            <th scope="col">Generation</th>
            <th scope="col" class="number wide">
              Tries
            </th>
            <th scope="col" class="number wide">
              Time
            </th>
            <th scope="col" class="number">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <Line
              key={one.delivery_id}
              delivery={one}
              generation={generations.get(one.generation_id)}
              isSelected={one.delivery_id === selected}
            />
          ))}
        </tbody>
      </table>
      <MoreButton what="deliveries" pages={{ more, isReading }} />
      <p class="small faint log-note">
        {more === undefined ? `${numberText(items.length)} in all. ` : ''}Deliveries are kept for 30 days.
      </p>
    </>
  );
}

interface LineProps {
  readonly delivery: AccountDelivery;
  readonly generation: AccountGeneration | undefined;
  readonly isSelected: boolean;
}

function Line({ delivery, generation, isSelected }: LineProps) {
  const { delivery_id: id, state, event, attempts, attempts_made: tries, occurred_at: at } = delivery;
  const { page, id: webhook, query } = place.value;
  const last = attempts.at(-1);
  if (page === undefined) return null;
  return (
    <tr class="link" aria-current={isSelected ? 'true' : undefined}>
      <th scope="row">
        <PageLink
          href={hrefOf(page, { id: webhook, query: { ...query, delivery: id } })}
          class="row-link"
          keepsScroll
          replaces
        >
          <HttpStatus attempt={last} />
          <span class={state === 'delivered' ? 'visually-hidden' : isWaiting(delivery) ? 'state active' : 'state'}>
            {STATE_TEXTS[state]}
          </span>
          <span class="visually-hidden">{`, ${event}, ${preciseTimeText(at)}`}</span>
        </PageLink>
      </th>
      <td class="wide">
        <code>{event}</code>
      </td>
      <td class="what">
        <GenerationName delivery={delivery} generation={generation} />
      </td>
      <td class="number wide">{numberText(tries)}</td>
      <td class="number wide">{last === undefined ? '–' : spanText(last.duration_ms)}</td>
      <td class="number faint">
        <Time at={at} />
      </td>
    </tr>
  );
}

/** A generation as a small picture and its prompt, or its id where the page does not know more. */
function GenerationName({ delivery, generation }: Omit<LineProps, 'isSelected'>) {
  const [output] = generation?.outputs ?? [];
  const isTest = delivery.event === 'generation.test';
  const prompt = generation?.prompt ?? '';
  return (
    <span class="row">
      <span class="line-picture none">
        {output === undefined || generation === undefined ? (
          <Icon of={isTest ? Send : CircleSlash} size={14} />
        ) : (
          <Picture output={output} thumbnails={thumbnailsOf(generation, output)} alt="" shownWidth={48} />
        )}
      </span>
      {isTest ? (
        <span class="cut">Test event</span>
      ) : prompt === '' ? (
        <span class="cut mono">{shortId(delivery.generation_id)}</span>
      ) : (
        <span class="cut">{prompt}</span>
      )}
    </span>
  );
}

const RETENTION_MS = 30 * 86_400_000;

interface NothingProps extends DeliveryLogProps {
  readonly hasMore: boolean;
  readonly list: DeliveryList;
}

/** Never any, hidden by filters, or no longer stored. */
function Nothing({ createdAt, test, hasMore, list }: NothingProps) {
  const [openedAt] = useState(() => Date.now());
  const { state, event, generation } = place.value.query;
  const clear = (): void => changeQuery({ state: undefined, event: undefined, generation: undefined });
  if (state !== undefined || event !== undefined || generation !== undefined)
    return (
      <Empty
        icon={SearchX}
        title={hasMore ? 'No match so far' : 'No delivery matches these filters'}
        text={hasMore ? 'Older deliveries have not been searched yet.' : 'Other deliveries are hidden by the filters.'}
      >
        {hasMore ? (
          <Button isBusy={list.isReading} onClick={() => void list.more?.()}>
            Search older deliveries
          </Button>
        ) : null}
        <Button onClick={clear}>Clear filters</Button>
      </Empty>
    );
  const isOld = createdAt !== undefined && openedAt - Date.parse(createdAt) > RETENTION_MS;
  return (
    <Empty
      icon={Send}
      title={isOld ? 'No deliveries in the last 30 days' : 'No deliveries yet'}
      text={
        isOld ? 'Older ones are no longer stored.' : 'Each message appears here with its tries, as soon as it is sent.'
      }
    >
      {test === undefined ? null : (
        <ActionButton action={test} isSmall={false}>
          Send test event
        </ActionButton>
      )}
    </Empty>
  );
}

const PERIODS = {
  '1': 'the last hour',
  '24': 'the last 24 hours',
  '168': 'the last 7 days',
  '720': 'the last 30 days',
};
type Period = keyof typeof PERIODS;
const HOUR_MS = 3_600_000;
const FAILED = ['exhausted', 'retrying', 'disabled'] as const satisfies readonly Delivery['state'][];
/** A range is replayed in batches of a hundred, with at most this many batches per action. */
const MAX_STEPS = 50;

interface ResendDialogProps extends DeliveryLogProps {
  readonly isOpen: boolean;
  readonly close: () => void;
  readonly changed: () => Promise<void>;
}

/** Resends what was not delivered in a period. */
function ResendDialog({ webhookId, app, isOpen, close, changed }: ResendDialogProps) {
  const [period, setPeriod] = useState<Period>('24');
  const [openedAt, setOpenedAt] = useState(0);
  useEffect(() => {
    if (isOpen) setOpenedAt(Date.now());
  }, [isOpen]);
  const since = new Date(openedAt - Number(period) * HOUR_MS).toISOString();
  const resend = async (): Promise<number> => replayAll(pathOf(app.id, webhookId), since);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      close={close}
      isHarmless
      question="Resend failed deliveries?"
      consequence="Deliveries that gave up, that wait for another try, or that were not sent while the webhook was disabled are sent at once. Their messages keep their ids, so that a receiver recognises what it has."
      doIt="Resend"
      busyText="Resending…"
      action={resend}
      done={async (count) => {
        announce(count === 1 ? 'Resending 1 delivery.' : `Resending ${numberText(count)} deliveries.`);
        await changed();
      }}
    >
      <div class="row wrap">
        <SelectFilter
          label="Period"
          none={null}
          value={period}
          among={Object.keys(PERIODS) as Period[]}
          text={(one) => PERIODS[one]}
          changed={(one) => setPeriod(one as Period)}
        />
        {openedAt === 0 ? null : (
          <FailedCount query={`webhook_id=${webhookId}&app_id=${app.id}&created_after=${since}`} />
        )}
      </div>
    </ConfirmDialog>
  );
}

interface Counted {
  readonly count: number;
  readonly isMore: boolean;
}

function FailedCount({ query }: { readonly query: string }) {
  const { value } = useData<Counted>(`/deliveries?${query}`, { load: countFailed });
  const { count = 0, isMore = false } = value ?? {};
  const text = isMore
    ? `More than ${numberText(count)} deliveries`
    : count === 1
      ? '1 delivery'
      : `${numberText(count)} deliveries`;
  return <output class="small">{value === undefined ? 'Counting…' : text}</output>;
}

async function countFailed(path: string, signal?: AbortSignal): Promise<Counted> {
  const pages = await Promise.all(
    FAILED.map((state) =>
      read<{ readonly deliveries: readonly AccountDelivery[]; readonly next_cursor?: string }>(
        `${path}&state=${state}&limit=100`,
        signal,
      ),
    ),
  );
  const found = pages.flatMap(({ deliveries }) => deliveries.filter(({ event }) => event !== 'generation.test'));
  return { count: found.length, isMore: pages.some(({ next_cursor: next }) => next !== undefined) };
}

async function replayAll(path: string, since: string): Promise<number> {
  let replayed = 0;
  let cursor: string | undefined;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const answer: { readonly replayed: number; readonly next_cursor?: string } = await change(`${path}/replay`, {
      created_after: since,
      ...(cursor === undefined ? {} : { cursor }),
    });
    replayed += answer.replayed;
    cursor = answer.next_cursor;
    if (cursor === undefined) break;
  }
  return replayed;
}
