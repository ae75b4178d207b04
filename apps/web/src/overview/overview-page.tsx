import { useMemo } from 'preact/hooks';
import type { Usage, UsageRow } from '../api-types.js';
import { useApps } from '../use-apps.js';
import { dayText, numberText, percentText, spanText } from '../format.js';
import { useGenerationList } from '../generations/generation-list.js';
import { isOpen } from '../generations/generation-texts.js';
import { Gallery, GallerySkeleton, NoGenerations } from '../media/gallery.js';
import { ModelCards } from '../models/models-page.js';
import { useModels } from '../models/use-models.js';
import { Icon } from '../parts/icon.js';
import { Attention, Card, creditsText, Fault, Figures, Page, type PageProps, PlaceLink } from '../parts/parts.js';
import { Legend, Plot } from '../parts/plot.js';
import type { PageName } from '../places.js';
import type { AccountGeneration, AllWebhooks, Connection, Key } from '../server-types.js';
import { hasNoWayBack, unitOf } from '../session.js';
import { dayAgo, MEDIA, mediaByDay, readUsage, usagePath } from '../usage/usage-data.js';
import { useData } from '../use-data.js';

const ALL = {};
const MAX_MODELS = 4;

/** What an account needs to know first: its pictures, its credits, and what needs attention. */
export function OverviewPage({ overview }: PageProps) {
  const { items, fault } = useGenerationList(ALL);
  const recent = useMemo(() => items?.toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a))), [items]);
  const app = useApps().value?.apps[0]?.id;
  const models = useModels().value?.filter(({ is_test: isTest }) => !isTest) ?? [];
  return (
    <Page
      title="Overview"
      actions={
        <PlaceLink page="playground" class="button primary">
          <Icon of="wand-sparkles" size={14} />
          New generation
        </PlaceLink>
      }
    >
      <div class="overview">
        <Attentions overview={overview} />
        <Fault text={fault} />
        <section aria-labelledby="recent">
          <Head id="recent" title="Recent" page="generations" all="All generations" />
          <Recent generations={recent} />
        </section>
        {app === undefined || overview.account.is_suspended ? null : (
          <Sums overview={overview} appId={app} generations={recent ?? []} />
        )}
        {models.length === 0 ? null : (
          <section aria-labelledby="models">
            <Head id="models" title="Models" page="models" all="All models" />
            <ModelCards models={models.slice(0, MAX_MODELS)} />
          </section>
        )}
      </div>
    </Page>
  );
}

function Head({ id, title, page, all }: { id: string; title: string; page: PageName; all: string }) {
  return (
    <div class="day-head">
      <h2 id={id}>{title}</h2>
      <PlaceLink page={page} class="small muted push">
        {all}
      </PlaceLink>
    </div>
  );
}

const MAX_FAILING = 3;

/** One line for each thing that the person should act on. */
function Attentions({ overview: { account, session } }: PageProps) {
  const webhooks = useData<AllWebhooks>('/webhooks', { everyMs: 60_000 });
  const failing = webhooks.value?.webhooks.filter(({ health }) => health.state === 'failing') ?? [];
  return (
    <>
      {account.is_suspended ? (
        <Fault text="This account is suspended. Nothing can be created until the operator resumes it." />
      ) : null}
      {hasNoWayBack.value ? (
        <Attention
          action={
            session.is_recent ? (
              <PlaceLink page="account" class="button small">
                Set a password or add a passkey
              </PlaceLink>
            ) : null
          }
        >
          {session.is_recent
            ? 'Your sign-in link can’t be used again. Choose another way to sign in within 15 minutes of the sign-in.'
            : 'You can’t sign in again by yourself: your link is used, and the 15 minutes to set a password or add a passkey are over. Ask the operator for another link.'}
        </Attention>
      ) : null}
      {account.available_credits <= 0 && !account.is_suspended ? (
        <Attention>No credits are available. Ask the operator of this service for more.</Attention>
      ) : null}
      {failing.slice(0, MAX_FAILING).map(({ webhook_id: id, url, health }) => (
        <Attention
          key={id}
          action={
            <PlaceLink page="webhooks" id={id} class="button small">
              See the log
            </PlaceLink>
          }
        >
          The webhook to <strong>{URL.canParse(url) ? new URL(url).host : url}</strong> is failing. {health.reason}
        </Attention>
      ))}
    </>
  );
}

function Recent({ generations }: { generations: readonly AccountGeneration[] | undefined }) {
  if (generations === undefined) return <GallerySkeleton />;
  if (generations.length === 0) return <NoGenerations text="Create the first one here or over the API." />;
  return <Gallery generations={generations} maxRows={2} isFirst label="Recent generations" />;
}

const DAYS = 14;
const WEEK = 7;

interface SumsProps extends PageProps {
  appId: string;
  generations: readonly AccountGeneration[];
}

/** The figures of the last seven UTC days, and the credits by day. */
function Sums({ overview, appId, generations }: SumsProps) {
  const range = { from: dayAgo(DAYS - 1), to: dayAgo(0) };
  const path = usagePath(appId, 'day_modality', range);
  const rows = useData<Usage>(path, { load: readUsage, everyMs: 30_000 }).value?.usage ?? [];
  return (
    <>
      <WeekFigures overview={overview} rows={rows} generations={generations} />
      <div class="columns wide-first">
        <Card
          id="by-day"
          title="Credits by day"
          actions={
            <>
              <Legend series={MEDIA} />
              <PlaceLink page="usage" class="small muted">
                Usage
              </PlaceLink>
            </>
          }
        >
          <Plot
            label="Charged credits by day"
            series={MEDIA}
            text={creditsText}
            bars={mediaByDay(rows, range, 'charged_credits').map(({ day, values }) => ({
              name: day.slice(8),
              title: `${dayText(day)}, UTC`,
              values,
            }))}
          />
        </Card>
        <FirstSteps overview={overview} generations={generations} />
      </div>
    </>
  );
}

const changes = new Intl.NumberFormat(undefined, { style: 'percent', signDisplay: 'exceptZero' });

interface WeekProps extends PageProps {
  rows: readonly UsageRow[];
  generations: readonly AccountGeneration[];
}

function WeekFigures({ overview: { account }, rows, generations }: WeekProps) {
  const { available_credits: available, reserved_credits: reserved } = account;
  const middle = dayAgo(WEEK - 1);
  const sum = (of: 'charged_credits' | 'generations' | 'failed', isThisWeek = true): number =>
    rows.reduce((all, row) => all + ((row.day ?? '') >= middle === isThisWeek ? row[of] : 0), 0);
  const [charged, before] = [sum('charged_credits'), sum('charged_credits', false)];
  const [count, failed] = [sum('generations'), sum('failed')];
  const ended = count - generations.filter(isOpen).length;
  const times = generations
    .flatMap(({ status, created_at: from, completed_at: to }) =>
      status === 'succeeded' && to !== undefined ? Date.parse(to) - Date.parse(from) : [],
    )
    .toSorted((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  return (
    <Figures
      figures={[
        {
          name: 'Available',
          value: numberText(available),
          unit: unitOf(available),
          note: daysLeftText(available, charged),
        },
        {
          name: 'Charged, last 7 days',
          value: numberText(charged),
          unit: before === 0 ? undefined : changes.format((charged - before) / before),
          note: reserved === 0 ? 'Nothing is reserved' : `${numberText(reserved)} reserved for running work`,
        },
        {
          name: 'Generations, last 7 days',
          value: numberText(count),
          unit: ended > 0 && failed > 0 ? `${percentText(failed / ended)} failed` : undefined,
          note: failed === 0 ? 'None failed' : `${numberText(failed)} of ${numberText(ended)} that ended, none charged`,
        },
        {
          name: 'Median time to result',
          value: median === undefined ? '–' : spanText(median),
          note: median === undefined ? 'No result yet' : `Of the last ${numberText(times.length)} that succeeded`,
        },
      ]}
    />
  );
}

/** How long the credits last at the rate of the last seven days. */
function daysLeftText(available: number, charged: number): string {
  if (charged === 0) return 'Nothing was charged in the last 7 days';
  const days = Math.floor((available / charged) * WEEK);
  return days > 365
    ? 'More than a year at the rate of the last 7 days'
    : `About ${numberText(days)} days at the rate of the last 7 days`;
}

/** What a new account does first. It goes once all is done. */
function FirstSteps({ overview, generations }: Omit<SumsProps, 'appId'>) {
  const keys = useData<{ readonly keys: readonly Key[] }>('/keys').value?.keys;
  const connections = useData<{ readonly connections: readonly Connection[] }>('/connections').value?.connections ?? [];
  if (keys === undefined) return null;
  const hasUsedKey =
    generations.some(({ creator }) => creator.kind === 'key') || keys.some((key) => key.last_used_on !== null);
  const steps: (readonly [text: string, page: PageName, isDone: boolean])[] = [
    ['Create a first picture', 'playground', generations.length > 0],
    ['Create an API key', 'keys', keys.length > 0],
    ['Create one over the API', 'keys', hasUsedKey],
  ];
  if (overview.has_oauth && overview.mcp_url !== null)
    steps.push(['Connect an assistant', 'connections', connections.length > 0]);
  const done = steps.filter(([, , isDone]) => isDone).length;
  if (done === steps.length) return null;
  return (
    <Card id="first-steps" title="Get started" note={`${done} of ${steps.length}`} isFlush>
      <ul class="list steps">
        {steps.map(([text, page, isDone]) => (
          <li key={text}>
            <span class={isDone ? 'step done' : 'step'}>{isDone ? <Icon of="check" size={12} /> : null}</span>
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
