import { useMemo } from 'preact/hooks';
import { Check, Images, WandSparkles } from 'lucide-preact';
import type { Usage, UsageRow } from '../api-types.js';
import { useApps } from '../apps/usable-apps.js';
import { dayText, numberText, spanText } from '../format.js';
import { useGenerationList } from '../generations/generation-list.js';
import { isOpen } from '../generations/generation-texts.js';
import { Gallery, GallerySkeleton } from '../media/gallery.js';
import { ModelCards } from '../models/models-page.js';
import { useModels } from '../models/use-models.js';
import { Icon } from '../parts/icon.js';
import {
  Attention,
  Card,
  Empty,
  Fault,
  type Figure,
  Figures,
  Page,
  type PageProps,
  PlaceLink,
} from '../parts/parts.js';
import { Legend, Plot } from '../parts/plot.js';
import type { AccountGeneration, Connection, Key, Overview } from '../server-types.js';
import { dayAgo, MEDIA, mediaByDay, readUsage, usagePath } from '../usage/usage-data.js';
import { useData } from '../use-data.js';

/** What an account needs to know first: its pictures, its credits, and what needs attention. */
export function OverviewPage({ overview }: PageProps) {
  const list = useGenerationList(ALL);
  const recent = useMemo(() => list.items?.toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a))), [list.items]);
  const apps = useApps();
  const app = apps.value?.apps[0]?.id;
  return (
    <Page
      title="Overview"
      actions={
        <PlaceLink page="playground" class="button primary">
          <Icon of={WandSparkles} size={14} />
          New generation
        </PlaceLink>
      }
    >
      <div class="overview">
        <Attentions overview={overview} />
        <Fault text={list.fault} />
        <section aria-labelledby="recent">
          <div class="day-head">
            <h2 id="recent">Recent</h2>
            <PlaceLink page="generations" class="small muted push">
              All generations
            </PlaceLink>
          </div>
          {recent === undefined ? <GallerySkeleton /> : <Recent generations={recent} />}
        </section>
        {app === undefined || overview.account.is_suspended ? null : (
          <Sums overview={overview} appId={app} generations={recent ?? []} />
        )}
        <ModelsCard />
      </div>
    </Page>
  );
}

const ALL = {};

/** One line for each thing that the person should act on. */
function Attentions({ overview: { account, person, session } }: { readonly overview: Overview }) {
  const hasNoWayBack = session.method === 'link' && !person.has_password && !person.has_passkey;
  return (
    <>
      {account.is_suspended ? (
        <Fault text="This account is suspended. Nothing can be created until the operator resumes it." />
      ) : null}
      {hasNoWayBack ? (
        <Attention
          action={
            <PlaceLink page="account" class="button small">
              Set a password or add a passkey
            </PlaceLink>
          }
        >
          Your sign-in link can’t be used again.
        </Attention>
      ) : null}
      {account.available_credits <= 0 && !account.is_suspended ? (
        <Attention>No credits are available. Ask the operator of this service for more.</Attention>
      ) : null}
      {account.is_suspended ? null : <FailingWebhooks />}
    </>
  );
}

interface ListedWebhook {
  readonly webhook_id: string;
  readonly url: string;
  readonly health: { readonly state: string; readonly reason: string };
}

/** Webhooks that do not receive their messages, at most three. */
function FailingWebhooks() {
  const { value } = useData<{ readonly webhooks: readonly ListedWebhook[] }>('/webhooks', { everyMs: 60_000 });
  const failing = (value?.webhooks ?? []).filter(({ health }) => health.state === 'failing');
  return (
    <>
      {failing.slice(0, MAX_FAILING).map(({ webhook_id: id, url, health }) => (
        <Attention
          key={id}
          action={
            <PlaceLink page="webhooks" id={id} class="button small">
              See the log
            </PlaceLink>
          }
        >
          The webhook to <strong>{hostOf(url)}</strong> is failing. {health.reason}
        </Attention>
      ))}
    </>
  );
}

const MAX_FAILING = 3;

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function Recent({ generations }: { readonly generations: readonly AccountGeneration[] }) {
  if (generations.length === 0)
    return (
      <div class="panel">
        <Empty icon={Images} title="No generations yet" text="Create the first one here or over the API.">
          <PlaceLink page="playground" class="button primary">
            Open the playground
          </PlaceLink>
          <PlaceLink page="keys" class="button">
            Copy a curl command
          </PlaceLink>
        </Empty>
      </div>
    );
  return <Gallery generations={generations} maxRows={2} isFirst label="Recent generations" />;
}

const DAYS = 14;
const WEEK = 7;

interface SumsProps {
  readonly overview: Overview;
  readonly appId: string;
  readonly generations: readonly AccountGeneration[];
}

/** The figures of the last seven UTC days, and the credits by day. */
function Sums({ overview, appId, generations }: SumsProps) {
  const range = { from: dayAgo(DAYS - 1), to: dayAgo(0) };
  const path = usagePath(appId, 'day_modality', range);
  const { value } = useData<Usage>(path, { load: readUsage, everyMs: 30_000 });
  const rows = value?.usage ?? [];
  const middle = dayAgo(WEEK - 1);
  const week = sumOf(rows.filter(({ day = '' }) => day >= middle));
  const before = sumOf(rows.filter(({ day = '' }) => day < middle));
  return (
    <>
      <Figures figures={figuresOf(overview, week, before, generations)} />
      <div class="columns wide-first">
        <Card id="by-day" title="Credits by day" actions={<UsageLink />}>
          <Plot
            label="Charged credits by day"
            series={MEDIA}
            unit={overview.account.currency}
            bars={mediaByDay(rows, range).map(({ day, charged }) => ({
              name: day.slice(8),
              title: `${dayText(day)}, UTC`,
              values: charged,
            }))}
          />
        </Card>
        <FirstSteps overview={overview} hasGenerations={generations.length > 0} generations={generations} />
      </div>
    </>
  );
}

function UsageLink() {
  return (
    <>
      <Legend series={MEDIA} />
      <PlaceLink page="usage" class="small muted">
        Usage
      </PlaceLink>
    </>
  );
}

interface Week {
  readonly charged: number;
  readonly count: number;
  readonly failed: number;
}

function sumOf(rows: readonly UsageRow[]): Week {
  const sum = (of: (row: UsageRow) => number): number => rows.reduce((all, row) => all + of(row), 0);
  return {
    charged: sum((row) => row.charged_credits),
    count: sum((row) => row.generations),
    failed: sum((row) => row.failed),
  };
}

function figuresOf(
  { account }: Overview,
  week: Week,
  before: Week,
  generations: readonly AccountGeneration[],
): readonly Figure[] {
  const { available_credits: available, reserved_credits: reserved, currency } = account;
  const times = generations.flatMap(({ status, created_at: from, completed_at: to }) =>
    status === 'succeeded' && to !== undefined ? [Date.parse(to) - Date.parse(from)] : [],
  );
  const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  return [
    { name: 'Available', value: numberText(available), unit: currency, note: daysLeftText(available, week.charged) },
    {
      name: 'Charged, last 7 days',
      value: numberText(week.charged),
      unit: changeText(week.charged, before.charged),
      note: reserved === 0 ? 'Nothing is reserved' : `${numberText(reserved)} reserved for running work`,
    },
    {
      name: 'Generations, last 7 days',
      value: numberText(week.count),
      unit: week.count === 0 ? undefined : `${percentText((week.count - week.failed) / week.count)} did not fail`,
      note: week.failed === 0 ? 'None failed' : `${numberText(week.failed)} failed, none charged`,
    },
    {
      name: 'Median time to result',
      value: median === undefined ? '–' : spanText(median),
      note: median === undefined ? 'No result yet' : `Of the last ${numberText(times.length)} that succeeded`,
    },
  ];
}

/** How long the credits last at the rate of the last seven days. */
function daysLeftText(available: number, charged: number): string {
  if (charged === 0) return 'Nothing was charged this week';
  const days = Math.floor((available / charged) * WEEK);
  return days > 365 ? 'More than a year at this week’s rate' : `About ${numberText(days)} days at this week’s rate`;
}

function changeText(now: number, before: number): string | undefined {
  return before === 0 ? undefined : changes.format((now - before) / before);
}

const changes = new Intl.NumberFormat(undefined, {
  style: 'percent',
  signDisplay: 'exceptZero',
  maximumFractionDigits: 0,
});
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

function percentText(part: number): string {
  return percents.format(part);
}

interface FirstStepsProps {
  readonly overview: Overview;
  readonly hasGenerations: boolean;
  readonly generations: readonly AccountGeneration[];
}

/** What a new account does first. It goes once all is done. */
function FirstSteps({ overview, hasGenerations, generations }: FirstStepsProps) {
  const keys = useData<{ readonly keys: readonly Key[] }>('/keys');
  const connections = useData<{ readonly connections: readonly Connection[] }>('/connections');
  const hasConnections = overview.has_oauth && overview.mcp_url !== null;
  const steps = [
    { text: 'Create a first picture', page: 'playground', isDone: hasGenerations },
    { text: 'Create an API key', page: 'keys', isDone: (keys.value?.keys.length ?? 0) > 0 },
    {
      text: 'Create one over the API',
      page: 'keys',
      isDone:
        generations.some(({ creator }) => creator.kind === 'key') ||
        (keys.value?.keys.some(({ last_used_on: used }) => used !== null) ?? false),
    },
    ...(hasConnections
      ? [
          {
            text: 'Connect an assistant',
            page: 'connections',
            isDone: (connections.value?.connections.length ?? 0) > 0,
          } as const,
        ]
      : []),
  ] as const;
  const done = steps.filter(({ isDone }) => isDone).length;
  if (keys.value === undefined || done === steps.length) return null;
  return (
    <Card id="first-steps" title="Get started" note={`${done} of ${steps.length}`} isFlush>
      <ul class="list steps">
        {steps.map(({ text, page, isDone }) => (
          <li key={text}>
            <span class={isDone ? 'step done' : 'step'}>{isDone ? <Icon of={Check} size={12} /> : null}</span>
            <PlaceLink page={page} class={isDone ? 'faint' : undefined}>
              {text}
              {isDone ? <span class="visually-hidden"> (done)</span> : null}
            </PlaceLink>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const MAX_MODELS = 4;

function ModelsCard() {
  const models = useModels();
  const shown = (models.value ?? []).filter(({ is_test: isTest }) => !isTest).slice(0, MAX_MODELS);
  if (shown.length === 0) return null;
  return (
    <section aria-labelledby="models">
      <div class="day-head">
        <h2 id="models">Models</h2>
        <PlaceLink page="models" class="small muted push">
          All models
        </PlaceLink>
      </div>
      <ModelCards models={shown} />
    </section>
  );
}
