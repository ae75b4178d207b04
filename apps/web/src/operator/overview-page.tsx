import { useState } from 'preact/hooks';
import { hourText, numberText, percentText, spanText } from '../format.js';
import { STATUS_LOOKS, STATUS_TEXTS } from '../generations/generation-texts.js';
import { Segments } from '../parts/fields.js';
import { Badge, Card, type Figure, Figures, Loaded, Meter, Page } from '../parts/parts.js';
import { type Bar, Legend, Plot, type Series } from '../parts/plot.js';
import { type Column, TableCard } from '../parts/table.js';
import { useData } from '../use-data.js';
import { linkTo, type Numbers } from './area-page.js';
import { PROVIDER_COLUMNS, type ProvidersAnswer } from './providers.js';

interface Outcomes extends Numbers<'succeeded' | 'failed' | 'cancelled'> {
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  readonly accept: Partial<Numbers<'median_ms'>>;
  readonly result: Partial<Numbers<'median_ms' | 'p95_ms'>>;
}

interface OpenOfModel extends Numbers<'queued' | 'requeued' | 'running'> {
  readonly model_key: string;
  readonly oldest_wait_ms?: number;
}

interface AccountNearZero extends Numbers<'available_credits' | 'week_charged_credits'> {
  readonly account_id: string;
  readonly name: string;
}

interface Waiting extends Numbers<'wait_ms' | 'reserved_credits' | 'attempts'> {
  readonly generation_id: string;
  readonly account_id: string;
  readonly account_name?: string;
  readonly status: 'queued' | 'running';
  readonly model_key: string;
}

interface OverviewAnswer {
  readonly total: Outcomes;
  readonly half_hours: readonly { readonly starts_at: string; readonly outcomes: Outcomes }[];
  readonly queue: readonly OpenOfModel[];
  readonly longest_waiting: readonly Waiting[];
  readonly accounts_near_zero: readonly AccountNearZero[];
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
              <Card id="outcomes" title="Generations per half hour" actions={<Legend series={SERIES} />}>
                <Plot
                  label="Generations per half hour by outcome"
                  series={SERIES}
                  bars={barsOf(answer, span)}
                  text={(total) => `${numberText(total)} ended`}
                />
              </Card>
              <FailuresCard total={answer.total} />
            </div>
            <TableCard
              id="providers"
              title="Providers"
              actions={linkTo('operator-providers', 'Details', undefined, 'small muted')}
              data={providers}
              what="providers"
              scrolls="Table of providers"
              items={providers.value?.providers}
              idOf={({ name }) => name}
              columns={PROVIDER_COLUMNS}
              empty={<p class="body small muted">No provider is configured.</p>}
            />
            <div class="columns">
              <TableCard
                id="queue"
                title="Queue by model"
                scrolls="Open generations by model"
                items={answer.queue}
                idOf={(one) => one.model_key}
                columns={QUEUE_COLUMNS}
                empty={<p class="body small muted">No generation is open.</p>}
              />
              <TableCard
                id="near-zero"
                title="Accounts near zero"
                scrolls="Accounts whose credits end within a week"
                items={answer.accounts_near_zero}
                idOf={(one) => one.account_id}
                columns={ACCOUNT_COLUMNS}
                empty={<p class="body small muted">Every account has credits for at least a week at its rate.</p>}
              />
            </div>
            {answer.longest_waiting.length === 0 ? null : <WaitingCard waiting={answer.longest_waiting} />}
          </div>
        )}
      </Loaded>
    </Page>
  );
}

const endedOf = ({ succeeded, failed, cancelled }: Outcomes): number => succeeded + failed + cancelled;

function figuresOf({ queue, total, half_hours: halves }: OverviewAnswer, span: Span): readonly Figure[] {
  const sum = <T,>(items: readonly T[], of: (item: T) => number): number =>
    items.reduce((before, item) => before + of(item), 0);
  const waiting = sum(queue, (one) => one.queued + one.requeued);
  const running = sum(queue, (one) => one.running);
  const oldest = Math.max(0, ...queue.map(({ oldest_wait_ms: wait = 0 }) => wait));
  const hour = halves.slice(-2).map(({ outcomes }) => outcomes);
  const endedInHour = sum(hour, endedOf);
  const failedInHour = sum(hour, ({ failed }) => failed);
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
      value: numberText(endedOf(total)),
      note: `${numberText(total.succeeded)} succeeded, ${numberText(total.cancelled)} cancelled`,
    },
    {
      name: 'Failed, last hour',
      value: endedInHour === 0 ? '–' : percentText(failedInHour / endedInHour),
      unit: endedInHour === 0 ? undefined : `${numberText(failedInHour)} of ${numberText(endedInHour)}`,
      note: `${numberText(total.failed)} in ${SPANS[span]}`,
    },
    {
      name: 'Time to result',
      value: timeText(total.result.median_ms),
      unit: total.result.p95_ms === undefined ? undefined : `95% within ${spanText(total.result.p95_ms)}`,
      note: `Median time to accept: ${timeText(total.accept.median_ms)}`,
    },
  ];
}

function timeText(ms: number | undefined): string {
  return ms === undefined ? '–' : spanText(ms);
}

const SERIES: readonly Series[] = [
  { name: 'Succeeded', look: 'series-2' },
  { name: 'Cancelled', look: 'series-none' },
  { name: 'Failed', look: 'series-fail' },
];

const dayClock = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

function barsOf({ half_hours: halves }: OverviewAnswer, span: Span): readonly Bar[] {
  return halves.map(({ starts_at: at, outcomes }) => {
    const time = new Date(at);
    return {
      name: span === '6' ? hourText(at) : (span === '24' ? dayClock : day).format(time),
      title: `${day.format(time)}, ${hourText(at)}`,
      values: [outcomes.succeeded, outcomes.cancelled, outcomes.failed],
    };
  });
}

function FailuresCard({ total: { failed, failures } }: { total: Outcomes }) {
  return (
    <Card id="failures" title="Failures by code" note={`${numberText(failed)} in all`} isFlush>
      {failures.length === 0 ? (
        <p class="body small muted">No generation failed.</p>
      ) : (
        <ul class="list small">
          {failures.map(({ code, count }) => (
            <li key={code}>
              <code class="grow cut">{code}</code>
              <span class="num">{numberText(count)}</span>
              <span class="failure-part">
                <Meter value={count} max={failed} label={`${count} of ${failed} failures`} isLimit={false} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

const QUEUE_COLUMNS: readonly Column<OpenOfModel>[] = [
  ['Model', (one) => one.model_key],
  ['Queued', (one) => numberText(one.queued), 'number'],
  ['Retrying', (one) => numberText(one.requeued), 'number'],
  ['Running', (one) => numberText(one.running), 'number'],
  ['Oldest wait', (one) => timeText(one.oldest_wait_ms), 'number'],
];

const ACCOUNT_COLUMNS: readonly Column<AccountNearZero>[] = [
  ['Account', (one) => linkTo('operator-accounts', one.name, one.account_id)],
  ['Available', (one) => numberText(one.available_credits), 'number'],
  ['Charged in 7 days', (one) => numberText(one.week_charged_credits), 'number'],
];

function WaitingCard({ waiting }: { waiting: readonly Waiting[] }) {
  return (
    <TableCard
      id="waiting"
      title="Waiting longest"
      actions={linkTo('operator-queue', 'Queue', undefined, 'small muted')}
      scrolls="Generations that have waited longest"
      items={waiting}
      idOf={(one) => one.generation_id}
      columns={WAITING_COLUMNS}
    />
  );
}

const WAITING_COLUMNS: readonly Column<Waiting>[] = [
  ['Since', (one) => spanText(one.wait_ms), 'num'],
  [
    'Status',
    ({ status, attempts }) => (
      <Badge look={STATUS_LOOKS[status]}>
        {status === 'queued' && attempts > 0 ? 'Retrying' : STATUS_TEXTS[status]}
      </Badge>
    ),
  ],
  ['Model', (one) => linkTo('operator-queue', one.model_key, one.generation_id)],
  ['Account', ({ account_id: id, account_name: name = id }) => linkTo('operator-accounts', name, id)],
  ['Reserved', (one) => numberText(one.reserved_credits), 'number'],
];
