import { useState } from 'preact/hooks';
import type { Json, Task } from '../api-types.js';
import { ageText, numberText, preciseTimeText } from '../format.js';
import { isOpen, STATUS_LOOKS, STATUS_TEXTS, TIMELINE_TEXTS } from '../generations/generation-texts.js';
import { ask } from '../parts/ask.js';
import { Button, Copyable, CopyableId } from '../parts/buttons.js';
import { Badge, Card, Empty, Facts, Fault, type Figure, Figures, Loaded, type Look } from '../parts/parts.js';
import { type Column, None, TableCard } from '../parts/table.js';
import { Timeline } from '../parts/times.js';
import { change } from '../server.js';
import { afterChange, useData, usePages } from '../use-data.js';
import { AreaPage, linkTo, type Numbers } from './area-page.js';

type Shared = 'generation_id' | 'status' | 'model_key' | 'created_at' | 'completed_at' | 'client_trace_id';
type Counts = 'reserved_credits' | 'charged_credits' | 'attempts' | 'output_count';

/** A generation as operators see it: without what belongs to its client. */
interface Generation extends Pick<Task, Shared>, Numbers<Counts> {
  readonly account_id: string;
  readonly app_id: string;
  readonly cancel_requested_at?: string;
  readonly worker?: string;
  readonly provider?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

interface Work extends Pick<Generation, 'generation_id' | 'account_id' | 'reserved_credits'> {
  readonly account_name?: string;
  readonly reserved_at: string;
  readonly generation?: Generation;
}

interface Answer {
  readonly now: string;
  readonly work: readonly Work[];
  readonly next_cursor?: string;
}

const POLL_MS = 5_000;

/** The generations of all accounts that hold credits: queued, running, and ended but not settled. */
export function QueuePage() {
  const work = usePages<'work', Work, Answer>('/operator/work', 'work', { everyMs: POLL_MS });
  const said = afterChange(work.reload, 'open');
  return (
    <AreaPage title="Queue">
      <Loaded data={work} what="the queue">
        {({ now }) => (
          <>
            <Figures figures={figuresOf(work.items, now, work.more !== undefined)} />
            <TableCard
              id="open"
              title="Open generations"
              note="Of all accounts, oldest first"
              items={work.items}
              idOf={(one) => one.generation_id}
              columns={columnsAt(now)}
              acts={({ generation }) =>
                generation !== undefined && isOpen(generation) ? (
                  <Button
                    isSmall
                    label={`Cancel generation ${generation.generation_id}`}
                    onClick={() => cancel(generation, said)}
                  >
                    Cancel
                  </Button>
                ) : null
              }
              more={{ pages: work, what: 'generations' }}
              empty={
                <Empty
                  icon="inbox"
                  title="Nothing is waiting"
                  text="Queued and running generations of all accounts appear here."
                />
              }
            />
          </>
        )}
      </Loaded>
    </AreaPage>
  );
}

/** The age of the oldest of all, of those that wait and of those that run, among those that are shown, which are the oldest. */
function figuresOf(work: readonly Work[], now: string, hasMore: boolean): readonly Figure[] {
  const figure = (name: string, among: readonly Work[]): Figure => ({
    name,
    value: numberText(among.length),
    unit: among[0] && `oldest ${ageText(among[0].reserved_at, now)}`,
    note: hasMore ? 'Among the oldest' : undefined,
  });
  const having = (status: Task['status']) => work.filter(({ generation }) => generation?.status === status);
  return [figure('Queued', having('queued')), figure('Running', having('running')), figure('All open', work)];
}

const columnsAt = (now: string): readonly Column<Work>[] => [
  [
    'Age',
    ({ reserved_at: at }) => (
      <time dateTime={at} title={preciseTimeText(at)}>
        {ageText(at, now)}
      </time>
    ),
    'num nowrap',
  ],
  ['Status', ({ generation }) => statusBadge(generation)],
  [
    'Model',
    ({ generation, generation_id: id }) =>
      generation === undefined ? <None /> : linkTo('operator-queue', generation.model_key, id),
  ],
  ['Account', ({ account_id: id, account_name: name = id }) => linkTo('operator-accounts', name, id)],
  ['Provider', ({ generation }) => generation?.provider ?? <None />],
  ['Attempts', ({ generation }) => numberText(generation?.attempts ?? 0), 'number'],
  ['Reserved', (one) => numberText(one.reserved_credits), 'number'],
];

/** The status as operators need it: with what is tried again, asked to stop, or ended and not settled. */
function statusBadge(generation: Generation | undefined) {
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

/** Cancels a generation, as its client could. `said` reports what became of it. */
function cancel(
  { generation_id: id, model_key: model, status }: Generation,
  said: (sentence: string) => unknown,
): void {
  ask({
    title: 'Cancel this generation?',
    text:
      status === 'queued'
        ? `It waits for ${model}. It ends at once, and its credits are released.`
        : `It runs on ${model}. It ends when its provider stops; what was delivered is charged, the rest is released.`,
    doIt: 'Cancel generation',
    act: () => change<{ readonly generation: Generation }>(`/operator/generations/${id}/cancel`),
    done: ({ generation }) =>
      said(
        generation.status === 'cancelled'
          ? 'The generation is cancelled.'
          : isOpen(generation)
            ? 'The generation is asked to stop.'
            : `The generation had ${generation.status} before; nothing was changed.`,
      ),
  });
}

/** One generation of any account; its request only when the operator asks for it. */
export function GenerationPage({ id }: { id: string }) {
  const path = `/operator/generations/${encodeURIComponent(id)}`;
  const data = useData<{ readonly now: string; readonly generation: Generation }>(path, { everyMs: POLL_MS });
  const [isWanted, setWanted] = useState(false);
  const shown = data.value?.generation;
  return (
    <AreaPage
      title="Generation"
      above={{ page: 'operator-queue', text: 'Queue' }}
      actions={
        shown !== undefined && isOpen(shown) ? (
          <Button kind="danger" onClick={() => cancel(shown, afterChange(data.reload, 'page-title'))}>
            Cancel…
          </Button>
        ) : undefined
      }
    >
      <Loaded data={data} what="the generation">
        {({ generation, now }) => (
          <>
            <Fault text={generation.error?.message}>
              <code>{generation.error?.code}</code>
            </Fault>
            <div class="columns wide-first">
              <Card id="generation" title={generation.model_key} actions={statusBadge(generation)}>
                <Facts facts={factsOf(generation, now)} />
              </Card>
              <Card id="timeline" title="Timeline">
                <Timeline steps={stepsOf(generation)} />
              </Card>
            </div>
            <Card id="request" title="Request" note="It belongs to the client. Reading it is recorded in the log.">
              {isWanted ? (
                <Request path={`${path}/content`} />
              ) : (
                <Button isSmall onClick={() => setWanted(true)}>
                  Show request
                </Button>
              )}
            </Card>
          </>
        )}
      </Loaded>
    </AreaPage>
  );
}

function factsOf(g: Generation, now: string) {
  const hasEnded = !isOpen(g);
  return [
    ['Account', linkTo('operator-accounts', g.account_id, g.account_id)],
    ['Reserved', numberText(g.reserved_credits)],
    ['Charged', hasEnded ? numberText(g.charged_credits) : undefined],
    ['Age', hasEnded ? undefined : ageText(g.created_at, now)],
    ['Attempts', numberText(g.attempts)],
    ['Provider', g.provider],
    ['Worker', g.worker],
    ['Outputs', numberText(g.output_count)],
    ['Generation id', <CopyableId key="id" id={g.generation_id} />],
    ['App id', <CopyableId key="app" id={g.app_id} />],
    ['Trace id', g.client_trace_id],
  ] as const;
}

/** The times of a generation, for operators. */
function stepsOf({ status, created_at: created, cancel_requested_at: asked, completed_at: completed }: Generation) {
  return [
    { text: TIMELINE_TEXTS.created, at: created },
    ...(asked === undefined ? [] : [{ text: TIMELINE_TEXTS.cancel_requested, at: asked }]),
    ...(completed === undefined ? [] : [{ text: STATUS_TEXTS[status], at: completed, look: status }]),
  ];
}

interface Content {
  readonly prompt: string;
  readonly negative_prompt?: string;
  readonly parameters: Json;
  readonly reference_upload_ids: readonly string[];
}

function Request({ path }: { path: string }) {
  return (
    <Loaded data={useData<Content>(path)} what="the request">
      {({ prompt, negative_prompt: negative, parameters, reference_upload_ids: references }) => (
        <>
          <Facts
            facts={[
              ['Prompt', prompt === '' ? 'None, or the request is no longer stored.' : prompt],
              ['Negative prompt', negative],
              ['References', references.join(', ') || undefined],
            ]}
          />
          <Copyable text={JSON.stringify(parameters, null, 2)} what="the parameters" />
        </>
      )}
    </Loaded>
  );
}
