import { announce } from '../parts/toasts.js';
import { numberText, timeText } from '../format.js';
import { Button } from '../parts/buttons.js';
import { Card, Facts, Loaded, Row } from '../parts/parts.js';
import { useData } from '../use-data.js';
import { ageText, counted, type Provider, type Worker } from './server-types.js';

interface Answer {
  readonly now: string;
  readonly providers: readonly Provider[];
}

/** The connected providers, as the workers see them. */
export function ProviderList() {
  const providers = useData<Answer>('/operator/providers');
  const again = async (): Promise<void> => {
    await providers.reload();
    announce('The providers are up to date.');
  };
  return (
    <Loaded data={providers} what="providers">
      {({ now, providers: shown }) => (
        <>
          {shown.length === 0 ? <p class="empty">No provider is configured.</p> : null}
          {shown.map((provider) => (
            <ProviderCard key={provider.name} provider={provider} now={now} />
          ))}
          <Button isSmall onClick={() => void again()}>
            Read again
          </Button>
        </>
      )}
    </Loaded>
  );
}

function ProviderCard({ provider: p, now }: { readonly provider: Provider; readonly now: string }) {
  return (
    <Card id={`provider-${p.name}`} title={p.name} note={`Kind ${p.kind}. ${stateText(p)}.`}>
      <Facts
        facts={[
          ['Tasks there', numberText(p.tasks)],
          ['Waiting', numberText(p.waiting)],
          ['Limits', limitsText(p)],
          ['Models', p.models.map(({ model_key: key }) => key).join(', ') || 'none'],
        ]}
      />
      {p.workers.length === 0 ? null : (
        <ul class="list">
          {p.workers.map((worker) => (
            <WorkerRow key={worker.worker} worker={worker} now={now} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function WorkerRow({ worker: w, now }: { readonly worker: Worker; readonly now: string }) {
  return (
    <Row
      title={w.worker}
      badge={w.is_current ? CIRCUITS[w.circuit] : `seen ${ageText(w.seen_at, now)} ago`}
      isOver={!w.is_current}
      facts={[
        ['Tasks', numberText(w.tasks)],
        ['Waiting', numberText(w.waiting)],
        ['A submission takes', w.median_submit_ms === undefined ? undefined : `${numberText(w.median_submit_ms)} ms`],
        ['Paused until', w.paused_until && timeText(w.paused_until)],
      ]}
    >
      {w.last_error === undefined ? null : (
        <p class="small muted">{`Last fault, ${timeText(w.last_error.at)}: ${w.last_error.message}`}</p>
      )}
    </Row>
  );
}

const CIRCUITS: Readonly<Record<Worker['circuit'], string>> = {
  closed: 'works',
  paused: 'paused',
  trying: 'trying again',
};

function stateText({ circuit, workers }: Provider): string {
  const current = workers.filter(({ is_current: isCurrent }) => isCurrent);
  if (current.length === 0) return workers.length === 0 ? 'Not used in the last hour' : 'No worker uses it now';
  const same = current.filter((one) => one.circuit === circuit).length;
  const state = { closed: 'It works', paused: 'Paused', trying: 'Tried again' }[circuit];
  return same === current.length
    ? `${state}, for ${counted(same, 'worker')}`
    : `${state} in ${same} of ${counted(current.length, 'worker')}`;
}

function limitsText({ max_concurrent: tasks, max_submissions_per_minute: rate }: Provider): string {
  const limits = [
    ...(tasks === undefined ? [] : [counted(tasks, 'task')]),
    ...(rate === undefined ? [] : [`${numberText(rate)} a minute`]),
  ];
  return limits.length === 0 ? 'none' : limits.join(', ');
}
