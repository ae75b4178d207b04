import { Server } from 'lucide-preact';
import { numberText, preciseTimeText, spanText } from '../format.js';
import { Badge, Card, Empty, Facts, Loaded, type Look, Meter, Time } from '../parts/parts.js';
import { useData } from '../use-data.js';
import { ageText, counted, type Provider, type ProviderState, type Worker } from './server-types.js';

export interface ProvidersAnswer {
  readonly now: string;
  readonly providers: readonly Provider[];
}

const POLL_MS = 5_000;

/** The connected providers, as the workers see them. */
export function ProviderList() {
  const providers = useData<ProvidersAnswer>('/operator/providers', { everyMs: POLL_MS });
  return (
    <Loaded data={providers} what="providers">
      {({ now, providers: shown }) =>
        shown.length === 0 ? (
          <NoProviders />
        ) : (
          <div class="stack">
            {shown.map((provider) => (
              <ProviderCard key={provider.name} provider={provider} now={now} />
            ))}
          </div>
        )
      }
    </Loaded>
  );
}

function NoProviders() {
  return (
    <div class="panel">
      <Empty icon={Server} title="No providers yet" text="Add one under providers in the configuration, and restart." />
    </div>
  );
}

const STATES: Readonly<Record<ProviderState, { readonly text: string; readonly look: Look | undefined }>> = {
  healthy: { text: 'Healthy', look: 'ok' },
  idle: { text: 'Idle', look: undefined },
  slowed: { text: 'Slowed', look: 'active' },
  paused: { text: 'Paused', look: 'fail' },
  trying: { text: 'Trying again', look: 'active' },
  unreachable: { text: 'Unreachable', look: 'fail' },
};

export function StateBadge({ provider: { state } }: { readonly provider: Provider }) {
  const { text, look } = STATES[state];
  return <Badge look={look}>{text}</Badge>;
}

/** Why a provider is in its state, and until when. */
function Reason({ provider: p }: { readonly provider: Provider }) {
  return (
    <>
      {p.reason}
      {p.failing_since === undefined ? null : (
        <>
          {' Since '}
          <Time at={p.failing_since} />.
        </>
      )}
      {p.paused_until === undefined ? null : (
        <>
          {' Next try '}
          <Time at={p.paused_until} />.
        </>
      )}
      {p.last_call_at === undefined || p.failing_since !== undefined ? null : (
        <>
          {' Last used '}
          <Time at={p.last_call_at} />.
        </>
      )}
    </>
  );
}

/** One line for each provider: its state, the reason and what is at work there. */
export function ProviderTable({ answer: { providers } }: { readonly answer: ProvidersAnswer }) {
  if (providers.length === 0) return <p class="body small muted">No provider is configured.</p>;
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="scroll-x" tabIndex={0} aria-label="Table of providers">
      <table class="table">
        <thead>
          <tr>
            {['Provider', 'State', 'Why', 'Tasks'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            <th scope="col" class="number">
              Waiting
            </th>
          </tr>
        </thead>
        <tbody>
          {providers.map((p) => (
            <tr key={p.name}>
              <th scope="row">
                {p.name}
                <br />
                <span class="tiny faint">{`${p.kind} · ${counted(p.models.length, 'model')}`}</span>
              </th>
              <td>
                <StateBadge provider={p} />
              </td>
              <td class="small muted">
                <Reason provider={p} />
              </td>
              <td class="tasks">
                <Tasks provider={p} />
              </td>
              <td class="number">{numberText(p.waiting)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Tasks({ provider: { tasks, max_concurrent: most } }: { readonly provider: Provider }) {
  if (most === undefined) return <span class="num">{numberText(tasks)}</span>;
  return (
    <>
      <span class="num">{numberText(tasks)}</span>
      <span class="faint num">{` of ${numberText(most)}`}</span>
      <Meter value={tasks} max={most} label={`${tasks} of ${most} tasks`} />
    </>
  );
}

function ProviderCard({ provider: p, now }: { readonly provider: Provider; readonly now: string }) {
  return (
    <Card id={`provider-${p.name}`} title={p.name} note={p.kind} isFlush actions={<StateBadge provider={p} />}>
      <div class="body stack">
        <p class="small muted">
          <Reason provider={p} />
        </p>
        <Facts
          facts={[
            ['Tasks there', <Tasks key="tasks" provider={p} />],
            ['Waiting', numberText(p.waiting)],
            [
              'Submissions',
              p.max_submissions_per_minute && `at most ${numberText(p.max_submissions_per_minute)} per minute`,
            ],
            ['Models', p.models.map(({ model_key: key }) => key).join(', ') || 'None'],
          ]}
        />
      </div>
      {p.workers.length === 0 ? null : <WorkerTable workers={p.workers} now={now} label={`Workers of ${p.name}`} />}
    </Card>
  );
}

interface WorkerTableProps {
  readonly workers: readonly Worker[];
  readonly now: string;
  readonly label: string;
}

const WORKER_STATES: Readonly<Record<Worker['circuit'], string>> = {
  closed: 'Healthy',
  paused: 'Paused',
  trying: 'Trying again',
};

function WorkerTable({ workers, now, label }: WorkerTableProps) {
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="scroll-x" tabIndex={0} aria-label={label}>
      <table class="table">
        <thead>
          <tr>
            {['Worker', 'State', 'Last fault'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            {['Tasks', 'Waiting', 'Time to accept'].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {workers.map((w) => (
            <tr key={w.worker} class={w.is_current ? undefined : 'over'}>
              <th scope="row" class="mono">
                {w.worker}
              </th>
              <td>{w.is_current ? WORKER_STATES[w.circuit] : `Gone, seen ${ageText(w.seen_at, now)} ago`}</td>
              <td class="small muted">
                {w.last_error === undefined ? '–' : `${preciseTimeText(w.last_error.at)}: ${w.last_error.message}`}
              </td>
              <td class="number">{numberText(w.tasks)}</td>
              <td class="number">{numberText(w.waiting)}</td>
              <td class="number">{w.median_submit_ms === undefined ? '–' : spanText(w.median_submit_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
