import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { EVENT_TYPES, type EventType, type Status, type Task, type TaskEvent } from '../api-types.js';
import { appName, appQuery, inApp, type UsableApps, useApps } from '../apps/usable-apps.js';
import { numberText, preciseTimeText, spanText, timeText } from '../format.js';
import { followEvents } from '../live.js';
import { DownloadButton, ShownOutput } from '../media/shown-output.js';
import { ActionButton, ConfirmButton } from '../parts/buttons.js';
import { Card, Fact, Facts, Loaded, PlaceLink } from '../parts/parts.js';
import { goTo, hrefOf } from '../places.js';
import type { GenerationInput, Overview } from '../server-types.js';
import { change, read, remove, sentenceOf } from '../server.js';
import { type Data, useData } from '../use-data.js';

interface DetailProps {
  readonly id: string;
  readonly overview: Overview;
}

/** One generation: what was made, when what happened, and what it cost. */
export function GenerationDetail({ id, overview }: DetailProps) {
  const apps = useApps();
  const found = useData<{ readonly app_id: string }>(`/generations/${encodeURIComponent(id)}`);
  return (
    <>
      <p class="back">
        <PlaceLink page="generations" query={{ app: backTo(apps.value, found.value?.app_id) }}>
          All generations
        </PlaceLink>
      </p>
      <Loaded data={found} what="the generation">
        {({ app_id: appId }) => <Found id={id} appId={appId} apps={apps.value} overview={overview} />}
      </Loaded>
    </>
  );
}

function backTo(apps: UsableApps | undefined, appId: string | undefined): string | undefined {
  return apps === undefined || appId === undefined ? appId : appQuery(apps, appId, 'console');
}

interface FoundProps extends DetailProps {
  readonly appId: string;
  readonly apps: UsableApps | undefined;
}

function Found({ id, appId, apps, overview }: FoundProps) {
  const followed = useFollowedTask(appId, id);
  const { currency } = overview.account;
  const app = apps?.apps.find((one) => one.id === appId);
  const deleted = async (): Promise<void> => {
    announce('The generation is deleted.');
    goTo(hrefOf('generations', { query: { app: backTo(apps, appId) } }));
  };
  return (
    <Loaded data={followed} what="the generation">
      {(task) => (
        <>
          <Card id="result" title={STATUS_TEXTS[task.status]} note={`${task.model_key}, ${timeText(task.created_at)}`}>
            <TaskProgress {...followed} task={task} />
            {task.error === undefined ? null : <p class="attention bad">{task.error.message}</p>}
            <OutputList task={task} reload={followed.reload} />
            <div class="row wrap">
              <TaskActions {...followed} appId={appId} task={task} deleted={deleted} />
            </div>
          </Card>
          <Card id="facts" title="Facts">
            <Facts
              facts={[
                ['Cost', costText(task, currency)],
                ['Model', task.model_key],
                ['App', app && appName(app)],
                ['Trace id', task.client_trace_id],
                ['Id', task.generation_id],
              ]}
            />
          </Card>
          <Card id="timeline" title="Timeline">
            <Timeline task={task} times={followed.times} />
          </Card>
          {app?.kind === 'console' ? <TaskInput id={id} /> : null}
        </>
      )}
    </Loaded>
  );
}

export const STATUS_TEXTS: Readonly<Record<Status, string>> = {
  queued: 'Queued',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const EVENT_TEXTS: Readonly<Record<Exclude<EventType, 'progress'>, string>> = {
  queued: 'Created',
  running: 'Running',
  cancel_requested: 'Cancel requested',
  ended: 'Ended',
};

export function isOpen({ status }: Pick<Task, 'status'>): boolean {
  return status === 'queued' || status === 'running';
}

/** The cost, or the highest possible cost until the generation has ended. */
export function costText(task: Task, currency: string): string {
  return isOpen(task)
    ? `${numberText(task.reserved_credits)} ${currency} reserved`
    : `${numberText(task.charged_credits)} ${currency}`;
}

/** The description for screen readers. */
export function spokenText({ modality, model_key: model, status }: Task): string {
  return `${modality === 'video' ? 'Video' : 'Picture'} of ${model}, ${STATUS_TEXTS[status].toLowerCase()}`;
}

interface OutputListProps {
  readonly task: Task;
  /** Reads the task again, whose addresses are then new. */
  readonly reload: () => Promise<void>;
}

/** The outputs, each with a link to save it. */
export function OutputList({ task, reload }: OutputListProps) {
  const { outputs, modality, generation_id: id } = task;
  const tried = useRef(new Set<string>());
  // A URL is valid for an hour: an output that does not load is requested again, once.
  const again = (url: string): void => {
    const isFirst = !tried.current.has(new URL(url).pathname);
    tried.current.add(new URL(url).pathname);
    if (isFirst) void reload();
  };
  if (outputs.length === 0)
    return isOpen(task) || task.error !== undefined ? null : <p class="empty">There is nothing to show.</p>;
  const kind = modality === 'video' ? 'Video' : 'Picture';
  return (
    <ul class="outputs">
      {outputs.map((output, index) => {
        const name = outputs.length === 1 ? kind : `${kind} ${index + 1} of ${outputs.length}`;
        return (
          <li key={output.media_id}>
            <ShownOutput output={output} alt={`${name}, by ${task.model_key}`} onFault={() => again(output.url)} />
            <div class="output-text">
              <span class="small muted">{sizeText(output)}</span>
              <DownloadButton
                output={output}
                filename={`${id}-${index + 1}`}
                label={`Download ${name.toLowerCase()}`}
              />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function sizeText({ width, height, duration_ms: duration }: Task['outputs'][number]): string {
  const size = width === undefined || height === undefined ? '' : `${width} × ${height}`;
  return duration === undefined ? size : `${size}, ${(duration / 1_000).toFixed(1)} s`;
}

interface TaskActionsProps extends Pick<FollowedTask, 'isCancelling' | 'take'> {
  readonly appId: string;
  readonly task: Task;
  readonly deleted: () => Promise<void>;
}

/** Cancels one that has not ended, and deletes one that has. */
function TaskActions({ appId, task, isCancelling, take, deleted }: TaskActionsProps) {
  const path = inApp(appId, `/generations/${task.generation_id}`);
  if (isOpen(task)) return <CancelButton path={path} isCancelling={isCancelling} take={take} />;
  return (
    <ConfirmButton
      label="Delete"
      fullLabel="Delete this generation"
      question="Delete this generation?"
      consequence="What was asked for and what was made are removed. What it cost stays charged. This cannot be undone."
      doIt="Delete it"
      action={() => remove(path)}
      done={deleted}
    />
  );
}

interface CancelButtonProps extends Pick<FollowedTask, 'isCancelling' | 'take'> {
  readonly path: string;
}

export function CancelButton({ path, isCancelling, take }: CancelButtonProps) {
  const cancel = async (): Promise<void> => {
    const task = await change<Task>(`${path}/cancel`);
    take(task);
    announce(isOpen(task) ? 'It is asked to stop.' : 'It is cancelled.');
  };
  return (
    <ActionButton action={cancel} kind="danger" isDisabled={isCancelling}>
      {isCancelling ? 'Cancelling' : 'Cancel'}
    </ActionButton>
  );
}

/** The input of a generation of this page, and a link to use it again. */
export function TaskInput({ id }: { readonly id: string }) {
  const data = useData<{ readonly input: GenerationInput | null }>(`/playground/generations/${id}/input`);
  return (
    <Card id="input" title="What was asked for">
      <Loaded data={data} what="what was asked for">
        {({ input }) =>
          input === null ? (
            <p class="empty">It is not kept any more, as nothing was charged for it.</p>
          ) : (
            <>
              {input.prompt === '' ? null : <Text name="Prompt" text={input.prompt} />}
              {input.negative_prompt === null ? null : <Text name="Negative prompt" text={input.negative_prompt} />}
              <dl class="facts spaced">
                {Object.entries(input.parameters).map(([name, value]) => (
                  <Fact key={name} name={name} text={typeof value === 'string' ? value : JSON.stringify(value)} />
                ))}
                <Fact name="Reference files" text={input.references.length || undefined} />
              </dl>
              <p>
                <PlaceLink page="playground" query={{ again: id }}>
                  Open it in the playground
                </PlaceLink>
              </p>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function Text({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <dl class="long-text">
      <dt>{name}</dt>
      <dd>{text}</dd>
    </dl>
  );
}

type TaskProgressProps = Pick<FollowedTask, 'progress' | 'position' | 'isCancelling'> & { readonly task: Task };

/** How far one is that has not ended. */
export function TaskProgress({ task, progress, position, isCancelling }: TaskProgressProps) {
  if (!isOpen(task)) return null;
  return (
    <div class="task-progress">
      <p aria-live="polite">{isCancelling ? 'Cancelling…' : textOf(task, progress, position)}</p>
      <progress
        aria-label="Progress of the generation"
        {...(progress === undefined ? {} : { value: progress, max: 1 })}
      />
    </div>
  );
}

function textOf({ status }: Task, progress: number | undefined, position: number | undefined): string {
  const text = STATUS_TEXTS[status];
  if (progress !== undefined) return `${text}: ${Math.floor(progress * 100)} %`;
  if (status === 'queued' && position !== undefined && position > 0) return `${text}, with ${position} before it…`;
  return `${text}…`;
}

/** The time without an event after which the server is polled, in milliseconds. */
const QUIET_MS = 5_000;
/** And with a stream that speaks, in case it goes silent without an end. */
const SLOW_MS = 30_000;

export interface FollowedTask extends Data<Task> {
  /** When what happened, in order. */
  readonly times: readonly { readonly type: EventType; readonly at: string }[];
  /** Whether it was asked to stop. */
  readonly isCancelling: boolean;
  /** 0 to 1, while its provider says. */
  readonly progress: number | undefined;
  /** While it is queued: how many are before it. */
  readonly position: number | undefined;
  /** Takes what an answer says of it. */
  readonly take: (task: Task) => void;
}

/**
 * A generation and its progress. Its events provide both, from its creation on; if a proxy holds them back, the
 * generation is polled.
 */
export function useFollowedTask(appId: string, id: string, known?: Task): FollowedTask {
  const [task, setTask] = useState<Task | undefined>(known);
  const [times, setTimes] = useState<FollowedTask['times']>([]);
  const [progress, setProgress] = useState<number>();
  const [position, setPosition] = useState<number>();
  const [fault, setFault] = useState<string>();
  const heardAt = useRef(0);
  const path = inApp(appId, `/generations/${encodeURIComponent(id)}`);

  const take = useCallback((next: Task): void => {
    // A response may be older than an event that came before it. Each one contains newly signed URLs.
    setTask((before) => (before !== undefined && before.updated_at > next.updated_at ? before : next));
    setFault(undefined);
  }, []);
  const load = useCallback(async (): Promise<void> => {
    try {
      take(await read<Task>(path));
    } catch (error) {
      setFault(sentenceOf(error));
    }
  }, [path, take]);

  useEffect(() => {
    void load();
    return followEvents(`${path}/events`, {
      onEvent: (event) => {
        heardAt.current = Date.now();
        take(event.task);
        setProgress(event.type === 'progress' ? event.progress : undefined);
        setPosition(event.position);
        setTimes((before) => withEvent(before, event));
      },
    });
  }, [path, load, take]);

  const isWaiting = task !== undefined && isOpen(task);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => {
      const quietFor = Date.now() - heardAt.current;
      if (!document.hidden && (heardAt.current === 0 || quietFor > SLOW_MS)) void load();
    }, QUIET_MS);
    return () => clearInterval(timer);
  }, [isWaiting, load]);

  const isCancelling = times.some(({ type }) => type === 'cancel_requested');
  return { value: task, times, isCancelling, progress, position, fault, reload: load, take };
}

/** A stream that reopens repeats all events. */
function withEvent(known: FollowedTask['times'], { type, at }: TaskEvent): FollowedTask['times'] {
  if (type === 'progress' || known.some((one) => one.type === type)) return known;
  return [...known, { type, at }].sort((a, b) => EVENT_TYPES.indexOf(a.type) - EVENT_TYPES.indexOf(b.type));
}

/** When what happened to a generation, and how long it took from one to the next. */
function Timeline({ task, times }: { readonly task: Task; readonly times: FollowedTask['times'] }) {
  const known = times.length > 0 ? times : knownTimes(task);
  return (
    <ol class="timeline">
      {known.map(({ type, at }, index) => {
        const before = known[index - 1]?.at;
        const text = type === 'ended' ? STATUS_TEXTS[task.status] : type === 'progress' ? '' : EVENT_TEXTS[type];
        return (
          <li key={type}>
            <strong>{text}</strong>
            <span>
              <time dateTime={at}>{preciseTimeText(at)}</time>
              {before === undefined ? null : (
                <span class="small muted">{` after ${spanText(Date.parse(at) - Date.parse(before))}`}</span>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** The times of the task itself, until its events arrive. */
function knownTimes({ created_at: created, completed_at: completed }: Task): FollowedTask['times'] {
  return [
    { type: 'queued', at: created },
    ...(completed === undefined ? [] : [{ type: 'ended', at: completed } as const]),
  ];
}
