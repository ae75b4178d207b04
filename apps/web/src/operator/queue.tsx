import { useState } from 'preact/hooks';
import { Inbox } from 'lucide-preact';
import { STATUS_LOOKS, STATUS_TEXTS } from '../generations/generation-texts.js';
import { numberText, preciseTimeText } from '../format.js';
import { Button, MoreButton } from '../parts/buttons.js';
import { Badge, Card, Empty, type Figure, Figures, Loaded, type Look } from '../parts/parts.js';
import { change } from '../server.js';
import { afterChange, usePages } from '../use-data.js';
import { type Act, ActDialog } from './acts.js';
import { AreaPage, linkTo } from './places.js';
import { ageText, type Generation, type Work } from './server-types.js';
import { Table } from '../parts/old-table.js';

interface Answer {
  readonly now: string;
  readonly work: readonly Work[];
  readonly next_cursor?: string;
}

export const POLL_MS = 5_000;

/** The generations of all accounts that hold credits: queued, running, and ended but not settled. */
export function QueuePage() {
  const work = usePages<'work', Work, Answer>('/operator/work', 'work', { everyMs: POLL_MS });
  const [cancelled, setCancelled] = useState<Generation>();
  return (
    <AreaPage title="Queue">
      <Loaded data={work} what="the queue">
        {({ now }) => (
          <>
            <Figures figures={figuresOf(work.items, now, work.more !== undefined)} />
            <Card id="open" title="Open generations" note="Of all accounts, oldest first" isFlush>
              {work.items.length === 0 ? (
                <Empty
                  icon={Inbox}
                  title="Nothing is waiting"
                  text="Queued and running generations of all accounts appear here."
                />
              ) : (
                <Table
                  labelledBy="open"
                  columns={['Age', 'Status', 'Model', 'Account', 'Provider']}
                  numbers={['Attempts', 'Reserved']}
                  hasActs
                  items={work.items}
                >
                  {(one) => <WorkRow key={one.generation_id} work={one} now={now} cancel={setCancelled} />}
                </Table>
              )}
              <MoreButton pages={work} what="generations" />
            </Card>
          </>
        )}
      </Loaded>
      <ActDialog
        act={cancelled && cancelAct(cancelled)}
        close={() => setCancelled(undefined)}
        done={afterChange(work.reload, 'open')}
      />
    </AreaPage>
  );
}

/** The age of the oldest of all, of those that wait and of those that run, among those that are shown, which are the oldest. */
function figuresOf(work: readonly Work[], now: string, hasMore: boolean): readonly Figure[] {
  const figure = (name: string, among: readonly Work[]): Figure => {
    const since = among[0]?.reserved_at;
    return {
      name,
      value: numberText(among.length),
      unit: since === undefined ? undefined : `oldest ${ageText(since, now)}`,
      note: hasMore ? 'Among the oldest' : undefined,
    };
  };
  return [
    figure('Queued', withStatus(work, 'queued')),
    figure('Running', withStatus(work, 'running')),
    figure('All open', work),
  ];
}

function withStatus(work: readonly Work[], status: 'queued' | 'running'): readonly Work[] {
  return work.filter(({ generation }) => generation?.status === status);
}

interface WorkRowProps {
  readonly work: Work;
  readonly now: string;
  readonly cancel: (generation: Generation) => void;
}

function WorkRow({ work, now, cancel }: WorkRowProps) {
  const { generation, account_id: account, generation_id: id } = work;
  return (
    <tr>
      <th scope="row" class="num nowrap">
        <time dateTime={work.reserved_at} title={preciseTimeText(work.reserved_at)}>
          {ageText(work.reserved_at, now)}
        </time>
      </th>
      <td data-name="Status">
        <StatusBadge generation={generation} />
      </td>
      <td data-name="Model">
        {generation === undefined ? <span class="faint">–</span> : linkTo('operator-queue', generation.model_key, id)}
      </td>
      <td data-name="Account">{linkTo('operator-accounts', work.account_name ?? account, account)}</td>
      <td data-name="Provider">{generation?.provider ?? <span class="faint">–</span>}</td>
      <td data-name="Attempts" class="number">
        {numberText(generation?.attempts ?? 0)}
      </td>
      <td data-name="Reserved" class="number">
        {numberText(work.reserved_credits)}
      </td>
      <td class="row-menu">
        {generation !== undefined && isOpen(generation) ? (
          <Button kind="quiet" isSmall label={`Cancel generation ${id}`} onClick={() => cancel(generation)}>
            Cancel
          </Button>
        ) : null}
      </td>
    </tr>
  );
}

/** Whether it has not ended. */
export function isOpen({ status }: Generation): boolean {
  return status === 'queued' || status === 'running';
}

/** The status as operators need it: with what is tried again, asked to stop, or ended and not settled. */
export function StatusBadge({ generation }: { readonly generation: Generation | undefined }) {
  const [text, look] = statusOf(generation);
  return <Badge look={look}>{text}</Badge>;
}

function statusOf(generation: Generation | undefined): readonly [text: string, look: Look | undefined] {
  if (generation === undefined) return ['Being created', undefined];
  const { status, attempts, cancel_requested_at: askedAt } = generation;
  if (status === 'queued' && attempts > 0) return ['Retrying', 'active'];
  if (status === 'running' && askedAt !== undefined) return ['Stopping', 'active'];
  return [STATUS_TEXTS[status], STATUS_LOOKS[status]];
}

type Stopped = { readonly generation: Generation };

/** Cancels a generation, as its client could. */
export function cancelAct({ generation_id: id, model_key: model, status }: Generation): Act {
  return {
    question: 'Cancel this generation?',
    consequence:
      status === 'queued'
        ? `It waits for ${model}. It ends at once, and its credits are released.`
        : `It runs on ${model}. It ends when its provider stops; what was delivered is charged, the rest is released.`,
    doIt: 'Cancel generation',
    busyText: 'Cancelling…',
    action: async () => sentenceOf((await change<Stopped>(`/operator/generations/${id}/cancel`)).generation.status),
  };
}

function sentenceOf(status: Generation['status']): string {
  if (status === 'cancelled') return 'The generation is cancelled.';
  return status === 'queued' || status === 'running'
    ? 'The generation is asked to stop.'
    : `The generation had ${status} before; nothing was changed.`;
}
