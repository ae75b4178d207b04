import { useEffect, useRef, useState } from 'preact/hooks';
import type { Task } from '../../api-types.js';
import { numberText, spanText } from '../../format.js';
import { isOpen, STATUS_LOOKS, STATUS_TEXTS } from '../../generations/generation-texts.js';
import { type Progress, useProgress } from '../../generations/use-progress.js';
import { Lightbox, OutputMedia, type Shown } from '../../media/lightbox.js';
import { ratioOf, thumbnailsOf } from '../../media/picture.js';
import { saveOutput } from '../../media/save-output.js';
import { ActionButton, Copyable, CopyableId } from '../../parts/buttons.js';
import { Icon, type IconName } from '../../parts/icon.js';
import { MenuButton } from '../../parts/overlays.js';
import { Badge, creditsText, Empty, Fault, PlaceLink } from '../../parts/parts.js';
import { Tabs } from '../../parts/tabs.js';
import { say } from '../../parts/toasts.js';
import { hrefOf } from '../../places.js';
import { cancelGeneration } from '../../server.js';
import { RequestCode, type RequestBody } from '../code/request-code.js';
import { type Asked, outputsOf, type Playground, type View } from '../use-playground.js';

const VIEW_TEXTS: Readonly<Record<View, string>> = { result: 'Result', code: 'Code', json: 'JSON' };
const VIEWS = (Object.keys(VIEW_TEXTS) as View[]).map((name) => ({ name, title: VIEW_TEXTS[name] }));

/** The outputs of a generation of any App, or the request in code or as JSON: the tabs with the status, and what is selected. */
export function ResultPane({ play }: { play: Playground }) {
  const { from, made, details, creating, view, setView, models } = play;
  const known = details.value;
  const task = known ?? made?.task;
  const progress = useProgress(details);
  useSpoken(task?.status, progress, play.ended);
  const isCancelling = known?.timeline.some(({ event }) => event === 'cancel_requested') === true && isOpen(known);
  return (
    <>
      <header class="out-bar">
        {creating !== undefined ? (
          <Badge look="active">Creating</Badge>
        ) : task === undefined ? null : (
          <Status task={task} part={progress.part} isCancelling={isCancelling} />
        )}
        <Tabs label="View" look="segments" tabs={VIEWS} selected={view} select={setView} panel="result-panel" />
      </header>
      {/* It scrolls. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div class="out-body" id="result-panel" role="tabpanel" aria-label={VIEW_TEXTS[view]} tabIndex={0}>
        {view === 'code' ? (
          <RequestCode request={play.code} />
        ) : view === 'json' ? (
          <JsonView request={play.request} task={creating === undefined ? task : undefined} />
        ) : creating !== undefined ? (
          <Grid {...outputsOf(models, creating)} outputs={[]} isWaiting />
        ) : from === undefined ? (
          <Empty
            icon="images"
            title="Results appear here"
            text="Write a prompt and press Create, or begin with an example."
          />
        ) : task === undefined ? (
          <Fault text={details.fault} />
        ) : (
          <Result {...{ play, task, progress, isCancelling }} />
        )}
      </div>
    </>
  );
}

/** Says changes of the status and quarters of the progress to screen readers. */
function useSpoken(status: Task['status'] | undefined, { part = 0 }: Progress, ended: () => void): void {
  const before = useRef(status);
  const quarter = Math.floor(part * 4);
  useEffect(() => {
    const isFirst = before.current === undefined || before.current === status;
    before.current = status;
    if (isFirst || status === undefined) return;
    say(`${STATUS_TEXTS[status]}.`);
    if (!isOpen({ status })) ended();
    // Once for each status.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [status]);
  useEffect(() => {
    if (quarter > 0) say(`${quarter * 25} percent.`);
  }, [quarter]);
}

/** The body of the request, and the response where a generation is shown. */
function JsonView({ request, task }: { request: RequestBody; task: Task | undefined }) {
  return (
    <div class="stack">
      <h2>Request</h2>
      <Copyable text={JSON.stringify(request, null, 2)} what="the request" />
      <h2>Response</h2>
      {task === undefined ? (
        <p class="small muted">The response appears here after Create.</p>
      ) : (
        <Copyable text={JSON.stringify(task, null, 2)} what="the response" />
      )}
    </div>
  );
}

function Status({ task, part, isCancelling }: { task: Task; part: number | undefined; isCancelling: boolean }) {
  const { status, created_at: from, completed_at: to, charged_credits: charged, reserved_credits: reserved } = task;
  const span = to === undefined ? [] : [spanText(Date.parse(to) - Date.parse(from))];
  const cost = isOpen(task) ? `${creditsText(reserved)} reserved` : `${creditsText(charged)} charged`;
  const percent = part === undefined || !isOpen(task) ? '' : ` ${Math.floor(part * 100)}%`;
  return (
    <>
      <Badge look={STATUS_LOOKS[status]}>{isCancelling ? 'Cancelling' : `${STATUS_TEXTS[status]}${percent}`}</Badge>
      <span class="small muted num">{[...span, cost].join(' · ')}</span>
    </>
  );
}

interface ResultProps {
  play: Playground;
  task: Task;
  progress: Progress;
  isCancelling: boolean;
}

/** A generation while it runs and after its end. */
function Result({ play, task, progress: { part, position = 0 }, isCancelling }: ResultProps) {
  const { value: known, reload } = play.details;
  const { outputs, error, status, charged_credits: charged, generation_id: id } = task;
  const request = play.made?.request ?? known?.request ?? undefined;
  const asked: Asked = { prompt: known?.prompt, ...request, model_key: task.model_key };
  const kind = task.modality === 'video' ? 'Video' : 'Image';
  const shown = outputs.map((output, index): Shown => ({
    output,
    thumbnails: known === undefined ? undefined : thumbnailsOf(known, output),
    alt: `${kind}${outputs.length === 1 ? '' : ` ${index + 1} of ${outputs.length}`}: ${asked.prompt ?? task.model_key}`,
    filename: `${id}-${index + 1}`,
    href: hrefOf('generations', { id }),
  }));
  const isExpired = typeof known?.outputs_removed_at === 'string';
  return (
    <>
      {error !== undefined ? (
        <Fault text={error.message} />
      ) : outputs.length > 0 || isOpen(task) ? (
        <Grid {...outputsOf(play.models, asked)} outputs={shown} isWaiting={isOpen(task)} reload={reload} />
      ) : (
        <Empty
          icon="ban"
          title={isExpired ? 'The outputs have expired' : STATUS_TEXTS[status]}
          text={isExpired ? null : charged === 0 ? 'Nothing was charged.' : `${creditsText(charged)} charged.`}
        />
      )}
      {!isOpen(task) ? (
        <>
          <OutputFacts task={task} asked={asked} />
          <Actions play={play} task={task} asked={asked} />
        </>
      ) : known === undefined ? null : (
        <div class="out-waiting">
          {status === 'queued' ? (
            <p class="small muted">
              {position === 0 ? 'Next in the queue' : `${numberText(position)} ahead in the queue`}
            </p>
          ) : (
            <progress aria-label="Progress" {...(part === undefined ? {} : { value: part, max: 1 })} />
          )}
          <ActionButton
            icon="ban"
            isDisabled={isCancelling}
            action={async () => {
              await cancelGeneration(known.app.id, id);
              await reload();
            }}
          >
            {isCancelling ? 'Cancelling' : 'Cancel'}
          </ActionButton>
        </div>
      )}
    </>
  );
}

interface GridProps {
  /** The shape and the number of the outputs, until they are there. */
  ratio: number;
  count: number;
  outputs: readonly Shown[];
  /** Whether outputs are still to come; their places have their shape. */
  isWaiting: boolean;
  reload?: () => Promise<void>;
}

/** The outputs side by side, so that all are in view. */
function Grid({ outputs, isWaiting, reload, ...layout }: GridProps) {
  const [open, setOpen] = useState<number>();
  const [first] = outputs;
  const ratio = first === undefined ? layout.ratio : ratioOf(first.output);
  const total = isWaiting ? Math.max(layout.count, outputs.length) : outputs.length;
  const columns = total === 1 ? 1 : ratio < 0.8 && total > 2 ? Math.min(4, total) : 2;
  const fit = (ratio * columns) / Math.ceil(total / columns);
  return (
    <>
      <ul class="out-grid" style={{ '--fit': fit.toFixed(3), '--columns': String(columns) }}>
        {outputs.map((one, index) => (
          <li key={one.output.media_id}>
            <OutputMedia shown={one} shownWidth="480px" open={() => setOpen(index)} reload={reload} />
          </li>
        ))}
        {Array.from({ length: total - outputs.length }, (_, index) => (
          <li key={index} class="skeleton" style={{ aspectRatio: ratio.toFixed(3) }} aria-hidden="true" />
        ))}
      </ul>
      <Lightbox outputs={outputs} at={open} open={setOpen} />
    </>
  );
}

function OutputFacts({ task, asked: { prompt, parameters } }: { task: Task; asked: Asked }) {
  const [first] = task.outputs;
  const seed = parameters?.['seed'];
  return (
    <div class="out-facts">
      {prompt ? <span class="prompt">{prompt}</span> : null}
      {first?.width === undefined ? null : <span class="num">{`${first.width} × ${first.height ?? ''}`}</span>}
      {first?.duration_ms === undefined ? null : <span class="num">{spanText(first.duration_ms)}</span>}
      {typeof seed === 'number' ? <span class="num">{`seed ${seed}`}</span> : null}
      <CopyableId id={task.generation_id} what="generation id" />
    </div>
  );
}

type Act = readonly [icon: IconName, text: string, act: () => unknown];

function Actions({ play, task, asked }: { play: Playground; task: Task; asked: Asked }) {
  const { outputs, generation_id: id } = task;
  const { details, varied, adopt, again, references } = play;
  const { refer } = references;
  const known = details.value?.request ? details.value : undefined;
  const images = outputs.filter(({ media_type: type }) => type === 'image');
  const [image] = images;
  const vary = varied(asked);
  const saveAll = async (): Promise<void> => {
    for (const [index, output] of outputs.entries()) await saveOutput(output, `${id}-${index + 1}`);
  };
  const acts: readonly (Act | false | undefined)[] = [
    outputs.length > 0 && ['download', outputs.length === 1 ? 'Download' : 'Download all', saveAll],
    task.status !== 'succeeded' &&
      known && ['rotate-ccw', `Create again · ${creditsText(task.estimated_credits)}`, () => again(known)],
    refer && image && images.length === 1 && ['image-plus', 'Use as reference', () => refer(image)],
    vary && ['dices', 'Vary seed', vary],
    adopt && known && ['undo-2', 'Use these settings', () => adopt(known)],
  ];
  return (
    <div class="row wrap out-actions">
      {acts.map((one) => {
        if (!one) return null;
        const [icon, text, act] = one;
        return (
          <ActionButton key={text} isSmall={false} icon={icon} action={async () => void (await act())}>
            {text}
          </ActionButton>
        );
      })}
      {refer && images.length > 1 ? (
        <MenuButton
          label="Use as reference"
          class="button"
          items={images.map((output, index) => ({
            text: `Image ${index + 1}`,
            act: () => void refer(output).catch(() => undefined),
          }))}
          button={[<Icon key="icon" of="image-plus" size={14} />, 'Use as reference']}
        />
      ) : null}
      <PlaceLink page="generations" id={id} class="button quiet">
        Open
        <Icon of="chevron-right" size={14} />
      </PlaceLink>
    </div>
  );
}
