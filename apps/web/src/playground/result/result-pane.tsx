import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Ban, ChevronRight, Dices, Download, ImagePlus, Images, RotateCcw, Undo2 } from 'lucide-preact';
import type { GenerationRequest, JsonObject, Output, Task } from '../../api-types.js';
import { numberText, spanText } from '../../format.js';
import { isOpen, STATUS_LOOKS, STATUS_TEXTS } from '../../generations/generation-texts.js';
import { type Progress, useProgress } from '../../generations/use-progress.js';
import { Lightbox, type Shown } from '../../media/lightbox.js';
import { Picture, ratioOf, thumbnailsOf } from '../../media/picture.js';
import { saveOutput } from '../../media/save-output.js';
import { ActionButton, Button, CopyableId } from '../../parts/buttons.js';
import { Icon } from '../../parts/icon.js';
import { MenuButton } from '../../parts/overlays.js';
import { Badge, creditsText, Empty, Fault, PlaceLink } from '../../parts/parts.js';
import { Tabs } from '../../parts/tabs.js';
import { say } from '../../parts/toasts.js';
import { hrefOf } from '../../places.js';
import type { GenerationDetail } from '../../server-types.js';
import { cancelGeneration, readable } from '../../server.js';
import type { Data } from '../../use-data.js';
import type { Shape } from '../form/parameters.js';

export const VIEWS = ['result', 'code', 'json'] as const;
export type View = (typeof VIEWS)[number];
const VIEW_TEXTS: Readonly<Record<View, string>> = { result: 'Result', code: 'Code', json: 'JSON' };

const PANEL = 'result-panel';

/** What is asked of a generation, as far as it is shown with its result. */
export interface Asked {
  readonly model_key: string;
  readonly prompt?: string | null | undefined;
  readonly negative_prompt?: string | null | undefined;
  readonly parameters: JsonObject;
}

interface FrameProps {
  readonly view: View;
  readonly select: (view: View) => void;
  readonly status: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The tabs with the status beside them, and what the selected one shows. */
function Frame({ view, select, status, children }: FrameProps) {
  return (
    <>
      <header class="out-bar">
        {status}
        <Tabs
          label="View"
          look="segments"
          tabs={VIEWS.map((name) => ({ name, title: VIEW_TEXTS[name] }))}
          selected={view}
          select={select}
          panel={PANEL}
        />
      </header>
      {/* It scrolls. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div class="out-body" id={PANEL} role="tabpanel" aria-label={VIEW_TEXTS[view]} tabIndex={0}>
        {children}
      </div>
    </>
  );
}

/** What the result has to do with the form. */
export interface ResultActs {
  /** The shape and the number of the outputs of a request. */
  readonly layoutOf: (asked: Asked) => { readonly shape: Shape; readonly count: number };
  readonly canVary: (asked: Asked) => boolean;
  readonly vary: (asked: Asked) => void;
  /** Puts the request of the shown generation into the form; undefined where it is there already. */
  readonly adopt: ((details: GenerationDetail) => void) | undefined;
  readonly canRefer: boolean;
  readonly refer: (output: Output) => Promise<void>;
  /** Creates the same once more. */
  readonly again: (details: GenerationDetail) => void;
  /** Called when the generation has ended. */
  readonly ended: () => void;
}

export interface Made {
  readonly task: Task;
  readonly request: GenerationRequest;
}

interface ResultPaneProps extends Omit<FrameProps, 'status' | 'children'> {
  /** The generation to show. */
  readonly id: string | undefined;
  /** All that the server has stored of it. */
  readonly details: Data<GenerationDetail | undefined>;
  /** What is known of it before, if this page has created it. */
  readonly made: Made | undefined;
  /** A request whose answer has not come yet. */
  readonly creating: Asked | undefined;
  readonly acts: ResultActs;
  /** The request in code. */
  readonly code: ComponentChildren;
  /** The request of the form, with the answer if there is one. */
  readonly json: (task: Task | undefined) => ComponentChildren;
}

/** The outputs of a generation, or the request in code or as JSON. */
export function ResultPane(props: ResultPaneProps) {
  const { id, made, details, creating, acts, view, select, code, json } = props;
  const known = details.value?.generation_id === id ? details.value : undefined;
  const task = known ?? made?.task;
  const other = view === 'code' ? code : view === 'json' ? json(creating === undefined ? task : undefined) : undefined;
  const frame = { view, select };
  if (creating !== undefined)
    return (
      <Frame {...frame} status={<Badge look="active">Creating</Badge>}>
        {other ?? <Grid {...acts.layoutOf(creating)} outputs={[]} isWaiting />}
      </Frame>
    );
  if (id === undefined)
    return (
      <Frame {...frame} status={null}>
        {other ?? (
          <Empty
            icon={Images}
            title="Results appear here"
            text="Write a prompt and press Create, or begin with an example."
          />
        )}
      </Frame>
    );
  if (task === undefined)
    return (
      <Frame {...frame} status={null}>
        {other ?? <Fault text={details.fault} />}
      </Frame>
    );
  return <Result key={id} {...props} task={task} known={known} other={other} />;
}

interface ResultProps extends ResultPaneProps {
  readonly task: Task;
  readonly known: GenerationDetail | undefined;
  readonly other: ComponentChildren;
}

/** A generation of this page, or of any App of the account, while it runs and after its end. */
function Result({ task, known, made, details, acts, view, select, other }: ResultProps) {
  const progress = useProgress(details);
  const { status } = task;
  const [first] = useState(status);
  const quarter = Math.floor((progress.part ?? 0) * 4);
  const isCancelling = isOpen(task) && known?.timeline.some(({ event }) => event === 'cancel_requested') === true;
  useEffect(() => {
    if (status === first) return;
    say(`${STATUS_TEXTS[status]}.`);
    if (!isOpen({ status })) acts.ended();
    // Once for each status.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [status]);
  useEffect(() => {
    if (quarter > 0) say(`${quarter * 25} percent.`);
  }, [quarter]);
  const asked = askedOf(task, made, known);
  return (
    <Frame view={view} select={select} status={<Status task={task} part={progress.part} isCancelling={isCancelling} />}>
      {other ?? (
        <>
          <Outputs task={task} known={known} asked={asked} acts={acts} reload={details.reload} />
          {!isOpen(task) ? (
            <>
              <OutputFacts task={task} asked={asked} />
              <Actions task={task} asked={asked} details={known} acts={acts} />
            </>
          ) : known === undefined ? null : (
            <Waiting generation={known} progress={progress} isCancelling={isCancelling} reload={details.reload} />
          )}
        </>
      )}
    </Frame>
  );
}

/** The request of a generation: from this page, or as the server has stored it. */
function askedOf(task: Task, made: Made | undefined, details: GenerationDetail | undefined): Asked {
  const request = made?.request ?? details?.request ?? undefined;
  return { prompt: details?.prompt, ...request, model_key: task.model_key, parameters: request?.parameters ?? {} };
}

interface StatusProps {
  readonly task: Task;
  readonly part: number | undefined;
  readonly isCancelling: boolean;
}

function Status({ task, part, isCancelling }: StatusProps) {
  const { status, created_at: from, completed_at: to, charged_credits: charged, reserved_credits: reserved } = task;
  const span = to === undefined ? [] : [spanText(Date.parse(to) - Date.parse(from))];
  const cost = isOpen(task) ? `${creditsText(reserved)} reserved` : creditsText(charged);
  const percent = part === undefined || !isOpen(task) ? '' : ` ${Math.floor(part * 100)}%`;
  return (
    <>
      <Badge look={STATUS_LOOKS[status]}>{isCancelling ? 'Cancelling' : `${STATUS_TEXTS[status]}${percent}`}</Badge>
      <span class="small muted num">{[...span, cost].join(' · ')}</span>
    </>
  );
}

interface GridProps {
  readonly shape: Shape;
  readonly count: number;
  readonly outputs: readonly Shown[];
  /** Whether outputs are still to come; their places have their shape. */
  readonly isWaiting: boolean;
  readonly reload?: () => Promise<void>;
}

/** The outputs side by side, so that all are in view. */
function Grid({ shape, count, outputs, isWaiting, reload }: GridProps) {
  const [open, setOpen] = useState<number>();
  const tried = useRef(new Set<string>());
  // A URL is valid for an hour: an output that does not load is requested again, once.
  const again = ({ output: { media_id: id } }: Shown): void => {
    const isFirst = !tried.current.has(id);
    tried.current.add(id);
    if (isFirst) void reload?.();
  };
  const [first] = outputs;
  const ratio = first === undefined ? shape.width / shape.height : ratioOf(first.output);
  const total = isWaiting ? Math.max(count, outputs.length) : outputs.length;
  const columns = total === 1 ? 1 : ratio < 0.8 && total > 2 ? Math.min(4, total) : 2;
  const fit = (ratio * columns) / Math.ceil(total / columns);
  return (
    <>
      <ul class="out-grid" style={{ '--fit': fit.toFixed(3), '--columns': String(columns) }}>
        {Array.from({ length: total }, (_, index) => {
          const shown = outputs[index];
          if (shown === undefined)
            return <li key={index} class="skeleton" style={{ aspectRatio: ratio.toFixed(3) }} aria-hidden="true" />;
          return (
            <li key={shown.output.media_id}>
              <OutputTile shown={shown} open={() => setOpen(index)} onFault={() => again(shown)} />
            </li>
          );
        })}
      </ul>
      <Lightbox outputs={outputs} at={open} open={setOpen} />
    </>
  );
}

interface OutputTileProps {
  readonly shown: Shown;
  readonly open: () => void;
  readonly onFault: () => void;
}

function OutputTile({ shown: { output, thumbnails, alt }, open, onFault }: OutputTileProps) {
  if (output.media_type === 'video')
    return (
      // What is generated has no speech to caption.
      // oxlint-disable-next-line jsx-a11y/media-has-caption
      <video
        src={readable(output.url)}
        width={output.width}
        height={output.height}
        controls
        loop
        playsInline
        preload="metadata"
        aria-label={alt}
        onError={onFault}
      />
    );
  return (
    <button type="button" onClick={open}>
      <Picture output={output} thumbnails={thumbnails} alt={alt} shownWidth="480px" isFirst onFault={onFault} />
    </button>
  );
}

interface OutputsProps {
  readonly task: Task;
  readonly known: GenerationDetail | undefined;
  readonly asked: Asked;
  readonly acts: ResultActs;
  readonly reload: () => Promise<void>;
}

function Outputs({ task, known, asked, acts, reload }: OutputsProps) {
  const { outputs, error, status, charged_credits: charged, generation_id: id } = task;
  if (error !== undefined) return <Fault text={error.message} />;
  if (outputs.length === 0 && !isOpen(task)) {
    const cost = charged === 0 ? 'Nothing was charged.' : `${creditsText(charged)} charged.`;
    const isExpired = known !== undefined && known.outputs_removed_at !== null;
    return (
      <Empty
        icon={Ban}
        title={isExpired ? 'The outputs have expired' : STATUS_TEXTS[status]}
        text={isExpired ? null : cost}
      />
    );
  }
  const kind = task.modality === 'video' ? 'Video' : 'Image';
  const shown = outputs.map((output, index): Shown => ({
    output,
    thumbnails: known === undefined ? undefined : thumbnailsOf(known, output),
    alt: `${outputs.length === 1 ? kind : `${kind} ${index + 1} of ${outputs.length}`}: ${asked.prompt ?? task.model_key}`,
    filename: `${id}-${index + 1}`,
    href: hrefOf('generations', { id }),
  }));
  return <Grid {...acts.layoutOf(asked)} outputs={shown} isWaiting={isOpen(task)} reload={reload} />;
}

interface WaitingProps {
  readonly generation: GenerationDetail;
  readonly progress: Progress;
  readonly isCancelling: boolean;
  readonly reload: () => Promise<void>;
}

/** How far a generation is that has not ended, and the way to cancel it. */
function Waiting({ generation, progress: { part, position = 0 }, isCancelling, reload }: WaitingProps) {
  const { generation_id: id, status, app } = generation;
  const cancel = async (): Promise<void> => {
    await cancelGeneration(app.id, id);
    await reload();
  };
  return (
    <div class="out-waiting">
      {status === 'queued' ? (
        <p class="small muted">{position === 0 ? 'Next in the queue' : `${numberText(position)} ahead in the queue`}</p>
      ) : (
        <progress aria-label="Progress" {...(part === undefined ? {} : { value: part, max: 1 })} />
      )}
      <ActionButton icon={Ban} action={cancel} isDisabled={isCancelling}>
        {isCancelling ? 'Cancelling' : 'Cancel'}
      </ActionButton>
    </div>
  );
}

function OutputFacts({ task, asked }: Pick<OutputsProps, 'task' | 'asked'>) {
  const [first] = task.outputs;
  const seed = asked.parameters['seed'];
  return (
    <div class="out-facts">
      {asked.prompt ? <span class="prompt">{asked.prompt}</span> : null}
      {first?.width === undefined ? null : <span class="num">{`${first.width} × ${first.height ?? ''}`}</span>}
      {first?.duration_ms === undefined ? null : <span class="num">{spanText(first.duration_ms)}</span>}
      {typeof seed === 'number' ? <span class="num">{`seed ${seed}`}</span> : null}
      <CopyableId id={task.generation_id} what="generation id" />
    </div>
  );
}

interface ActionsProps extends Pick<OutputsProps, 'task' | 'asked' | 'acts'> {
  readonly details: GenerationDetail | undefined;
}

function Actions({ task, asked, details, acts }: ActionsProps) {
  const { outputs, generation_id: id } = task;
  const images = outputs.filter(({ media_type: type }) => type === 'image');
  const saveAll = async (): Promise<void> => {
    for (const [index, output] of outputs.entries()) await saveOutput(output, `${id}-${index + 1}`);
  };
  const hasRequest = details?.request !== undefined && details.request !== null;
  return (
    <div class="row wrap out-actions">
      {outputs.length === 0 ? null : (
        <ActionButton isSmall={false} icon={Download} action={saveAll}>
          {outputs.length === 1 ? 'Download' : 'Download all'}
        </ActionButton>
      )}
      {task.status !== 'succeeded' && hasRequest ? (
        <Button icon={RotateCcw} onClick={() => acts.again(details)}>
          {`Create again · ${creditsText(task.estimated_credits)}`}
        </Button>
      ) : null}
      {acts.canRefer ? <ReferenceButton images={images} refer={acts.refer} /> : null}
      {acts.canVary(asked) ? (
        <Button icon={Dices} onClick={() => acts.vary(asked)}>
          Vary seed
        </Button>
      ) : null}
      {acts.adopt !== undefined && hasRequest ? (
        <Button icon={Undo2} onClick={() => acts.adopt?.(details)}>
          Use these settings
        </Button>
      ) : null}
      <PlaceLink page="generations" id={id} class="button quiet">
        Open
        <Icon of={ChevronRight} size={14} />
      </PlaceLink>
    </div>
  );
}

/** Adds an output to the reference files; of several, the person picks one. */
function ReferenceButton({
  images,
  refer,
}: {
  readonly images: readonly Output[];
  readonly refer: ResultActs['refer'];
}) {
  const [first] = images;
  if (first === undefined) return null;
  if (images.length === 1)
    return (
      <ActionButton isSmall={false} icon={ImagePlus} action={() => refer(first)}>
        Use as reference
      </ActionButton>
    );
  return (
    <MenuButton
      label="Use as reference"
      class="button"
      items={images.map((output, index) => ({
        text: `Image ${index + 1}`,
        act: () => void refer(output).catch(() => undefined),
      }))}
      button={
        <>
          <Icon of={ImagePlus} size={14} />
          Use as reference
        </>
      }
    />
  );
}
