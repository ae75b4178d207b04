import { useEffect, useState } from 'preact/hooks';
import { DELIVERY_STATES, type DeliveryState, WEBHOOK_EVENTS } from '../api-types.js';
import { numberText, preciseTimeText, spanText, textOf } from '../format.js';
import { isWider } from '../frame/preferences.js';
import { Picture, thumbnailsOf } from '../media/picture.js';
import { ask } from '../parts/ask.js';
import { ActionButton, Button, shortId } from '../parts/buttons.js';
import { SearchField, SelectFilter } from '../parts/fields.js';
import { SelectField } from '../parts/form.js';
import { Icon } from '../parts/icon.js';
import { Dialog } from '../parts/overlays.js';
import { Empty, Loaded, PlaceLink, SkeletonRows, Time } from '../parts/parts.js';
import { type Column, Table } from '../parts/table.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, place } from '../places.js';
import type { AccountDelivery, AccountGeneration, AccountWebhook, App } from '../server-types.js';
import { change, read } from '../server.js';
import { useData } from '../use-data.js';
import { type FollowOptions, useFollowed } from '../use-followed.js';
import { DeliveryView } from './delivery-view.js';
import { pathOf, sendTest } from './webhook-acts.js';
import { type Deliveries, HttpStatus, isWaiting, PER_REQUEST, STATES } from './webhook-parts.js';

const PAGE = 50;
/** A try takes up to 15 seconds; one that is much overdue waits for its turn. */
const SENDING_MS = 20_000;
const POLL_MS = { sending: 1_000, resting: 4_000 };
const FOLLOWING: FollowOptions<AccountDelivery> = {
  name: 'deliveries',
  idOf: ({ delivery_id: id }) => id,
  delayOf: (items) => {
    const isDue = ({ next_attempt_at: next = '' }: AccountDelivery): boolean =>
      Math.abs(Date.parse(next) - Date.now()) < SENDING_MS;
    return items.some(isDue) ? POLL_MS.sending : POLL_MS.resting;
  },
};
/** Whether there is room for a delivery beside the log. */
const isWide = isWider(1_181);

/**
 * The deliveries of the last 30 days, and the selected one beside them. The address holds the filters and the selection. Without a
 * webhook they are those to the URLs of single generations.
 */
export function DeliveryLog({ app, webhook }: { app: App; webhook?: AccountWebhook }) {
  const webhookId = webhook?.webhook_id ?? PER_REQUEST;
  const { state, event, generation, delivery: named } = place.value.query;
  const query = new URLSearchParams({ webhook_id: webhookId, app_id: app.id, limit: String(PAGE) });
  for (const [name, value] of Object.entries({ state, event, generation_id: generation }))
    if (value !== undefined) query.set(name, value);
  const list = useFollowed<AccountDelivery>(`/deliveries?${query.toString()}`, FOLLOWING);
  const generationOf = useGenerations(app.id);
  const { items, fault, reload } = list;
  // The newest one of the beginning stays, whatever comes after it.
  const [first, setFirst] = useState<string>();
  const isFirstListed = items?.some(({ delivery_id: id }) => id === first);
  useEffect(() => {
    if (isFirstListed === false) setFirst(items?.[0]?.delivery_id);
  }, [items, isFirstListed]);
  const selected = named ?? (isWide.value ? first : undefined);
  const known = items?.find((one) => one.delivery_id === selected);
  // A message that was just sent is looked for at once.
  useEffect(() => {
    if (named !== undefined && known === undefined) void reload();
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [named]);
  const close = (): void => changeQuery({ delivery: undefined });
  const view =
    selected === undefined ? null : (
      <DeliveryView
        key={selected}
        id={selected}
        known={known}
        generation={generationOf(known)}
        changed={reload}
        close={isWide.value ? undefined : close}
      />
    );
  return (
    <div class="split">
      <section class="log" aria-labelledby="deliveries">
        <div class="log-head">
          <h2 id="deliveries" tabIndex={-1}>
            Deliveries
          </h2>
          <Filters />
          <Button onClick={() => resend(webhookId, app, reload)}>Resend failed…</Button>
        </div>
        <Loaded data={{ value: items, fault, reload }} what="deliveries" skeleton={<SkeletonRows />}>
          {(shown) => (
            <Table
              labelledBy="deliveries"
              fits="log-table"
              items={shown}
              idOf={FOLLOWING.idOf}
              isCurrent={(one) => one.delivery_id === selected}
              columns={columns(generationOf)}
              more={{ what: 'deliveries', pages: list }}
              empty={<Nothing hasMore={list.more !== undefined} webhook={webhook} />}
            />
          )}
        </Loaded>
        {items === undefined || items.length === 0 ? null : (
          <p class="small faint log-note">
            {list.more === undefined ? `${countText(items.length)}. ` : ''}Deliveries are kept for 30 days.
          </p>
        )}
      </section>
      {isWide.value ? (
        view && <aside aria-label="Delivery">{view}</aside>
      ) : (
        <Dialog isOpen={named !== undefined} close={close} class="drawer" label="Delivery">
          {view}
        </Dialog>
      )}
    </div>
  );
}

const GENERATIONS_MS = 15_000;

type GenerationOf = (delivery: AccountDelivery | undefined) => AccountGeneration | undefined;

/** Finds a delivery's generation among the newest of its App, whose pictures and prompts the log shows. */
function useGenerations(appId: string): GenerationOf {
  const path = `/generations?app_id=${appId}&limit=50`;
  const { value } = useData<{ readonly generations: readonly AccountGeneration[] }>(path, { everyMs: GENERATIONS_MS });
  return (delivery) => value?.generations.find(({ generation_id: id }) => id === delivery?.generation_id);
}

function Filters() {
  const { state, event, generation = '' } = place.value.query;
  const filter = (name: string) => (value: string) => changeQuery({ [name]: value, delivery: undefined });
  return (
    <search class="filters grow" aria-label="Filters">
      <SelectFilter
        label="State"
        value={state}
        among={DELIVERY_STATES}
        text={(one) => STATES[one][0]}
        changed={filter('state')}
      />
      <SelectFilter
        label="Event"
        value={event}
        among={[...WEBHOOK_EVENTS, 'generation.test']}
        text={(one) => one}
        changed={filter('event')}
      />
      <SearchField
        label="Generation id"
        placeholder="Generation id"
        value={generation}
        changed={filter('generation')}
      />
    </search>
  );
}

function columns(generationOf: GenerationOf): readonly Column<AccountDelivery>[] {
  return [
    [
      'Status',
      ({ delivery_id: delivery, state, event, attempts, occurred_at: at }) => (
        <PlaceLink
          page="webhooks"
          id={place.value.id}
          query={{ ...place.value.query, delivery }}
          class="row-link"
          keepsScroll
          replaces
        >
          <HttpStatus attempt={attempts.at(-1)} />
          <span class={state === 'delivered' ? 'visually-hidden' : isWaiting(state) ? 'state active' : 'state'}>
            {STATES[state][0]}
          </span>
          <span class="visually-hidden">{`, ${event}, ${preciseTimeText(at)}`}</span>
        </PlaceLink>
      ),
    ],
    ['Event', ({ event }) => <code>{event}</code>, 'wide'],
    ['Generation', (delivery) => generationName(delivery, generationOf(delivery)), 'what'],
    ['Tries', ({ attempts_made: tries }) => numberText(tries), 'number wide'],
    ['Time', ({ attempts }) => attempts.slice(-1).map(({ duration_ms: ms }) => spanText(ms))[0] ?? '–', 'number wide'],
    ['When', ({ occurred_at: at }) => <Time at={at} />, 'number faint'],
  ];
}

/** A small picture and its prompt, or its id where the page does not know more. */
function generationName({ event, generation_id: id }: AccountDelivery, generation: AccountGeneration | undefined) {
  const output = generation?.outputs[0];
  const isTest = event === 'generation.test';
  const prompt = isTest ? 'Test event' : generation?.prompt;
  return (
    <span class="row">
      <span class="line-picture none">
        {output === undefined || generation === undefined ? (
          <Icon of={isTest ? 'send' : 'circle-slash'} size={14} />
        ) : (
          <Picture output={output} thumbnails={thumbnailsOf(generation, output)} alt="" shownWidth={48} />
        )}
      </span>
      <span class={prompt ? 'cut' : 'cut mono'}>{prompt || shortId(id)}</span>
    </span>
  );
}

const RETENTION_MS = 30 * 86_400_000;

/** Never any, hidden by filters, or no longer stored. */
function Nothing({ hasMore, webhook }: { hasMore: boolean; webhook: AccountWebhook | undefined }) {
  const [openedAt] = useState(() => Date.now());
  const { state, event, generation } = place.value.query;
  const isFiltered = (state ?? event ?? generation) !== undefined;
  const isOld = webhook !== undefined && openedAt - Date.parse(webhook.created_at) > RETENTION_MS;
  const [title, text] = isFiltered
    ? hasMore
      ? ['No match so far', 'Older deliveries have not been searched yet.']
      : ['No delivery matches these filters', 'Other deliveries are hidden by the filters.']
    : isOld
      ? ['No deliveries in the last 30 days', 'Older ones are no longer stored.']
      : ['No deliveries yet', 'Each message appears here with its tries, as soon as it is sent.'];
  return (
    <Empty icon={isFiltered ? 'search-x' : 'send'} title={title} text={text}>
      {isFiltered ? (
        <Button onClick={() => changeQuery({ state: undefined, event: undefined, generation: undefined })}>
          Clear filters
        </Button>
      ) : webhook === undefined ? null : (
        <ActionButton action={() => sendTest(webhook)} isSmall={false}>
          Send test event
        </ActionButton>
      )}
    </Empty>
  );
}

/** In hours. */
const PERIODS = [
  ['1', 'The last hour'],
  ['24', 'The last 24 hours'],
  ['168', 'The last 7 days'],
  ['720', 'The last 30 days'],
] as const;
const USUAL_PERIOD = '24';
const HOUR_MS = 3_600_000;
const FAILED = ['exhausted', 'retrying', 'disabled'] as const satisfies readonly DeliveryState[];
/** A range is replayed in batches of a hundred, with at most this many batches per action. */
const MAX_STEPS = 50;

/** Resends what was not delivered in a period. */
function resend(webhookId: string, app: App, reload: () => Promise<void>): void {
  const openedAt = Date.now();
  const sinceOf = (period: string): string => new Date(openedAt - Number(period) * HOUR_MS).toISOString();
  ask({
    title: 'Resend failed deliveries?',
    text: 'Deliveries that gave up, that wait for another try, or that were not sent while the webhook was disabled are sent at once. Their messages keep their ids, so that a receiver recognises what it has.',
    isHarmless: true,
    fields: <PeriodField query={`webhook_id=${webhookId}&app_id=${app.id}`} sinceOf={sinceOf} />,
    doIt: 'Resend',
    busyText: 'Resending…',
    act: (form) => replayAll(pathOf(app.id, webhookId), sinceOf(textOf(form, 'period'))),
    done: async (count) => {
      announce(`Resending ${countText(count)}.`);
      await reload();
    },
  });
}

function countText(count: number): string {
  return count === 1 ? '1 delivery' : `${numberText(count)} deliveries`;
}

function PeriodField({ query, sinceOf }: { query: string; sinceOf: (period: string) => string }) {
  const [period, setPeriod] = useState<string>(USUAL_PERIOD);
  const { value } = useData(`/deliveries?${query}&created_after=${sinceOf(period)}`, { load: countFailed });
  return (
    <SelectField
      label="Period"
      name="period"
      options={PERIODS}
      chosen={period}
      changed={setPeriod}
      hint={<output>{value ?? 'Counting…'}</output>}
    />
  );
}

async function countFailed(path: string, leaving?: AbortSignal): Promise<string> {
  const of = (state: string) => read<Deliveries>(`${path}&state=${state}&limit=100`, leaving);
  const pages = await Promise.all(FAILED.map(of));
  const found = pages.flatMap(({ deliveries }) => deliveries.filter(({ event }) => event !== 'generation.test'));
  const isMore = pages.some(({ next_cursor: next }) => next !== undefined);
  return `${isMore ? 'More than ' : ''}${countText(found.length)}`;
}

async function replayAll(path: string, since: string): Promise<number> {
  let replayed = 0;
  let cursor: string | undefined;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const wanted = { created_after: since, ...(cursor === undefined ? {} : { cursor }) };
    const done = await change<{ readonly replayed: number; readonly next_cursor?: string }>(`${path}/replay`, wanted);
    replayed += done.replayed;
    cursor = done.next_cursor;
    if (cursor === undefined) break;
  }
  return replayed;
}
