import { ageText, numberText, preciseTimeText, spanText } from '../format.js';
import { Badge, Card, Empty, Facts, Loaded, type Look, Meter, Time } from '../parts/parts.js';
import { type Column, None, Table } from '../parts/table.js';
import { useData } from '../use-data.js';
import { AreaPage, counted, type Numbers } from './area-page.js';

interface Worker extends Numbers<'tasks' | 'waiting'> {
  readonly worker: string;
  readonly circuit: keyof typeof CIRCUITS;
  readonly last_error?: { readonly at: string; readonly message: string };
  readonly median_submit_ms?: number;
  readonly seen_at: string;
  readonly is_current: boolean;
}

interface Provider extends Numbers<'tasks' | 'waiting'> {
  readonly name: string;
  readonly kind: string;
  readonly state: keyof typeof STATES;
  /** Why it is in this state, in a sentence. */
  readonly reason: string;
  readonly paused_until?: string;
  readonly failing_since?: string;
  readonly last_call_at?: string;
  readonly max_concurrent?: number;
  readonly max_submissions_per_minute?: number;
  readonly models: readonly { readonly model_key: string }[];
  readonly workers: readonly Worker[];
}

export interface ProvidersAnswer {
  readonly now: string;
  readonly providers: readonly Provider[];
}

const STATES = {
  healthy: ['Healthy', 'ok'],
  idle: ['Idle', undefined],
  slowed: ['Slowed', 'active'],
  paused: ['Paused', 'fail'],
  trying: ['Trying again', 'active'],
  unreachable: ['Unreachable', 'fail'],
} as const satisfies Record<string, readonly [text: string, look: Look | undefined]>;
const CIRCUITS = { closed: 'Healthy', paused: 'Paused', trying: 'Trying again' };

const POLL_MS = 5_000;

/** The connected providers, as the workers see them. */
export function ProvidersPage() {
  const providers = useData<ProvidersAnswer>('/operator/providers', { everyMs: POLL_MS });
  return (
    <AreaPage title="Providers">
      <Loaded data={providers} what="providers">
        {({ now, providers: shown }) =>
          shown.length === 0 ? (
            <div class="panel">
              <Empty
                icon="server"
                title="No providers yet"
                text="Add one under providers in the configuration, and restart."
              />
            </div>
          ) : (
            shown.map((provider) => <ProviderCard key={provider.name} provider={provider} now={now} />)
          )
        }
      </Loaded>
    </AreaPage>
  );
}

function ProviderCard({ provider: p, now }: { provider: Provider; now: string }) {
  const most = p.max_submissions_per_minute;
  return (
    <Card
      id={`provider-${p.name}`}
      title={p.name}
      note={p.kind === p.name ? undefined : p.kind}
      isFlush
      actions={stateBadge(p)}
    >
      <div class="body stack">
        <p class="small muted">{reasonOf(p)}</p>
        <Facts
          facts={[
            ['Tasks', tasksOf(p)],
            ['Waiting', numberText(p.waiting)],
            ['Submissions', most && `at most ${numberText(most)} per minute`],
            ['Models', p.models.map(({ model_key: key }) => key).join(', ') || 'None'],
          ]}
        />
      </div>
      {p.workers.length === 0 ? null : (
        <Table
          labelledBy={`provider-${p.name}`}
          scrolls={`Workers of ${p.name}`}
          items={p.workers}
          idOf={({ worker }) => worker}
          isOver={(one) => !one.is_current}
          columns={workerColumnsAt(now)}
        />
      )}
    </Card>
  );
}

const workerColumnsAt = (now: string): readonly Column<Worker>[] => [
  ['Worker', ({ worker }) => worker, 'mono'],
  ['State', (one) => (one.is_current ? CIRCUITS[one.circuit] : `Gone, seen ${ageText(one.seen_at, now)} ago`)],
  [
    'Last fault',
    ({ last_error: last }) => (last === undefined ? <None /> : `${preciseTimeText(last.at)}: ${last.message}`),
    'small muted',
  ],
  ['Tasks', ({ tasks }) => numberText(tasks), 'number'],
  ['Waiting', ({ waiting }) => numberText(waiting), 'number'],
  ['Time to accept', ({ median_submit_ms: ms }) => (ms === undefined ? <None /> : spanText(ms)), 'number'],
];

/** One line for each provider: its state, the reason and what is at work there. */
export const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  [
    'Provider',
    (p) => (
      <>
        {p.name}
        <br />
        <span class="tiny faint">{`${p.kind === p.name ? '' : `${p.kind} · `}${counted(p.models.length, 'model')}`}</span>
      </>
    ),
  ],
  ['State', stateBadge],
  ['Why', reasonOf, 'small muted'],
  ['Tasks', tasksOf, 'tasks'],
  ['Waiting', ({ waiting }) => numberText(waiting), 'number'],
];

function stateBadge({ state }: Provider) {
  const [text, look] = STATES[state];
  return <Badge look={look}>{text}</Badge>;
}

/** Why a provider is in its state, and until when. */
function reasonOf(p: Provider) {
  const said = (text: string, at: string | undefined) =>
    at === undefined ? null : (
      <>
        {text}
        <Time at={at} />.
      </>
    );
  return (
    <>
      {p.reason}
      {said(' Since ', p.failing_since)}
      {said(' Next try ', p.paused_until)}
      {p.failing_since === undefined ? said(' Last used ', p.last_call_at) : null}
    </>
  );
}

function tasksOf({ tasks, max_concurrent: most }: Provider) {
  if (most === undefined) return <span class="num">{numberText(tasks)}</span>;
  return (
    <>
      <span class="num">{numberText(tasks)}</span>
      <span class="faint num">{` of ${numberText(most)}`}</span>
      <Meter value={tasks} max={most} label={`${tasks} of ${most} tasks`} />
    </>
  );
}
