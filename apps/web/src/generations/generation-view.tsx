import { useEffect, useState } from 'preact/hooks';
import {
  ChevronLeft,
  ChevronRight,
  CircleAlert,
  Clock,
  Download,
  Ellipsis,
  Link as LinkIcon,
  Maximize2,
  WandSparkles,
  X,
} from 'lucide-preact';
import type { Output } from '../api-types.js';
import { dateText, numberText, preciseTimeText, spanText } from '../format.js';
import { hasShortcuts } from '../frame/preferences.js';
import { Lightbox, type Shown } from '../media/lightbox.js';
import { Picture, ratioOf, thumbnailsOf } from '../media/picture.js';
import { saveOutput } from '../media/save-output.js';
import { ActionButton, Button, ConfirmDialog, Copyable, CopyableId, useCopy } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { Badge, creditsText, Loaded, PageLink, PlaceLink, Time } from '../parts/parts.js';
import { Tabs } from '../parts/tabs.js';
import { announce } from '../parts/toasts.js';
import { goTo, hrefOf } from '../places.js';
import { cancelGeneration, inApp, readable, remove } from '../server.js';
import type { AccountGeneration, GenerationDetail, ShownRequest } from '../server-types.js';
import { useData, useLatest } from '../use-data.js';
import { creatorText, isOpen, STATUS_LOOKS, STATUS_TEXTS, TIMELINE_TEXTS } from './generation-texts.js';
import { type Progress, useProgress } from './use-progress.js';

interface GenerationViewProps {
  readonly id: string;
  /** What the list knows of it, until the rest is here. */
  readonly known?: AccountGeneration | undefined;
  /** The addresses of its neighbours in the list. */
  readonly newer?: string | undefined;
  readonly older?: string | undefined;
  /** Closes the drawer; absent on a page of its own. */
  readonly close?: (() => void) | undefined;
}

/** One generation, in the drawer and on its page. */
export function GenerationView({ id, known, newer, older, close }: GenerationViewProps) {
  const detail = useData<GenerationDetail>(`/generations/${encodeURIComponent(id)}`);
  const progress = useProgress(detail);
  const go = (href: string | undefined): void => {
    if (href !== undefined) goTo(href, { keepsScroll: true, replaces: true });
  };
  useKeys({ j: () => go(older), k: () => go(newer) });
  return (
    <div class="generation">
      {close === undefined ? null : (
        <header class="drawer-head">
          <h2 class="cut">{promptOf(detail.value ?? known)}</h2>
          <Button
            kind="quiet"
            icon={ChevronLeft}
            label="Newer (K)"
            isDisabled={newer === undefined}
            onClick={() => go(newer)}
          />
          <Button
            kind="quiet"
            icon={ChevronRight}
            label="Older (J)"
            isDisabled={older === undefined}
            onClick={() => go(older)}
          />
          <Button kind="quiet" icon={X} label="Close" onClick={close} />
        </header>
      )}
      <Loaded data={detail} what="the generation" skeleton={<div class="skeleton stage-skeleton" />}>
        {(generation) => (
          <div class="generation-parts">
            <Main generation={generation} progress={progress} reload={detail.reload} deleted={close} />
            <Side generation={generation} />
            <More generation={generation} />
          </div>
        )}
      </Loaded>
    </div>
  );
}

/** What a generation is called: its prompt, or its model without one. */
export function promptOf(generation: AccountGeneration | undefined): string {
  if (generation === undefined) return 'Generation';
  return generation.prompt === null || generation.prompt === '' ? generation.model_key : generation.prompt;
}

/** Single keys, outside of fields and dialogs above. */
function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const press = useLatest((key: string) => keys[key]?.());
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const field = (event.target as Element).closest('input, textarea, select, [contenteditable], .lightbox');
      if (field !== null || !hasShortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
      press(event.key.toLowerCase());
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [press]);
}

interface MainProps {
  readonly generation: GenerationDetail;
  readonly progress: Progress;
  readonly reload: () => Promise<void>;
  readonly deleted: (() => void) | undefined;
}

function Main({ generation, progress, reload, deleted }: MainProps) {
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState<number>();
  const outputs = shownOutputs(generation);
  const shown = outputs[at];
  useKeys({ f: () => setOpen(shown === undefined ? undefined : at) });
  return (
    <div class="generation-main">
      <div class="stage" style={{ aspectRatio: String(shown === undefined ? 16 / 9 : ratioOf(shown.output)) }}>
        {shown === undefined ? (
          <StageState generation={generation} progress={progress} />
        ) : (
          <>
            <StageOutput
              key={shown.output.media_id}
              shown={shown}
              open={() => setOpen(at)}
              onFault={() => void reload()}
            />
            <div class="tools">
              <Button isSmall icon={Maximize2} label="Full screen (F)" onClick={() => setOpen(at)} />
              <Button isSmall icon={Download} onClick={() => void saveOutput(shown.output, shown.filename)}>
                Download
              </Button>
            </div>
          </>
        )}
      </div>
      {outputs.length < 2 ? null : <Strip outputs={outputs} at={at} select={setAt} />}
      <div class="row wrap stage-facts">
        <span class="small muted num">{shown === undefined ? '' : outputText(shown.output)}</span>
        <span class="row wrap push">
          <Acts generation={generation} reload={reload} deleted={deleted} />
        </span>
      </div>
      <Lightbox outputs={outputs} at={open} open={setOpen} />
    </div>
  );
}

function shownOutputs(generation: GenerationDetail): Shown[] {
  const { outputs, generation_id: id } = generation;
  return outputs.map((output, index) => ({
    output,
    thumbnails: thumbnailsOf(generation, output),
    alt: outputs.length === 1 ? promptOf(generation) : `${promptOf(generation)}, ${index + 1} of ${outputs.length}`,
    filename: outputs.length === 1 ? id : `${id}-${index + 1}`,
    href: hrefOf('generations', { id }),
  }));
}

interface StageOutputProps {
  readonly shown: Shown;
  readonly open: () => void;
  readonly onFault: () => void;
}

/** The output that is looked at. An address that has expired is asked for once more. */
function StageOutput({ shown: { output, thumbnails, alt }, open, onFault }: StageOutputProps) {
  const [isRetried, setRetried] = useState(false);
  const again = (): void => {
    if (isRetried) return;
    setRetried(true);
    onFault();
  };
  if (output.media_type === 'video')
    return (
      // What is generated has no speech to caption.
      // oxlint-disable-next-line jsx-a11y/media-has-caption
      <video src={readable(output.url)} controls loop playsInline preload="metadata" aria-label={alt} onError={again} />
    );
  return (
    <button type="button" class="stage-open" aria-label="Show in full screen" onClick={open}>
      <Picture
        output={output}
        thumbnails={thumbnails}
        alt={alt}
        shownWidth="(max-width: 860px) 100vw, 860px"
        isFirst
        onFault={again}
      />
    </button>
  );
}

/** What stands in place of an output that there is not. */
function StageState({ generation, progress }: { readonly generation: GenerationDetail; readonly progress: Progress }) {
  const { status, error } = generation;
  if (isOpen(generation))
    return (
      <div class="stage-state" aria-live="polite">
        <Badge look={STATUS_LOOKS[status]}>
          {progress.part === undefined
            ? STATUS_TEXTS[status]
            : `${STATUS_TEXTS[status]} ${Math.floor(progress.part * 100)}%`}
        </Badge>
        {status === 'queued' && (progress.position ?? 0) > 0 ? <p>{`${progress.position} ahead of it`}</p> : null}
        {progress.part === undefined ? null : (
          <span class="meter active" aria-hidden="true">
            <i style={{ inlineSize: `${progress.part * 100}%` }} />
          </span>
        )}
      </div>
    );
  if (generation.outputs_removed_at !== null)
    return (
      <div class="stage-state">
        <Icon of={Clock} size={24} />
        <p>{`The outputs expired on ${dateText(generation.outputs_removed_at)}.`}</p>
      </div>
    );
  return (
    <div class="stage-state">
      <Icon of={CircleAlert} size={24} />
      <p>{error?.message ?? `${STATUS_TEXTS[status]} without an output.`}</p>
      {error === undefined ? null : <p class="tiny mono">{error.code}</p>}
    </div>
  );
}

interface StripProps {
  readonly outputs: readonly Shown[];
  readonly at: number;
  readonly select: (at: number) => void;
}

/** The outputs of one generation, to choose the one on the stage. */
function Strip({ outputs, at, select }: StripProps) {
  return (
    <fieldset class="strip" aria-label="Outputs">
      {outputs.map(({ output, thumbnails }, index) => (
        <button
          key={output.media_id}
          type="button"
          aria-pressed={index === at}
          aria-label={`Output ${index + 1}`}
          style={{ aspectRatio: String(ratioOf(output)) }}
          onClick={() => select(index)}
        >
          <Picture output={output} thumbnails={thumbnails} alt="" shownWidth={120} />
        </button>
      ))}
    </fieldset>
  );
}

function outputText({ width, height, duration_ms: duration }: Output): string {
  return [
    width === undefined || height === undefined ? undefined : `${width} × ${height}`,
    duration === undefined ? undefined : spanText(duration),
  ]
    .filter((text) => text !== undefined)
    .join(' · ');
}

interface ActsProps {
  readonly generation: GenerationDetail;
  readonly reload: () => Promise<void>;
  readonly deleted: (() => void) | undefined;
}

function Acts({ generation, reload, deleted }: ActsProps) {
  const [isDeleting, setDeleting] = useState(false);
  const { generation_id: id, app } = generation;
  const [isCopied, copy] = useCopy(window.location.origin + hrefOf('generations', { id }), 'the link');
  const cancel = async (): Promise<void> => {
    await cancelGeneration(app.id, id);
    await reload();
  };
  return (
    <>
      {isOpen(generation) ? (
        <ActionButton isSmall={false} action={cancel} busyText="Cancelling…">
          Cancel
        </ActionButton>
      ) : null}
      {generation.request === null ? null : (
        <PlaceLink page="playground" query={{ from: id }} class="button primary">
          <Icon of={WandSparkles} size={14} />
          Open in playground
        </PlaceLink>
      )}
      <Button icon={LinkIcon} onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy link'}
      </Button>
      {isOpen(generation) ? null : (
        <MenuButton
          label="More actions"
          class="button square"
          button={<Icon of={Ellipsis} size={14} />}
          items={[{ text: 'Delete…', isDangerous: true, act: () => setDeleting(true) }]}
        />
      )}
      <ConfirmDialog
        isOpen={isDeleting}
        close={() => setDeleting(false)}
        question="Delete this generation?"
        consequence="The request and the outputs are removed. What was charged stays charged. This can’t be undone."
        doIt="Delete generation"
        busyText="Deleting…"
        action={() => remove(inApp(app.id, `/generations/${id}`))}
        done={() => {
          announce('The generation is deleted.');
          if (deleted === undefined) goTo(hrefOf('generations'));
          else deleted();
        }}
      />
    </>
  );
}

const TABS = ['request', 'ledger', 'deliveries'] as const;
type TabName = (typeof TABS)[number];

function More({ generation }: { readonly generation: GenerationDetail }) {
  const [tab, setTab] = useState<TabName>('request');
  const { ledger, deliveries } = generation;
  const count = (of: readonly unknown[]) => <span class="faint num">{` ${of.length}`}</span>;
  return (
    <section class="generation-more" aria-label="More">
      <Tabs
        label="More about the generation"
        panel="generation-more"
        selected={tab}
        select={setTab}
        tabs={[
          { name: 'request', title: 'Request and response' },
          { name: 'ledger', title: <>Ledger entries{count(ledger)}</> },
          { name: 'deliveries', title: <>Webhook deliveries{count(deliveries)}</> },
        ]}
      />
      <div id="generation-more" role="tabpanel" class="more-panel">
        {tab === 'request' ? <RequestAndResponse generation={generation} /> : null}
        {tab === 'ledger' ? <LedgerLines generation={generation} /> : null}
        {tab === 'deliveries' ? <DeliveryLines deliveries={deliveries} appId={generation.app.id} /> : null}
      </div>
    </section>
  );
}

function RequestAndResponse({ generation }: { readonly generation: GenerationDetail }) {
  const { request, model_key: model, operation } = generation;
  return (
    <div class="stack">
      {request === null ? (
        <p class="small muted">
          {generation.content_removed_at === null
            ? 'The operator of this service does not show requests.'
            : 'The request is no longer stored.'}
        </p>
      ) : (
        <Copyable what="the request" text={JSON.stringify(requestJson(request, model, operation), null, 2)} />
      )}
      <Copyable what="the response" text={JSON.stringify(taskJson(generation), null, 2)} />
    </div>
  );
}

/** The request as the API takes it. */
function requestJson(request: ShownRequest, model: string, operation: string): object {
  const { prompt, negative_prompt: negative, parameters, defaults, references } = request;
  const given = Object.entries(parameters).filter(([name]) => !defaults.includes(name));
  return {
    model_key: model,
    operation,
    ...(prompt === '' ? {} : { prompt }),
    ...(negative === undefined ? {} : { negative_prompt: negative }),
    ...(given.length === 0 ? {} : { parameters: Object.fromEntries(given) }),
    ...(references.length === 0 ? {} : { reference_upload_ids: references.map(({ upload_id: id }) => id) }),
  };
}

const OWN_FIELDS: ReadonlySet<string> = new Set([
  'app',
  'creator',
  'prompt',
  'negative_prompt',
  'thumbnails',
  'outputs_removed_at',
  'content_removed_at',
  'request',
  'timeline',
  'ledger',
  'deliveries',
  'app_id',
]);

/** The fields that the API shows. */
function taskJson(generation: GenerationDetail): object {
  return Object.fromEntries(Object.entries(generation).filter(([name]) => !OWN_FIELDS.has(name)));
}

const LEDGER_TEXTS = { reserved: 'Reserved', charged: 'Charged', released: 'Released' } as const;

function LedgerLines({ generation: { ledger } }: { readonly generation: GenerationDetail }) {
  if (ledger.length === 0) return <p class="small muted">No credits were moved.</p>;
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Entry</th>
          <th scope="col" class="number">
            Credits
          </th>
          <th scope="col" class="number">
            Time
          </th>
        </tr>
      </thead>
      <tbody>
        {ledger.map(({ kind, credits, at }) => (
          <tr key={kind}>
            <th scope="row">{LEDGER_TEXTS[kind]}</th>
            <td class="number">{numberText(credits)}</td>
            <td class="number">{preciseTimeText(at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface DeliveryLinesProps extends Pick<GenerationDetail, 'deliveries'> {
  readonly appId: string;
}

function DeliveryLines({ deliveries, appId }: DeliveryLinesProps) {
  if (deliveries.length === 0) return <p class="small muted">No webhook was notified.</p>;
  return (
    <ul class="panel list">
      {deliveries.map((delivery) => (
        <li key={delivery.delivery_id}>
          <span class="mono">{delivery.event}</span>
          <Badge look={delivery.state === 'delivered' ? 'ok' : delivery.state === 'exhausted' ? 'fail' : undefined}>
            {delivery.state}
          </Badge>
          <span class="push small">
            <PlaceLink page="webhooks" id={delivery.webhook_id} query={{ app: appId, delivery: delivery.delivery_id }}>
              Show delivery
            </PlaceLink>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Side({ generation }: { readonly generation: GenerationDetail }) {
  const { request, status, created_at: createdAt } = generation;
  return (
    <aside class="generation-side" aria-label="Details">
      <section class="row wrap">
        <Badge look={STATUS_LOOKS[status]}>{STATUS_TEXTS[status]}</Badge>
        <span class="small muted">
          <Time at={createdAt} />
        </span>
        <span class="push num">
          {isOpen(generation)
            ? `${creditsText(generation.reserved_credits)} reserved`
            : `${creditsText(generation.charged_credits)} charged`}
        </span>
      </section>
      {request === null || request.prompt === '' ? null : <PromptText title="Prompt" text={request.prompt} />}
      {request?.negative_prompt === undefined ? null : (
        <PromptText title="Negative prompt" text={request.negative_prompt} />
      )}
      <section>
        <h2>Parameters</h2>
        <dl class="facts">
          <div>
            <dt>Model</dt>
            <dd>
              <PlaceLink page="models" id={generation.model_key}>
                {generation.model_key}
              </PlaceLink>
            </dd>
          </div>
          {Object.entries(request?.parameters ?? {}).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="mono">
                {typeof value === 'string' ? value : JSON.stringify(value)}
                {request?.defaults.includes(name) === true ? <span class="faint tiny"> default</span> : null}
              </dd>
            </div>
          ))}
        </dl>
        <References request={request} />
      </section>
      <TimelineSection generation={generation} />
      <Ids generation={generation} />
    </aside>
  );
}

function PromptText({ title, text }: { readonly title: string; readonly text: string }) {
  const [isCopied, copy] = useCopy(text, title.toLowerCase());
  return (
    <section>
      <h2>
        {title}
        <Button kind="quiet" isSmall class="push" label={`Copy ${title.toLowerCase()}`} onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </Button>
      </h2>
      <p class="prompt">{text}</p>
    </section>
  );
}

const ROLE_TEXTS = { reference_image: 'Reference', start_frame: 'First frame', end_frame: 'Last frame' } as const;

function References({ request }: { readonly request: ShownRequest | null }) {
  if (request === null || request.references.length === 0) return null;
  return (
    <ul class="references">
      {request.references.map(({ upload_id: id, role, url }) => (
        <li key={id}>
          {url === undefined ? (
            <span class="no-picture">Expired</span>
          ) : (
            <img src={readable(url)} alt={ROLE_TEXTS[role]} loading="lazy" />
          )}
          <span class="tiny muted">{ROLE_TEXTS[role]}</span>
        </li>
      ))}
    </ul>
  );
}

function TimelineSection({
  generation: { timeline, created_at: createdAt, completed_at: completedAt, status },
}: {
  readonly generation: GenerationDetail;
}) {
  const total = completedAt === undefined ? undefined : Date.parse(completedAt) - Date.parse(createdAt);
  return (
    <section>
      <h2>
        Timeline
        {total === undefined ? null : <span class="small faint num push">{`${spanText(total)} in total`}</span>}
      </h2>
      <ol class="timeline">
        {timeline.map(({ event, at, attempt }, index) => {
          const before = timeline[index - 1]?.at;
          return (
            <li key={`${event} ${at}`} class={event === 'completed' ? status : undefined}>
              <span>
                {event === 'completed' ? STATUS_TEXTS[status] : TIMELINE_TEXTS[event]}
                {attempt === undefined || attempt.number < 2 ? null : ` (attempt ${attempt.number})`}
              </span>
              <time dateTime={at} title={preciseTimeText(at)}>
                {before === undefined ? preciseTimeText(at) : `+ ${spanText(Date.parse(at) - Date.parse(before))}`}
              </time>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Ids({ generation }: { readonly generation: GenerationDetail }) {
  const { generation_id: id, client_trace_id: trace, outputs, creator, app } = generation;
  return (
    <section>
      <h2>Ids</h2>
      <dl class="facts">
        <div>
          <dt>Generation</dt>
          <dd>
            <CopyableId id={id} what="generation id" />
          </dd>
        </div>
        {trace === undefined ? null : (
          <div>
            <dt>Trace id</dt>
            <dd>
              <CopyableId id={trace} what="trace id" />
            </dd>
          </div>
        )}
        {outputs.map(({ media_id: media }) => (
          <div key={media}>
            <dt>Media</dt>
            <dd>
              <CopyableId id={media} what="media id" />
            </dd>
          </div>
        ))}
        <div>
          <dt>Created by</dt>
          <dd>{creatorText(creator)}</dd>
        </div>
        <div>
          <dt>App</dt>
          <dd>
            <PageLink href={hrefOf('generations', { query: { app: app.id } })}>{app.name ?? app.id}</PageLink>
          </dd>
        </div>
      </dl>
    </section>
  );
}
