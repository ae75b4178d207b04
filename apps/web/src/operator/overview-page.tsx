import { useState } from 'preact/hooks';
import { numberText, spanText } from '../format.js';
import { Segments } from '../parts/fields.js';
import { Badge, Card, type Figure, Figures, Loaded, Meter, Page, PlaceLink } from '../parts/parts.js';
import { type Bar, Legend, Plot, type Series } from '../parts/plot.js';
import { useData } from '../use-data.js';
import { linkTo } from './places.js';
import { ProviderTable, type ProvidersAnswer } from './provider-list.js';

interface Times {
  readonly count: number;
  readonly median_ms?: number;
  readonly p95_ms?: number;
}

interface Outcomes {
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  readonly accept: Times;
  readonly result: Times;
}

interface OverviewAnswer {
  readonly now: string;
  readonly total: Outcomes;
  readonly half_hours: readonly { readonly starts_at: string; readonly outcomes: Outcomes }[];
  readonly queue: readonly {
    readonly model_key: string;
    readonly queued: number;
    readonly requeued: number;
    readonly running: number;
    readonly oldest_wait_ms?: number;
  }[];
  readonly longest_waiting: readonly {
    readonly generation_id: string;
    readonly account_id: string;
    readonly account_name?: string;
    readonly status: 'queued' | 'running';
    readonly model_key: string;
    readonly wait_ms: number;
    readonly reserved_credits: number;
    readonly attempts: number;
  }[];
  readonly accounts_near_zero: readonly {
    readonly account_id: string;
    readonly name: string;
    readonly available_credits: number;
    readonly reserved_credits: number;
    readonly week_charged_credits: number;
  }[];
  readonly accounts_incomplete: boolean;
}

const HOUR_MS = 3_600_000;
const SPANS = { '6': '6 h', '24': '24 h', '168': '7 days' } as const;
type Span = keyof typeof SPANS;
const POLL_MS = 10_000;

/** What the service as a whole does, and where an operator should look. */
export function OverviewPage() {
  const [span, setSpan] = useState<Span>('24');
  const [openedAt] = useState(() => Date.now());
  const from = new Date(openedAt - Number(span) * HOUR_MS).toISOString();
  const data = useData<OverviewAnswer>(`/operator/overview?from=${from}`, { everyMs: POLL_MS });
  const providers = useData<ProvidersAnswer>('/operator/providers', { everyMs: POLL_MS });
  return (
    <Page
      title="Operator"
      width="wide"
      actions={
        <Segments
          label="Time"
          value={span}
          changed={setSpan}
          options={(Object.keys(SPANS) as Span[]).map((value) => ({ value, text: SPANS[value] }))}
        />
      }
    >
      <Loaded data={data} what="the overview" skeleton={<div class="skeleton plot-skeleton" />}>
        {(answer) => (
          <div class="stack">
            <Figures figures={figuresOf(answer, span)} />
            <div class="columns wide-first">
              <OutcomesCard answer={answer} span={span} />
              <FailuresCard answer={answer} />
            </div>
            <ProvidersCard data={providers} />
            <div class="columns">
              <QueueCard answer={answer} />
              <AccountsCard answer={answer} />
            </div>
            <WaitingCard answer={answer} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function figuresOf({ queue, total, half_hours: halves }: OverviewAnswer, span: Span): readonly Figure[] {
  const waiting = queue.reduce((sum, one) => sum + one.queued + one.requeued, 0);
  const running = queue.reduce((sum, one) => sum + one.running, 0);
  const oldest = Math.max(0, ...queue.map(({ oldest_wait_ms: wait = 0 }) => wait));
  const hour = halves.slice(-2).map(({ outcomes }) => outcomes);
  const endedInHour = hour.reduce((sum, one) => sum + one.succeeded + one.failed + one.cancelled, 0);
  const failedInHour = hour.reduce((sum, one) => sum + one.failed, 0);
  const ended = total.succeeded + total.failed + total.cancelled;
  return [
    {
      name: 'Queue',
      value: numberText(waiting),
      unit: oldest > 0 ? `oldest ${spanText(oldest)}` : undefined,
      note: waiting === 0 ? 'Nothing waits' : 'Waiting for a worker or a provider',
    },
    { name: 'Running', value: numberText(running), note: running === 0 ? 'No work in progress' : 'At providers now' },
    {
      name: `Ended, ${SPANS[span]}`,
      value: numberText(ended),
      note: `${numberText(total.succeeded)} succeeded, ${numberText(total.cancelled)} cancelled`,
    },
    {
      name: 'Failed, last hour',
      value: endedInHour === 0 ? '–' : percents.format(failedInHour / endedInHour),
      unit: endedInHour === 0 ? undefined : `${numberText(failedInHour)} of ${numberText(endedInHour)}`,
      note: `${numberText(total.failed)} in ${SPANS[span]}`,
    },
    {
      name: 'Time to result',
      value: timeText(total.result.median_ms),
      unit: total.result.p95_ms === undefined ? undefined : `95th ${spanText(total.result.p95_ms)}`,
      note: `Median time to accept: ${timeText(total.accept.median_ms)}`,
    },
  ];
}

const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

function timeText(ms: number | undefined): string {
  return ms === undefined ? '–' : spanText(ms);
}

const SERIES: readonly Series[] = [
  { name: 'Succeeded', look: 'series-2' },
  { name: 'Cancelled', look: 'series-none' },
  { name: 'Failed', look: 'series-fail' },
];

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

function OutcomesCard({ answer, span }: { readonly answer: OverviewAnswer; readonly span: Span }) {
  const bars = answer.half_hours.map(({ starts_at: at, outcomes }): Bar => {
    const time = new Date(at);
    return {
      name: span === '168' ? day.format(time) : clock.format(time),
      title: `${day.format(time)}, ${clock.format(time)}`,
      values: [outcomes.succeeded, outcomes.cancelled, outcomes.failed],
    };
  });
  return (
    <Card id="outcomes" title="Generations per half hour" actions={<Legend series={SERIES} />}>
      <Plot label="Generations per half hour by outcome" series={SERIES} bars={bars} unit="ended" />
    </Card>
  );
}

function FailuresCard({ answer: { total } }: { readonly answer: OverviewAnswer }) {
  return (
    <Card id="failures" title="Failures by code" note={`${numberText(total.failed)} in all`} isFlush>
      {total.failures.length === 0 ? (
        <p class="body small muted">No generation failed.</p>
      ) : (
        <ul class="list small">
          {total.failures.map(({ code, count }) => (
            <li key={code}>
              <code class="grow cut">{code}</code>
              <span class="num">{numberText(count)}</span>
              <span class="failure-part">
                <Meter value={count * 0.89} max={total.failed} label={`${count} of ${total.failed} failures`} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function ProvidersCard({ data }: { readonly data: ReturnType<typeof useData<ProvidersAnswer>> }) {
  return (
    <Card
      id="providers"
      title="Providers"
      isFlush
      actions={
        <PlaceLink page="operator-providers" class="small muted">
          Details
        </PlaceLink>
      }
    >
      <Loaded data={data} what="providers">
        {(answer) => <ProviderTable answer={answer} />}
      </Loaded>
    </Card>
  );
}

function QueueCard({ answer: { queue } }: { readonly answer: OverviewAnswer }) {
  return (
    <Card id="queue" title="Queue by model" isFlush>
      {queue.length === 0 ? (
        <p class="body small muted">No generation is open.</p>
      ) : (
        // What scrolls must be reachable without a pointer.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section class="scroll-x" tabIndex={0} aria-label="Open generations by model">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Model</th>
                {['Queued', 'Retrying', 'Running', 'Oldest wait'].map((title) => (
                  <th key={title} scope="col" class="number">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {queue.map((one) => (
                <tr key={one.model_key}>
                  <th scope="row">{one.model_key}</th>
                  <td class="number">{numberText(one.queued)}</td>
                  <td class="number">{numberText(one.requeued)}</td>
                  <td class="number">{numberText(one.running)}</td>
                  <td class="number">{timeText(one.oldest_wait_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Card>
  );
}

function AccountsCard({ answer: { accounts_near_zero: accounts } }: { readonly answer: OverviewAnswer }) {
  return (
    <Card id="near-zero" title="Accounts near zero" isFlush>
      {accounts.length === 0 ? (
        <p class="body small muted">Every account has credits for at least a week at its rate.</p>
      ) : (
        <ul class="list small">
          {accounts.map((one) => (
            <li key={one.account_id}>
              <span class="grow">
                <strong>{one.name}</strong>
                <br />
                <span class="tiny faint">
                  {`${numberText(one.available_credits)} available, ${numberText(one.week_charged_credits)} charged in 7 days`}
                </span>
              </span>
              <PlaceLink page="operator-accounts" id={one.account_id} class="button small" label={`Open ${one.name}`}>
                Open
              </PlaceLink>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function WaitingCard({ answer: { longest_waiting: waiting } }: { readonly answer: OverviewAnswer }) {
  if (waiting.length === 0) return null;
  return (
    <Card
      id="waiting"
      title="Waiting longest"
      isFlush
      actions={
        <PlaceLink page="operator-queue" class="small muted">
          Queue
        </PlaceLink>
      }
    >
      {/* What scrolls must be reachable without a pointer. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section class="scroll-x" tabIndex={0} aria-label="Generations that have waited longest">
        <table class="table">
          <thead>
            <tr>
              {['Since', 'Status', 'Model', 'Account'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
              <th scope="col" class="number">
                Reserved
              </th>
            </tr>
          </thead>
          <tbody>
            {waiting.map((one) => (
              <tr key={one.generation_id}>
                <th scope="row" class="num">
                  {spanText(one.wait_ms)}
                </th>
                <td>
                  <Badge look={one.status === 'running' ? 'active' : undefined}>
                    {one.status === 'running' ? 'Running' : one.attempts > 0 ? 'Retrying' : 'Queued'}
                  </Badge>
                </td>
                <td>{linkTo('operator-queue', one.model_key, one.generation_id)}</td>
                <td>{linkTo('operator-accounts', one.account_name ?? one.account_id, one.account_id)}</td>
                <td class="number">{numberText(one.reserved_credits)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  );
}
